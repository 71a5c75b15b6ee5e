"""MovieLens 100K: who rated which film how."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

__all__ = ["read_movielens"]

_LATIN = "ISO-8859-1"
_FIRST_GENRE, _LAST_GENRE = 6, 23


def read_movielens(folder: Path) -> Data:
    """Read users, then films, as nodes of one bipartite graph; ratings both ways, ``rating [m]`` and ``time [m]``.

    x ``[n, 42]``: age, sex and occupation of users in the first 24 columns, genres of films in the other 18, zero
    elsewhere. Harper, Konstan: The MovieLens Datasets: History and Context, 2015.
    """
    users = pd.read_csv(folder / "u.user", sep="|", header=None, encoding=_LATIN)
    films = pd.read_csv(folder / "u.item", sep="|", header=None, encoding=_LATIN)
    parts = [pd.read_csv(folder / name, sep="\t", header=None) for name in ("u1.base", "u1.test")]
    ratings = pd.concat(parts, ignore_index=True)
    user = pd.Series(range(len(users)), index=users[0]).loc[ratings[0]].to_numpy()
    film = pd.Series(range(len(users), len(users) + len(films)), index=films[0]).loc[ratings[1]].to_numpy()
    one_way = torch.stack([torch.from_numpy(user.copy()), torch.from_numpy(film.copy())])
    rating, time = (torch.from_numpy(ratings[column].to_numpy().copy()).repeat(2) for column in (2, 3))
    genres = torch.from_numpy(films.loc[:, _FIRST_GENRE:_LAST_GENRE].to_numpy(dtype="float32").copy())
    x = torch.block_diag(_of_users(users), genres)
    return Data(x=x, edge_index=torch.cat([one_way, one_way.flip(0)], dim=1), rating=rating, time=time)


def _of_users(users: pd.DataFrame) -> Tensor:
    age = users[[1]] / users[1].max()
    table = pd.concat([age, pd.get_dummies(users[2]), pd.get_dummies(users[3])], axis=1)
    return torch.from_numpy(table.to_numpy(dtype="float32").copy())
