"""Checks of datasets: faults, and what makes a dataset easier than it looks."""
