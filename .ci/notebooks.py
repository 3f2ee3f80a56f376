"""Run the notebooks of the documentation and store their outputs, which the site shows.

    python .ci/notebooks.py [NOTEBOOK ...]

Each runs in an empty folder. Output on stderr and progress bars are not stored, nor are times or versions, so that a
notebook changes only if what it shows does.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
QUIET = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
SHOWN = ("text/plain", "text/html")


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs that it has today."""
    page = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(page, timeout=600, resources={"metadata": {"path": folder}}).execute(env={**os.environ, **QUIET})
    page.metadata = {
        "kernelspec": page.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    for cell in page.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                output.pop("execution_count", None)
                if "data" in output:
                    output["data"] = {kind: text for kind, text in output["data"].items() if kind in SHOWN}
                    output["metadata"] = {}
                    if output["output_type"] == "execute_result":
                        output["execution_count"] = None
    return page


def main(arguments: list[str]) -> None:
    """Run some notebooks, or all, from the command line."""
    for path in map(Path, arguments) if arguments else sorted(TUTORIALS.glob("*.ipynb")):
        nbformat.write(executed(path), path)
        print(path.name, f"{path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
