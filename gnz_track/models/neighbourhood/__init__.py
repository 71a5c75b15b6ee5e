"""Links by what the neighbours of two nodes have in common: no weights but a scale and an offset of the logits.

One file each; `common_neighbours.py` counts.
"""
