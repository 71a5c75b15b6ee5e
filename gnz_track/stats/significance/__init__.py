"""TODO of this folder."""
