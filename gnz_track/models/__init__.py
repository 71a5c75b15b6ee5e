"""Which networks, and at what size.

One architecture per file; the table is `catalogue.py`, heads and wrappers are `adapters.py`, construction is
`building.py`. To add a model: write `models/<name>.py` with a class ``(in_channels, hidden_channels, out_channels)``
and add its row to `catalogue.py`.
"""
