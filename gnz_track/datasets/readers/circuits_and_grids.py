"""Logic circuits from netlists in structural Verilog, and electrical grids from the test cases of pandapower (JSON)."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import count_edges

__all__ = ["read_netlists", "read_power_case"]

_GATES = ("and", "nand", "nor", "not", "or", "xor")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_GATE = re.compile(rf"({'|'.join(_GATES)})\s+(?:\\\S+|\w+)?\s*\((.*)\)", re.DOTALL)
_ASSIGN = re.compile(r"assign\s+(\S+)\s*=\s*(\S+)", re.DOTALL)
_DECLARED = re.compile(r"(input|output)\s+(.*)", re.DOTALL)
_IGNORED = ("module", "wire", "endmodule")
_BRANCHES = {"line": ("from_bus", "to_bus"), "trafo": ("hv_bus", "lv_bus")}
_GENERATION = ("gen", "sgen", "ext_grid")


def read_netlists(folder: Path, *, parts: Mapping[str, Sequence[str]]) -> Data:
    """Read circuits as one graph: y ``[n]`` the kind of a gate, -1 for inputs; x ``[n, 4]``; masks by circuit.

    ``parts`` names the circuits of train, val and test, each a file ``<name>.v``. A wire joins the gate that drives it
    with those that it feeds, in both directions. x are log2(1 + fan-in), log2(1 + fan-out), and whether the node is an
    input or an output of its circuit. Kinds by name: and, nand, nor, not, or, xor.
    """
    x: list[list[float]] = []
    y: list[int] = []
    part_of: list[int] = []
    wires: list[tuple[int, int]] = []
    for number, names in enumerate(parts[part] for part in ("train", "val", "test")):
        for name in names:
            inputs, outputs, gates = _parse_circuit((folder / f"{name}.v").read_text(encoding="utf-8"), name)
            nodes = [*inputs, *sorted(gates)]
            place = {wire: len(y) + at for at, wire in enumerate(nodes)}
            feeds = {wire: gates[wire][1] for wire in sorted(gates)}
            fan_out = Counter(driver for drivers in feeds.values() for driver in drivers)
            wires += [(place[driver], place[wire]) for wire, drivers in feeds.items() for driver in drivers]
            x += [_gate_features(len(feeds.get(wire, ())), fan_out[wire], wire in outputs) for wire in nodes]
            y += [_GATES.index(gates[wire][0]) if wire in gates else -1 for wire in nodes]
            part_of += [number] * len(nodes)
    part = torch.tensor(part_of)
    masks = {f"{name}_mask": part == number for number, name in enumerate(("train", "val", "test"))}
    return Data(x=torch.tensor(x), y=torch.tensor(y), edge_index=count_edges(wires)[0], **masks)


def read_power_case(folder: Path, *, file: str) -> Data:
    """Read a grid: x ``[n, 3]``, edge_attr ``[m, 1]`` parallel branches, y ``[n]`` the role of a bus.

    Roles: 0 neither feeds in nor draws, 1 has load only, 2 has generation. x are the logarithm of the voltage in
    100 kV, and the logarithms of one plus the number of lines and of transformers at the bus. Branches and plants out
    of service are left out, as is the place of a bus.
    """
    tables = json.loads((folder / file).read_text(encoding="utf-8"))["_object"]
    buses = sorted(_rows_in_service(tables, "bus"), key=lambda bus: int(bus["index"]))
    place = {int(bus["index"]): at for at, bus in enumerate(buses)}
    ends = {
        kind: [(place[row[one]], place[row[other]]) for row in _rows_in_service(tables, kind)]
        for kind, (one, other) in _BRANCHES.items()
    }
    edges, counts = count_edges(pair for listed in ends.values() for pair in listed)
    degrees = [Counter(bus for pair in listed for bus in pair) for listed in ends.values()]
    x = [[math.log(float(bus["vn_kv"]) / 100.0), *(math.log1p(n[at]) for n in degrees)] for at, bus in enumerate(buses)]
    y = torch.zeros(len(buses), dtype=torch.int64)
    y[[place[row["bus"]] for row in _rows_in_service(tables, "load")]] = 1
    y[[place[row["bus"]] for kind in _GENERATION for row in _rows_in_service(tables, kind)]] = 2
    return Data(
        x=_rounded(x),
        edge_index=edges,
        edge_attr=counts.float().unsqueeze(1),
        y=y,
    )


def _parse_circuit(text: str, name: str) -> tuple[list[str], set[str], dict[str, tuple[str, list[str]]]]:
    """Return the inputs of a circuit, the wires that drive its outputs, and by output each gate: kind and wires in."""
    inputs, outputs, gates, aliases = list[str](), set[str](), dict[str, tuple[str, list[str]]](), dict[str, str]()
    for statement in filter(None, (part.strip() for part in _COMMENT.sub(" ", text).split(";"))):
        gate, alias = _GATE.fullmatch(statement), _ASSIGN.fullmatch(statement)
        declared = _DECLARED.fullmatch(statement)
        if gate:
            output, *taken = _split_names(gate[2])
            gates[output] = (gate[1], taken)
        elif alias:
            aliases[alias[1]] = alias[2]
        elif declared:
            {"input": inputs.extend, "output": outputs.update}[declared[1]](_split_names(declared[2]))
        elif statement.split()[0] not in _IGNORED:
            message = f"circuit {name}: {statement[:60]!r} is neither a gate nor a declaration"
            raise ValueError(message)
    driven = {output: (kind, [_driver(aliases, wire) for wire in wires]) for output, (kind, wires) in gates.items()}
    return inputs, {_driver(aliases, wire) for wire in outputs}, driven


def _split_names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",")]


def _driver(aliases: Mapping[str, str], wire: str) -> str:
    """Follow assignments to the input or gate that drives a wire; a loop of them ends at an unknown name."""
    for _ in range(len(aliases)):
        wire = aliases.get(wire, wire)
    return wire


def _gate_features(fan_in: int, fan_out: int, is_output: bool) -> list[float]:  # noqa: FBT001  (a column among columns)
    # Rounded, since logarithms may differ in their last bit from machine to machine.
    return [round(math.log2(1 + fan_in), 6), round(math.log2(1 + fan_out), 6), float(fan_in == 0), float(is_output)]


def _rows_in_service(tables: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the rows in service of a table; a column ``index`` numbers them."""
    if name not in tables:
        return []
    content = tables[name]["_object"]
    table = json.loads(content) if isinstance(content, str) else content
    rows = [
        {"index": index, **dict(zip(table["columns"], values, strict=True))}
        for index, values in zip(table["index"], table["data"], strict=True)
    ]
    return [row for row in rows if row.get("in_service", True)]


def _rounded(rows: list[list[float]]) -> Tensor:
    # Logarithms may differ in their last bit from machine to machine.
    return torch.tensor([[round(value, 6) for value in row] for row in rows])
