"""Files, links and folders that prose and comments name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from tests.lint.project import PACKAGES, Check, Project

CITED = re.compile(
    r"(?<![\w/.{<-])((?:docs|examples|fixtures|kafka_rack|mockbroker|protocol|tests)/[\w./-]++)(?![*<{])"
)
"""A path as prose and comments name it: from the root, whole."""
WRITTEN_BY_TOOLS = {"kafka_rack/docs", "tests/durations.json"}
"""Where docs/ is put when the wheel is built; what `pytest --record-durations` writes."""
CITING = (".go", ".java", ".md", ".py", ".toml", ".yaml", ".yml")
CITING_AT_THE_ROOT = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "conftest.py",
    "pyproject.toml",
    "Makefile",
    ".ci/run",
)
MADE_UP = {"tests/unit/test_lint.py"}
"""Files that name files of made-up projects."""
CONTRIBUTING = "CONTRIBUTING.md"
FOLDER_OR_FILE = re.compile(r"[a-z0-9_]+(?:/[a-z0-9_]+)*(?:/|\.py)")
MAPPED = ("protocol", "kafka_rack", "kafka_rack/cli", "kafka_rack/pipeline", "mockbroker", "mockbroker/adapters")
MAPPED_DEEPER = ("mockbroker/core", "mockbroker/state")


def cited_paths(text: str) -> list[str]:
    """
    >>> cited_paths("as docs/plan.md says (tests/progress.py), not docs/x-*.md, nor https://a.example/docs/b.md")
    ['docs/plan.md', 'tests/progress.py']
    """
    return [path.rstrip("./-") for path in CITED.findall(text)]


def is_placeholder(path: str) -> bool:
    return path.upper() == path or "VERSION" in path or "FAMILY" in path


def cited_paths_exist(project: Project) -> Iterator[str]:
    """In prose, comments and docstrings. A file that is written first and packed then counts by its packed name."""
    files = project.files("docs", "examples", "fixtures", *PACKAGES, "tests", suffixes=CITING)
    files += [path for path in CITING_AT_THE_ROOT if project.exists(path)]
    for file in files:
        if file in MADE_UP:
            continue
        for path in dict.fromkeys(cited_paths(project.text(file))):
            if not (
                project.exists(path) or project.exists(f"{path}.gz") or path in WRITTEN_BY_TOOLS or is_placeholder(path)
            ):
                yield f"{file}: names {path}, which does not exist"


def links_lead_to_files_and_headings(project: Project) -> Iterator[str]:
    for page in [*project.pages(), *([CONTRIBUTING] if project.exists(CONTRIBUTING) else [])]:
        for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", project.text(page)):
            file = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
            if not project.exists(file):
                yield f"{page}: links to {target}, which does not exist"
            elif heading and heading not in anchors(project.text(file)):
                yield f"{page}: links to {target}#{heading}, a heading that {file} lacks"


def anchors(page: str) -> set[str]:
    """The names of a page's headings in links, as GitHub makes them.

    >>> anchors("## Where things are: `docs/`")
    {'where-things-are-docs'}
    """
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"(?m)^#+ (.*)$", page)}


def the_readme_links_each_page(project: Project) -> Iterator[str]:
    for page in project.files("docs", suffixes=(".md",)):
        if f"({page})" not in project.text("README.md"):
            yield f"README.md: lacks a link to {page}"


def the_map_is_complete(project: Project) -> Iterator[str]:
    """The map of CONTRIBUTING.md names existing files, and each package; its table of tests names each folder."""
    page = project.text(CONTRIBUTING)
    shown = page.partition("## Where things are\n```\n")[2].partition("```")[0]
    for path in mapped_paths(shown):
        if not project.exists(path):
            yield f"{CONTRIBUTING}: the map names {path}, which does not exist"
    for folder in (*MAPPED, *MAPPED_DEEPER):
        for package in packages_in(project, folder):
            if f"{package}/" not in shown:
                yield f"{CONTRIBUTING}: the map lacks {folder}/{package}/"
    for folder in packages_in(project, "tests"):
        if f"`{folder}/`" not in page:
            yield f"{CONTRIBUTING}: the table of tests lacks `{folder}/`"


def packages_in(project: Project, folder: str) -> list[str]:
    """The folders in a folder that have Python files at their top."""
    inside = (path.removeprefix(f"{folder}/").split("/") for path in project.files(folder))
    return sorted({parts[0] for parts in inside if len(parts) == 2})


def mapped_paths(shown: str) -> list[str]:
    """The folders and modules that the map names, from the root; two more spaces mean one folder deeper.

    >>> mapped_paths("protocol/   the wire\\n  wire.py declare.py   types\\n  apis/   see fetch.py")
    ['protocol/', 'protocol/wire.py', 'protocol/declare.py', 'protocol/apis/', 'protocol/apis/fetch.py']
    """
    found, folders = [], []
    for line in shown.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        names, _, described = line.strip().partition("  ")
        above = "".join(folders[:depth])
        first = names.split()[0]
        found += [above + name for name in names.split()]
        inside = above + first if first.endswith("/") else above
        found += [inside + name for name in FOLDER_OR_FILE.findall(described) if name.endswith(".py")]
        if first.endswith("/"):
            folders = [*folders[:depth], first]
    return found


def the_way_of_a_request_has_the_stages_in_order(project: Project) -> Iterator[str]:
    from mockbroker.core.path import Stage

    stages = [stage.name for stage in Stage]
    way = project.text(CONTRIBUTING).partition("## The way of a request")[2].partition("\n## ")[0]
    named = [name for name in re.findall(r"`(\w+)`", way) if name in Stage.__members__]
    if named != stages:
        yield f"{CONTRIBUTING}: a request passes the stages {', '.join(named)}, but Stage has {', '.join(stages)}"


CHECKS: tuple[Check, ...] = (
    cited_paths_exist,
    links_lead_to_files_and_headings,
    the_readme_links_each_page,
    the_map_is_complete,
    the_way_of_a_request_has_the_stages_in_order,
)
