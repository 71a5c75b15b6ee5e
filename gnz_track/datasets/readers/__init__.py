"""Raw files in the formats of their publishers, read into graphs; nothing that lies in them is run.

- `citations`: articles and pages with links and published splits
- `networks`: single networks: routes, contacts, crimes, payments, ratings, proteins, goods; networks in GML
- `knowledge`: knowledge graphs
- `molecules`: molecules and peptides
- `graph_sets`: sets of many graphs in the formats of their collections, and the Open Graph Benchmark
- `images_and_shapes`: images turned into graphs of regions, meshes, and points labelled by their part
- `circuits_and_grids`: logic circuits and electrical grids
- `tsplib`: travelling salesman problems and their optimal tours
- `raw_files`: tools of all readers: archives of small files, lines, and edges as arrays
- `restricted_pickle`: arrays and tensors from pickles that may ask for more
"""
