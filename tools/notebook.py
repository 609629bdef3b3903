"""Run the notebook of the documentation and store its outputs: ``python -m tools.notebook``.

``run`` is what its test calls.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vse_ens.storage.atomic import write_text

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


def run(path: Path = NOTEBOOK) -> Any:
    """Return the notebook, run from the start in an empty folder."""
    from nbclient import NotebookClient

    notebook = _nbformat().read(path, as_version=4)
    with TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        # A progress bar that has vanished leaves an empty output.
        cell.outputs = [
            one for one in cell.get("outputs", ()) if one.output_type != "display_data" or any(one.data.values())
        ]
        if cell.cell_type != "code":
            del cell["outputs"]
    return notebook


def main() -> None:
    """Store the outputs."""
    write_text(NOTEBOOK, _nbformat().writes(run()) + "\n")


def _nbformat() -> Any:
    return import_module("nbformat")  # which has no types


if __name__ == "__main__":
    main()
