"""Stacks of convolutions of the published space that are not among the usual ones: one file each."""
