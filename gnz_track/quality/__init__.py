"""Quality of datasets for benchmarks: how much edges and features each say, and how much models make of it.

``spaces`` cuts graphs into the sets of nodes between which distances are taken; ``graph_distances`` and
``feature_distances`` are these distances; ``comparators`` set the two against one another; ``complementarity`` does so
for whole datasets, ``large_spaces`` where matrices do not fit. ``separability`` tests whether models do worse once a
mode is gone; ``ratings`` are the published rules as data; ``verdict`` says keep, realign or deprecate, and why;
``audit`` does all of it for a task. ``rings_api`` has the names of the published package.
"""
