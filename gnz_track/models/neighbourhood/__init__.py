"""Rules about links, with no weights but a scale and an offset of the logits: neighbours in common, nearest points.

One file each; `common_neighbours.py` counts what two nodes have in common.
"""
