"""The notebook runs from top to bottom in an empty folder, and is kept without what it printed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from doc_pages import DOCS, ROOT

NOTEBOOK = DOCS / "first_comparison.ipynb"


def test_notebook_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 6
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in cells}) == len(cells)


@pytest.mark.slow
# Jupyter's own pieces warn of one another.
@pytest.mark.filterwarnings("ignore")
def test_notebook_runs_in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="pip install 'gnz-track[test]'")
    nbclient = pytest.importorskip("nbclient", reason="pip install 'gnz-track[test]'")
    for name in ("GNZ_DATA", "GNZ_STORE", "XDG_DATA_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("GNZ_STORE", str(tmp_path / "gnz.db"))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.delenv("GNZ_MIRROR", raising=False)
    # A kernel of this environment, whatever others are installed on the machine.
    kernels = tmp_path / "kernels" / "kernels" / "python3"
    kernels.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernels / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "here", "language": "python"}), encoding="utf-8"
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "kernels"))
    work = tmp_path / "work"
    work.mkdir()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(work)}})
    client.execute()
    printed = json.dumps([cell.get("outputs", []) for cell in notebook.cells])
    for piece in ("OneHop", "2 models, 1 task, 5 seeds", "3 models", "image/png"):
        assert piece in printed, piece
