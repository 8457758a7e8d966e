"""The documentation as one site, for Sphinx: ``make docs``.

Its pages are those of the clone, at their own paths, so that links lead to the same place in both. What only the site
has is here: the navigation, and the look.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WITH_OUTPUTS = ROOT / "build" / "notebooks"
"""Where `make notebook` leaves notebooks as they were run; without it their pages show no outputs."""

project = "kafka-rack"
project_copyright = "the kafka-rack contributors, Apache License 2.0"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/*.md",
    "examples/README.md",
    "examples/notebooks/*.ipynb",
]
exclude_patterns = [".*", "build", "dist", "**/node_modules", "**/target"]

myst_heading_anchors = 6  # headings are named as GitHub names them: the same links work in both
suppress_warnings = ["myst.header"]  # headings may skip a level

highlight_language = "none"  # blocks without a language are output

html_theme = "furo"
html_title = "kafka-rack"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

# Caption -> pages: what the navigation calls each, and its path.
NAVIGATION: dict[str, list[tuple[str, str]]] = {
    "Tutorials": [
        ("Overview", "README"),
        ("Keep a consumer in its zone", "docs/tutorial"),
        ("From a capture to the bill", "examples/notebooks/from-a-capture-to-the-bill"),
    ],
    "How to": [
        ("Test with pytest", "docs/testing"),
        ("Test in any language", "examples/README"),
        ("Inject faults", "docs/faults"),
        ("Serve, watch and control a cluster", "docs/control"),
        ("Certify a client", "docs/certify"),
        ("Use the proxy", "docs/proxy"),
        ("Log in, use TLS", "docs/security"),
        ("Capture your cluster", "docs/capture"),
        ("Read and cut the bill", "docs/cost"),
        ("Plan replicas and assignments", "docs/plan"),
        ("Analyse captures on Spark", "docs/pipeline"),
    ],
    "Concepts": [
        ("Racks in Kafka", "docs/racks"),
        ("Proposals about racks", "docs/kips"),
        ("The cluster", "docs/cluster"),
        ("The journal", "docs/journal"),
        ("Limits", "docs/limits"),
        ("Performance", "docs/performance"),
    ],
    "Reference": [
        ("Command line", "docs/cli"),
        ("Python", "docs/python"),
        ("HTTP", "docs/http"),
        ("The codec", "docs/codec"),
        ("APIs and clients", "docs/compatibility"),
        ("Settings", "docs/configs"),
        ("Tables", "docs/tables"),
        ("Changes", "CHANGELOG"),
        ("Contributing", "CONTRIBUTING"),
    ],
}


def toctrees() -> str:
    """The navigation as Markdown for the first page, which does not show it."""
    parts = []
    for caption, pages in NAVIGATION.items():
        lines = [f"{title} </{path}>" for title, path in pages]
        parts.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *lines, "```"]))
    return "\n\n".join(parts)


def add_navigation(app: Any, name: str, source: list[str]) -> None:
    if name == root_doc:
        source[0] += "\n" + toctrees() + "\n"


def lead_to_first_page(app: Any, error: Exception | None) -> None:
    """Redirects the site's folder to its first page."""
    if error is None and app.builder.format == "html":
        way = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        (Path(app.outdir) / "index.html").write_text(way, encoding="utf-8")


def notebook_parser() -> type:
    """Returns a parser that reads a notebook as a Markdown page."""
    from myst_parser.parsers.sphinx_ import MystParser  # here: the navigation is read without it

    class NotebookParser(MystParser):
        supported = ("notebook",)

        def parse(self, inputstring: str, document: Any) -> None:
            path = Path(document["source"])
            was_run = WITH_OUTPUTS / path.name
            notebook = json.loads(was_run.read_text(encoding="utf-8") if was_run.exists() else inputstring)
            super().parse(markdown_of(notebook, path), document)

    return NotebookParser


def markdown_of(notebook: dict[str, Any], path: Path) -> str:
    """Returns text, code and outputs in order; pictures become files beside the notebook that was run."""
    parts = []
    for number, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if "text" in output:
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif "image/png" in output.get("data", {}):
                picture = WITH_OUTPUTS / f"{path.stem}-{number}.png"
                picture.write_bytes(base64.b64decode(output["data"]["image/png"]))
                parts.append(f"![What the cell above draws](/{picture.relative_to(ROOT)})")
    return "\n\n".join(parts) + "\n"


def setup(app: Any) -> None:
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(notebook_parser())
    app.connect("source-read", add_navigation)
    app.connect("build-finished", lead_to_first_page)
