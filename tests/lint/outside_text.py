"""Text and sizes from outside meet patterns, numbers and buffers that are bounded.

Patterns are tried, not judged by their looks: each gets texts made of its own parts, and has to be done in a moment.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from re._constants import MAXREPEAT  # type: ignore[import-not-found]
from re._parser import SubPattern  # type: ignore[import-not-found]
from re._parser import parse as parse_text
from typing import Any

from tests.lint.project import Check, Project

FACING = (
    *("protocol/apis", "protocol/embedded", "protocol/records", "mockbroker", "kafka_rack/wire_capture"),
    *("kafka_rack/wire_tables", "kafka_rack/locality", "kafka_rack/consistency", "kafka_rack/what_if"),
)
OF_THE_USER = ("mockbroker/testing/", "mockbroker/state/security/principal_mapping.py")
"""These read text of the program that calls them, or settings with which a broker starts."""
METHODS = {"match", "search", "fullmatch", "sub", "split", "findall", "finditer"}
SIZES, MOST_S, DIGITS = (25, 1_000, 10_000), 0.05, "1" * 5_000
"""Repetitions, so that exponential patterns show early; Python refuses to read numbers of more than 4,300 digits."""


def patterns_are_fixed_and_linear(project: Project) -> Iterator[str]:
    """A pattern from outside is RE2's business; one of ours takes time linear in the text, for each method used."""
    for path, known in facing(project):
        for node in calls(project.tree(path)):
            name = ast.unparse(node.func)
            if name.startswith("re.") and name[3:] in {"compile", *METHODS} and not is_fixed(node.args[0]):
                yield f"{path}:{node.lineno}: {name} of {ast.unparse(node.args[0])}; use re2 for a pattern from outside"
        for line, pattern, methods in patterns(project.tree(path), known):
            for method in sorted(methods):
                slow = next((text for text in hostile_texts(parse(pattern)) if is_slow(pattern, method, *text)), None)
                if slow:
                    where = f"{slow[1]!r} after {slow[0]!r}"
                    yield f"{path}:{line}: {method} of {pattern.pattern!r} is not linear in {where}; bound it"


def numbers_have_bounded_digits(project: Project) -> Iterator[str]:
    """int() of long text raises a ValueError that the code does not expect."""
    for path, known in facing(project):
        tree = project.tree(path)
        for line, pattern, _ in patterns(tree, known):
            if any(captures_digits(part) for part in parts_of(parse(pattern))):
                yield f"{path}:{line}: {pattern.pattern!r} captures a number of any length; bound its digits: {{1,10}}"
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            text = ast.unparse(function)
            for node in calls(function):
                is_bounded = "except ValueError" in text or not node.args or not isinstance(node.args[0], ast.Name)
                if ast.unparse(node.func) != "int" or is_bounded:
                    continue
                name = ast.unparse(node.args[0])
                checked = re.findall(rf"(\w+)\.(fullmatch|match)\({re.escape(name)}\)", text)
                is_long = any(getattr(known.get(one, re.compile("")), method)(DIGITS) for one, method in checked)
                is_long |= f"{name}.isdecimal()" in text or f"{name}.isdigit()" in text
                if is_long and f"len({name})" not in text:
                    yield f"{path}:{node.lineno}: int({name}) of digits without end; bound len({name})"


def buffers_have_bounded_sizes(project: Project) -> Iterator[str]:
    """A size that a peer has named is compared with a limit, or by a function of its own, before it is used."""
    for path, _ in facing(project):
        for function in ast.walk(project.tree(path)):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            compared = " ".join(ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Compare))
            for node in calls(function):
                called = ast.unparse(node.func).rpartition(".")[2]
                if called not in {"readexactly", "recv", "bytearray", "bytes"} or len(node.args) != 1:
                    continue
                size = node.args[0]
                is_size = isinstance(size, ast.BinOp) and not isinstance(size.op, ast.Mod)
                is_size |= called.startswith("re") and not isinstance(size, ast.Constant | ast.Call)
                names = {part.id for part in ast.walk(size) if isinstance(part, ast.Name) and not part.id.isupper()}
                if is_size and names and "min(" not in ast.unparse(size) and not any(one in compared for one in names):
                    yield f"{path}:{node.lineno}: {ast.unparse(node)} has a size without a limit; compare it with one"


def facing(project: Project) -> Iterator[tuple[str, dict[str, Any]]]:
    """The modules that meet text from outside, with their constants."""
    for path in project.modules().values():
        if path.startswith(FACING) and not path.startswith(OF_THE_USER):
            yield path, constants(project.tree(path))


def constants(tree: ast.Module) -> dict[str, Any]:
    """The module's patterns and other values that need nothing but ``re``."""
    found: dict[str, Any] = {"re": re}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            with suppress(Exception):
                exec(compile(ast.Module([node], []), "constants", "exec"), found)
    return found


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def is_fixed(node: ast.expr) -> bool:
    """True if it is made of literals, constants, escaped text, or by fnmatch, whose patterns do not backtrack."""
    match node:
        case ast.Call():
            return ast.unparse(node.func) in {"re.escape", "'|'.join", "ENTRY.format", "translate"}
        case ast.JoinedStr():
            return all(is_fixed(part.value) for part in node.values if isinstance(part, ast.FormattedValue))
    return isinstance(node, ast.Constant) or ast.unparse(node).isupper()


def patterns(tree: ast.Module, known: dict[str, Any]) -> Iterator[tuple[int, re.Pattern[Any], set[str]]]:
    """The line of each pattern, the pattern, and the methods by which the module uses it."""
    used: dict[str, set[str]] = {}
    for node in calls(tree):
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            owner = ast.unparse(node.func.value)
            used.setdefault(owner, set()).add(node.func.attr)
            if owner == "re" and isinstance(node.args[0], ast.Constant):
                yield node.lineno, re.compile(node.args[0].value), {node.func.attr}
    for node in tree.body:
        for name in (ast.unparse(one) for one in getattr(node, "targets", ())):
            if isinstance(found := known.get(name), re.Pattern):
                yield node.lineno, found, used.get(name, set())


def parse(pattern: re.Pattern[Any]) -> Any:
    return parse_text(pattern.pattern, pattern.flags & (re.VERBOSE | re.DOTALL))


def parts_of(nodes: Any) -> Iterator[Any]:
    """The nodes of a parsed pattern with those within them."""
    for node in nodes:
        if isinstance(node, tuple | list | SubPattern):
            yield from parts_of(node)
    if isinstance(nodes, tuple):
        yield nodes


def sample(nodes: Any) -> str:
    """A short text that a parsed pattern takes, near enough."""
    return "".join(map(sample_of, nodes))


def sample_of(node: Any) -> str:
    kind, value = str(node[0]), node[1]
    match kind:
        case "LITERAL":
            return chr(value)
        case "IN" if str(value[0][0]) == "NEGATE":
            return next(one for one in "a0 !" if ord(one) not in [part[1] for part in value])
        case "IN":
            return sample_of(value[0])
        case "RANGE":
            return chr(value[0])
        case "CATEGORY":
            return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " "}.get(str(value), "a")
        case "SUBPATTERN":
            return sample(value[-1])
        case "BRANCH":
            return sample(value[1][0])
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return sample(value[2]) * max(1, value[0])
    return "a" if kind in {"ANY", "NOT_LITERAL"} else ""


def captures_digits(part: Any) -> bool:
    """True for a group of digits without end."""
    if str(part[0]) != "SUBPATTERN" or part[1][0] is None:
        return False
    repeats = [one[1] for one in part[1][-1] if "REPEAT" in str(one[0]) and one[1][1] == MAXREPEAT]
    return len(part[1][-1]) <= 2 and any(sample(one[2]) == "0" and len(one[2][0][1]) == 1 for one in repeats)


def hostile_texts(parsed: Any) -> Iterator[tuple[str, str]]:
    """A beginning, and a piece to be repeated after it: what the pattern repeats, and each character that it names."""
    parts = list(parts_of(parsed))
    pieces = {sample(part[1][2]) for part in parts if "REPEAT" in str(part[0]) and part[1][1] == MAXREPEAT}
    pieces |= {sample_of(part) for part in parts if str(part[0]) in {"LITERAL", "CATEGORY"}} if pieces else set()
    for at in range(len(parsed) + 1):
        yield from ((sample(parsed[:at]), piece) for piece in sorted(pieces - {""}))


def is_slow(pattern: re.Pattern[Any], method: str, begin: str, piece: str) -> bool:
    for size in SIZES:
        text: Any = begin + piece * size + "\0"
        text = text if isinstance(pattern.pattern, str) else text.encode("latin-1")
        before = time.process_time()
        found = getattr(pattern, method)(*(("", text) if method == "sub" else (text,)))
        if method == "finditer":
            list(found)
        if time.process_time() - before > MOST_S:
            return True
    return False


CHECKS: tuple[Check, ...] = (
    patterns_are_fixed_and_linear,
    numbers_have_bounded_digits,
    buffers_have_bounded_sizes,
)
