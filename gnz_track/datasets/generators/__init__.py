"""Graphs that are made here, from a seed or from images."""
