"""Links by the part of the graph around both nodes.

`subgraphs.py` cuts it out, `distances.py` labels its nodes, `sorted_pooling.py` reads it, `seal.py` is the model.
"""
