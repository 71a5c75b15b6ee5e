"""Raw files in the formats of their publishers, read into graphs; nothing that lies in them is run.

- `circuits_and_grids`: electrical grids from the test cases of pandapower, which are tables written as JSON
- `citations`: wiki-CS: articles on computer science, their hyperlinks and branches
- `gml`: networks in GML, as loose as files in the wild: nodes need no label, edges may repeat
- `images`: grey images as rows of a table, turned into graphs of regions
- `knowledge`: small knowledge graphs whose entities are told apart by nothing but themselves
- `molecules`: molecules as types of atoms and bonds: ZINC and AQSOL, in the pickles of the benchmark that made
  them graphs
- `networks`: goods that countries export together, from the tables of the Atlas of Economic Complexity
- `ogb`: graphs of the Open Graph Benchmark from its own csv tables, read in pieces, without the package of that
  name
- `ppi`: interactions of proteins in human tissues
- `programs`: function call graphs of Android software, by family of malware
- `raw_files`: graphs that were published as lists of tensors in one torch file; nothing but tensors and
  containers is unpickled
- `restricted_pickle`: pickles of foreign origin, read without running what they may ask for: arrays and plain
  containers, nothing else
- `shapes`: points on shapes, each labelled by the part it belongs to
- `tsplib`: travelling salesman problems of TSPLIB, and the short edges that an optimal tour uses
- `tudataset`: graphs in the text format of the TUDataset collection
"""
