"""What is wrong with a dataset, or makes it easier than it looks."""
