"""Catalogue: a row for each dataset, by research area. No torch here."""
