"""Show it: a results table and what it says, as objects, tables, figures and pages."""
