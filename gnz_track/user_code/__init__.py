"""Code that users bring: telling two versions of it apart, however far from a model's class it lies.

`digests.py` is what others ask: the digest of a class or function and of all of the user's that it reaches. What can be
imported is read, and never run: `modules.py` finds a module and says whose it is (`packages.py`: installed ones),
`statements.py` says what a statement binds, mentions and hides, `reach.py` follows that from module to module, and
`effects.py` says what else matters of what a module runs. What cannot be imported (a notebook's class)
is looked at as it lives, in `values.py`. No torch here.
"""
