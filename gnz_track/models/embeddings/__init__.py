"""Codes of nodes that are found without labels, and a linear map of them that is trained: one file each.

`fitted.py` is what they share.
"""
