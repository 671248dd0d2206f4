"""The example notebook: it runs, its outputs are those that are committed, in kind, and nothing of a machine is in it.

``SVMPRESS_WRITE_DOCS=1 pytest tests/house/test_notebook.py`` runs it and writes what it showed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
MOST_BYTES = 250_000
KNOWN = {"display_name": "Python 3", "language": "python", "name": "python3"}


def shown(notebook) -> list[list[list[str]]]:
    """Return for each cell the kinds of what it shows."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[sorted(output.get("data", {output.output_type: 0})) for output in cell.outputs] for cell in cells]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_notebook_runs_and_shows_what_is_committed(tmp_path):
    from nbclient import NotebookClient

    committed = nbformat.read(NOTEBOOK, as_version=4)
    again = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(again, timeout=240, kernel_name="python3", record_timing=False, resources=where).execute()
    if os.environ.get("SVMPRESS_WRITE_DOCS"):
        again.metadata = {"kernelspec": KNOWN, "language_info": {"name": "python"}}
        for cell in again.cells:
            cell.metadata = {}
        nbformat.write(again, NOTEBOOK)
        committed = again
    assert list(tmp_path.iterdir()) == []
    assert shown(again) == shown(committed)
    assert not any("stream" in kinds for cell in shown(again) for kinds in cell)  # warnings would be there


def test_nothing_of_a_machine_is_in_the_notebook():
    text, notebook = NOTEBOOK.read_text(encoding="utf-8"), nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert len(text) <= MOST_BYTES
    assert notebook.metadata == {"kernelspec": KNOWN, "language_info": {"name": "python"}}
    assert all(cell.metadata == {} for cell in notebook.cells)
    assert not re.search(r"(/home/|/Users/|/tmp|/work|[A-Z]:\\\\)", re.sub(r'"image/png": "[^"]*"', "", text))
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"] == list(range(1, 9))
