"""``python -m tests.notebooks``: each notebook of examples/notebooks, run from its first cell to its last.

It is run twice, in kernels of their own, and both have to show the same, pictures too; what is stored has no outputs,
and what is run writes nothing on stderr. The notebooks with their outputs go to build/notebooks, from where `make docs`
takes them. Exit code 1 at the first that fails. What it needs is the extra `notebook`, loaded only when it runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "examples" / "notebooks"
WITH_OUTPUTS = ROOT / "build" / "notebooks"
CELL_SECONDS = 600
"""A cell takes a second or two; a kernel that hangs ends the run."""


class NotebookFailed(Exception):
    """What was expected of a notebook, and what it did."""


def main() -> int:
    import matplotlib.font_manager  # noqa: F401 - so that no kernel has to look for fonts first, and say so
    import nbformat

    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    if not paths:
        sys.stderr.write(f"notebooks: expected notebooks in {NOTEBOOKS}, got none\n")
        return 1
    WITH_OUTPUTS.mkdir(parents=True, exist_ok=True)
    for path in paths:
        try:
            notebook = checked(path)
        except NotebookFailed as error:
            sys.stderr.write(f"{path.relative_to(ROOT)}: {error}\n")
            return 1
        nbformat.write(notebook, WITH_OUTPUTS / path.name)
        print(f"{path.relative_to(ROOT)}: {len(outputs_of(notebook))} outputs, the same in both runs", flush=True)
    print(f"{len(paths)} passed, 0 failed")
    return 0


def checked(path: Path) -> Any:
    """A notebook with its outputs. Raises NotebookFailed."""
    import nbformat

    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    if outputs_of(stored):
        raise NotebookFailed("expected no outputs in what is stored, got some: clear them")
    first, second = executed(path), executed(path)
    if outputs_of(first) != outputs_of(second):
        raise NotebookFailed("expected the same outputs of two runs, got different ones")
    said = [one["text"] for one in outputs_of(first) if one.get("name") == "stderr"]
    if said:
        raise NotebookFailed(f"expected nothing on stderr, got {said[0]}")
    return first


def executed(path: Path) -> Any:
    """A run of all cells in the notebook's own folder. Raises NotebookFailed."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],  # its sockets are of this machine alone, and need no warning
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise NotebookFailed(str(error)) from None
    return notebook


def outputs_of(notebook: Any) -> list[dict[str, Any]]:
    """What the cells show, without the numbers of their runs."""
    return [
        {name: value for name, value in one.items() if name not in {"execution_count", "metadata"}}
        for cell in notebook["cells"]
        for one in cell.get("outputs", ())
    ]


if __name__ == "__main__":
    raise SystemExit(main())
