"""Statistics of differences between scores, as pure functions with frozen results.

One cell: ``intervals`` of its mean over seeds. Two models on one task: ``joins`` pairs their scores by seed and
quantises the differences; ``paired`` (t, Nadeau-Bengio), ``signed_rank`` and ``sign_flip`` test them, ``effects`` says
how large they are, ``equivalence`` whether they lie within a margin, ``flags`` where not to trust a test. The design:
``power`` and ``attainability`` say what so many seeds can show. Families of tests, tasks and aggregates have files of
their own. ``compare`` does all of it for a results table and returns one ``comparison``.

Functions whose name ends in ``_rows`` do the same for many pairs at once and give the same results. Undefined values
are ``None`` with a note, never NaN. Advantages are positive where the first model is better, whatever the direction of
the metric. NumPy and SciPy only.
"""
