"""TODO of this folder.

- `canary`: A training of known bits, which tells whether a process still computes as it did when this module
  was imported
- `originals`: functions and classes that training uses, as they were when this module was imported
- `process_state`: settings of a process that a cell may change, and the value of each while a cell is trained
"""
