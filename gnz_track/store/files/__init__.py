"""TODO of this folder.

- `local_stores`: stores in files of sqlite: made whole or not at all, and written by whoever opened that very
  file
- `parquet`: tables of parquet files that others wrote: read whole where they are such tables, and not larger
  than any of ours
- `sqlite`: files of sqlite: the one that an address means, connections that open it and no other, and what lies
  beside it
"""
