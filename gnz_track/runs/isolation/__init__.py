"""Isolation of cells: the code of one cannot change the numbers of another.

- `process_state`: settings of a process, set to what training knows and put back
- `originals`: functions and classes that somebody's import may replace, restored
- `canary`: a training of known bits, which notices what nobody thought of
"""
