"""Catalogue: a row for each dataset and task, by research area. No torch here.

- `biology`: molecules, proteins and peptides; metabolism, nerves, contacts
- `combinatorial`: combinatorial problems, nearly all of them generated
- `computing`: the Internet, and logic circuits
- `finance`: trade, boards, patents and payments
- `infrastructure`: roads, rails, flights and power lines
- `knowledge`: knowledge graphs
- `physics`: properties of molecules, and spins on a lattice
- `security`: malware, attacks, crimes
- `social`: citations, pages, articles and words; people who know, meet or rate one another
- `vision`: images as regions, shapes as meshes and points
- `suites`: suites of tasks, tasks that are run by name only, and how long cells take
- `templates`: what rows of networks, of OGB and of packaged files share
"""
