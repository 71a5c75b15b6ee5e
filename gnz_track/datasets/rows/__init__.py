"""Catalogue: a row for each dataset, by research area. No torch here.

- `benchmarking_gnns`: catalogue: graphs drawn as a published benchmark of graph networks draws them, whole and
  in smaller sizes
- `biological_networks`: catalogue: metabolism, nerves, proteins that interact, and contacts along which
  diseases spread
- `biology`: catalogue: molecules, proteins and peptides
- `combinatorial`: catalogue: combinatorial problems
- `computing`: catalogue: the Internet at the level of networks and routers
- `finance`: catalogue: trade, boards, patents and payments
- `image_regions`: catalogue: images in the files of their publishers, as regions joined to the most similar
  ones
- `infrastructure`: catalogue: roads, rails, flights and power lines
- `knowledge`: catalogue: knowledge graphs
- `more_tasks`: tasks for rows that nobody chose for a category: by name only, since some of them take gigabytes
  and days
- `network_rows`: rows for networks of the Netzschleuder archive: what they all share is said once
- `ogb_rows`: rows for the Open Graph Benchmark: what they all share is said once
- `physics`: catalogue: properties of molecules, and spins on a lattice
- `pinned_packages`: files of releases on a package index that carry real data, each pinned by its SHA-256
- `security`: catalogue: malware, and who was in touch with whom before an attack
- `social`: catalogue: citations between papers, and the communities that are generated beside them
- `social_networks`: catalogue: who knows, writes to, works with or rates whom
- `ten`: catalogue: real data for each of the ten categories that need nothing but a package index
- `ten_graphs`: catalogue: many small graphs, and graphs with labelled edges, that ship inside package archives
- `ten_networks`: catalogue: single networks that ship inside package archives
- `times`: seconds that a cell takes: a hint for planning, measured once
- `vision`: catalogue: images as regions, shapes as meshes and points
- `web_graphs`: catalogue: pages, articles, words, products and players, most of them unlike their neighbours
"""
