"""Bitcoin transactions, licit, illicit or unlabelled."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch
from torch_geometric.data import Data

__all__ = ["read_elliptic"]

_CLASSES = {"1": 1, "2": 0}
_UNLABELLED = -1


def read_elliptic(folder: Path, *, validation_from: int, test_from: int) -> Data:
    """Read x ``[n, 165]``, y ``[n]`` of 1 (illicit), 0 (licit) and -1 (unlabelled), directed payments, masks by time.

    Weber et al.: Anti-Money Laundering in Bitcoin, 2019.

    Parameters
    ----------
    folder
    validation_from, test_from
        First time steps of these parts.
    """
    features = pd.read_csv(folder / "elliptic_txs_features.csv", header=None)
    classes = pd.read_csv(folder / "elliptic_txs_classes.csv", dtype=str).set_index("txId")["class"]
    payments = pd.read_csv(folder / "elliptic_txs_edgelist.csv")
    number = pd.Series(range(len(features)), index=features[0])
    ends = [number.loc[payments[column]].to_numpy().copy() for column in ("txId1", "txId2")]
    labels = classes.loc[features[0].astype(str)].map(_CLASSES).fillna(_UNLABELLED).to_numpy()
    y = torch.from_numpy(labels.copy()).long()
    time = torch.from_numpy(features[1].to_numpy().copy())
    is_labelled = y != _UNLABELLED
    return Data(
        x=torch.from_numpy(features.iloc[:, 2:].to_numpy(dtype="float32").copy()),
        y=y,
        edge_index=torch.stack([torch.from_numpy(end) for end in ends]),
        train_mask=is_labelled & (time < validation_from),
        val_mask=is_labelled & (time >= validation_from) & (time < test_from),
        test_mask=is_labelled & (time >= test_from),
    )
