"""Rules of imports beyond the ladder of names that import-linter checks."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

from tests.lint.project import PACKAGES, Check, Project

ADAPTERS = (
    "kafka_rack.cli",
    "kafka_rack.pipeline",
    "mockbroker.adapters",
    "mockbroker.data_directories",
    "mockbroker.proxy.adapters",
    "mockbroker.testing",
    "mockbroker.zookeeper.controller_channels",
)
"""Only these touch clocks, sockets and chance; all other modules take them as arguments, and import none of these."""
STATE = ("mockbroker.state", "mockbroker.share_groups")
"""These take values, but for what handles requests in the parts."""
HANDLERS = (
    "mockbroker.share_groups.followed_sessions",
    "mockbroker.share_groups.groups.heartbeat",
    "mockbroker.share_groups.handlers",
)
OUTSIDE_WORLD = {"asyncio", "secrets", "selectors", "socket", "socketserver", "ssl", "threading", "time"}


@dataclass(frozen=True)
class Import:
    """One imported name: ``from random import Random`` is module ``random``, name ``Random``."""

    module: str
    name: str
    line: int
    at_module_level: bool
    for_types_only: bool

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


@cache
def imports_of(project: Project, path: str) -> tuple[Import, ...]:
    return tuple(imports_in(project.tree(path), path))


def imports_in(tree: ast.AST, path: str, *, at_module_level: bool = True, for_types: bool = False) -> Iterator[Import]:
    for node in statements_in(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, "", node.lineno, at_module_level, for_types)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Import(absolute(node, path), alias.name, node.lineno, at_module_level, for_types)
        else:
            deeper = at_module_level and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            types = for_types or (isinstance(node, ast.If) and is_type_checking(node.test))
            yield from imports_in(node, path, at_module_level=deeper, for_types=types)


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a block, with the arms of ``except`` and ``case``; expressions have no imports."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        yield from getattr(node, part, ())


def is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def absolute(node: ast.ImportFrom, path: str) -> str:
    """The module that a ``from`` names, dots resolved."""
    if not node.level:
        return node.module or ""
    base = path.split("/")[: -node.level]
    return ".".join([*base, node.module] if node.module else base)


def imported_module(project: Project, found: Import) -> str:
    """``from a.b import c`` imports the module a.b.c if that exists, else a.b."""
    whole = f"{found.module}.{found.name}"
    return whole if whole in project.modules() else found.module


def is_under(module: str, *parents: str) -> bool:
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)


def only_adapters_touch_the_world(project: Project) -> Iterator[str]:
    for module, path in project.modules().items():
        if is_under(module, *ADAPTERS):
            continue
        for found in imports_of(project, path):
            if is_under(found.module, *ADAPTERS) and not found.for_types_only:
                yield f"{path}:{found.line}: imports {found}; only adapters import adapters"
            elif found.module.split(".")[0] in OUTSIDE_WORLD:
                yield f"{path}:{found.line}: imports {found}; pass time or data as arguments"
            elif found.module == "random" and found.name != "Random":
                yield f"{path}:{found.line}: imports {found}; take a seeded Random as an argument"


def state_imports_no_requests_and_the_image_nothing_of_ours(project: Project) -> Iterator[str]:
    image = "mockbroker.state.image"
    for module, path in project.modules().items():
        if not is_under(module, *STATE) or is_under(module, *HANDLERS):
            continue
        for found in imports_of(project, path):
            if is_under(imported_module(project, found), "protocol.apis"):
                yield f"{path}:{found.line}: imports {found}; the state takes values, handlers translate requests"
            if (
                is_under(module, image)
                and is_under(found.module, "mockbroker", "kafka_rack")
                and not is_under(found.module, image, "mockbroker.parts")
            ):
                yield f"{path}:{found.line}: imports {found}; the image may import protocol alone"


def no_import_cycles(project: Project) -> Iterator[str]:
    graph = {
        module: sorted(
            {
                imported_module(project, found)
                for found in imports_of(project, path)
                if found.at_module_level and not found.for_types_only and is_under(found.module, *PACKAGES)
            }
            - {module}
        )
        for module, path in project.modules().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = " imports ".join(reversed(error.args[1]))
        yield f"{cycle}: a cycle; move what both need"


def each_module_is_on_the_ladder(project: Project) -> Iterator[str]:
    contracts = tomllib.loads(project.text("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    ladder = next(contract["layers"] for contract in contracts if contract["id"] == "ladder")
    rungs = [rung.strip("() ") for layer in ladder for rung in layer.replace("|", ":").split(":")]
    for module, path in project.modules().items():
        if module not in PACKAGES and not is_under(module, *rungs):
            yield f"{path}: on no rung of the ladder in pyproject.toml; add {module}"


CHECKS: tuple[Check, ...] = (
    only_adapters_touch_the_world,
    state_imports_no_requests_and_the_image_nothing_of_ours,
    no_import_cycles,
    each_module_is_on_the_ladder,
)
