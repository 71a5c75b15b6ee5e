"""Raw files in the formats of their publishers, read into graphs; nothing that lies in them is run.

- `citations`: articles and pages with links and published splits
- `networks`: single networks: routes, contacts, crimes, payments, ratings, proteins, goods
- `knowledge`: knowledge graphs
- `molecules`: molecules and peptides
- `graph_sets`: sets of many graphs in the formats of their collections
- `ogb`: the Open Graph Benchmark from its own tables
- `images`: images turned into graphs of regions
- `shapes`: meshes, and points labelled by their part
- `circuits_and_grids`: logic circuits and electrical grids
- `tsplib`: travelling salesman problems and their optimal tours
- `gml`: networks in GML
- `raw_files`: tools of all readers: archives of small files, lines, and edges as arrays
- `restricted_pickle`: arrays and tensors from pickles that may ask for more
"""
