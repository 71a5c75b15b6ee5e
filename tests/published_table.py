"""What the published benchmark offers: loaders by category and task type, and the epochs of its tasks."""

from __future__ import annotations

PUBLISHED_EPOCHS = {
    "random_tsp": 80,
    "random_coloring": 80,
    "mutag": 40,
    "proteins": 20,
    "celegans": 80,
    "cora": 100,
    "citeseer": 100,
    "pubmed": 100,
    "roman_empire": 80,
    "minesweeper": 80,
    "cora_link_pred": 80,
    "citeseer_link_pred": 80,
    "fb15k_237": 20,
    "wordnet18rr": 20,
    "power_grid": 80,
    "euroroad": 80,
    "product_space": 80,
    "board_directors": 40,
    "internet_as": 40,
    "topology": 10,
    "mnist_superpixels": 4,
    "zinc": 10,
    "ising_lattice": 60,
    "terrorists_911": 120,
}
PUBLISHED_EPOCHS_OF_LARGE_TASKS = {
    "ogbn_arxiv": 50,
    "ogbl_collab": 20,
    "ogbn_products": 20,
    "ogbg_molhiv": 20,
    "ogbg_molpcba": 20,
}
PUBLISHED_LOADERS = {
    "combinatorial": {
        "link_pred": [
            "random_bipartite_matching",
            "random_tsp",
            "random_vrp",
            "random_coloring",
            "random_maxcut",
            "random_maxflow",
        ]
    },
    "biology": {
        "graph_cls": ["mutag", "proteins", "enzymes", "peptides_func", "ogbg_molhiv", "ogbg_molpcba"],
        "graph_reg": ["peptides_struct"],
        "link_pred": ["celegans", "budapest_connectome", "hospital_contacts", "high_school_contacts", "ppi"],
    },
    "social": {
        "node_cls": [
            "cora",
            "citeseer",
            "pubmed",
            "wikics",
            "roman_empire",
            "amazon_ratings",
            "minesweeper",
            "tolokers",
            "questions",
            "ogbn_arxiv",
        ],
        "link_pred": [
            "cora",
            "citeseer",
            "pubmed",
            "movielens100k",
            "karate",
            "facebook_friends",
            "dblp_coauthor",
            "dnc_emails",
            "ogbl_collab",
        ],
    },
    "knowledge": {"link_pred": ["fb15k_237", "wordnet18rr", "wordnet_netz"]},
    "infrastructure": {
        "link_pred": ["power_grid", "euroroad", "us_roads", "eu_airlines", "london_transport", "urban_streets"],
    },
    "finance": {
        "node_cls": ["elliptic_bitcoin", "ogbn_products"],
        "link_pred": ["product_space", "board_directors", "us_patents"],
    },
    "computing": {"link_pred": ["internet_as", "topology", "as_skitter", "route_views"]},
    "vision": {
        "graph_cls": ["mnist_superpixels", "cifar10_superpixels", "modelnet10", "modelnet40"],
        "node_cls": ["shapenet"],
    },
    "physics": {"graph_reg": ["qm9", "zinc"], "link_pred": ["ising_lattice"]},
    "security": {"graph_cls": ["malnet_tiny"], "link_pred": ["terrorists_911", "train_terrorists"]},
}
