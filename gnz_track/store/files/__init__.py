"""Files of a store on this machine, opened so that whoever made them cannot make us do anything.

- `local_stores`: stores in files of sqlite, made whole or not at all; files with views or triggers are refused
- `sqlite`: connections that open the file that an address means and no other, and what lies beside it
- `parquet`: tables of ours written whole, and tables of others read where they are no larger than any of ours
"""
