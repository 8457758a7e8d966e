"""Rules over the text of modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.lint.project import Check, Project, set_differences

MAX_LINES = 600
ONE_NAME_IN_SEVERAL_MODULES = {
    "RackAwareAssignor",
    "RackAwareRangeAssignor",
    "RackAwareRoundRobinAssignor",
    "RackAwareStickyAssignor",
}
"""Assignors of aiokafka and of kafka-python: a user changes the library by changing the import alone."""
HTTPX_CALLS = {"AsyncClient", "Client", "delete", "get", "post", "put", "request", "stream"}
OF_CLIENTS = {"ssl.endpoint.identification.algorithm", "request.timeout.ms"}
"""Settings that mockbroker names in messages, or reads for the proxy as a client; the brokers' own are read nowhere."""
THROTTLED = {f"{side}.replication.throttled.replicas" for side in ("leader", "follower")}
"""Composed from the side when they are read."""
DASHBOARD = "mockbroker/adapters/dashboard/static"
MAKERS_OF_HTML = (
    r"(?:inner|outer)HTML|insertAdjacentHTML|document\.write|DOMParser|ContextualFragment|\beval\(|new Function"
)
FORBIDDEN_IN_PAGE = r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)|https?://|javascript:"


def modules_have_one_subject(project: Project) -> Iterator[str]:
    for path in project.modules().values():
        lines = project.text(path).count("\n")
        if lines > MAX_LINES:
            yield f"{path}: has {lines} lines, at most {MAX_LINES} are allowed; move its second subject out"


def public_classes_have_names_of_their_own(project: Project) -> Iterator[str]:
    """Declarations of messages are exempt: their names are Kafka's."""
    owners: dict[str, str] = {}
    for module, path in project.modules().items():
        if module.startswith(("protocol.apis", "protocol.embedded")):
            continue
        for node in project.tree(path).body:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            if node.name in owners and node.name not in ONE_NAME_IN_SEVERAL_MODULES:
                yield f"{path}:{node.lineno}: class {node.name} is in {owners[node.name]}, too; rename one of them"
            owners[node.name] = path


def tests_set_a_timeout_for_httpx(project: Project) -> Iterator[str]:
    """Its default of five seconds fails on a busy machine."""
    for path in project.files("tests"):
        if "httpx." not in project.text(path):
            continue
        for node in ast.walk(project.tree(path)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and (node.func.value.id, node.func.attr in HTTPX_CALLS) == ("httpx", True)
                and "timeout" not in {keyword.arg for keyword in node.keywords}
            ):
                yield f"{path}:{node.lineno}: httpx.{node.func.attr} without timeout=; pass timeout=None"


def each_test_asserts_something(project: Project) -> Iterator[str]:
    """By ``assert``, by ``pytest.raises`` and its like, or by a helper whose name says that it checks."""
    for path in project.files("tests"):
        if not path.rpartition("/")[2].startswith("test_"):
            continue
        for node in ast.walk(project.tree(path)):
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and node.name.startswith("test_")
                and not any(isinstance(part, ast.Assert) or is_checking_call(part) for part in ast.walk(node))
            ):
                yield f"{path}:{node.lineno}: {node.name} has no assertion; assert what its name promises"


def is_checking_call(node: ast.AST) -> bool:
    """
    >>> [is_checking_call(ast.parse(text).body[0].value) for text in ("pytest.raises(E)", "check_all(x)", "run(x)")]
    [True, True, False]
    """
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in {"raises", "warns", "fail"} or name.startswith(("assert_", "check", "expect"))


def no_text_installs_from_an_index(project: Project) -> Iterator[str]:
    """The package is on no index; ``kafka_rack.extras.pip_install`` says what to type."""
    for path in [*project.files("kafka_rack", "mockbroker"), *project.pages()]:
        if re.search(r"pip install '?kafka-rack", project.text(path)):
            yield f"{path}: says `pip install kafka-rack`, which no index has; name the clone"


def configs_are_read_where_they_have_an_effect(project: Project) -> Iterator[str]:
    """Names in quotes in mockbroker, except in the tables of configs, are the configs that it reads."""
    from mockbroker.state.configs.definitions import BROKER, GROUP, TOPIC, names
    from mockbroker.state.configs.effects import OF_A_BROKER, OF_LISTENERS, with_effect

    literal = re.compile(r'"([a-z][a-z0-9.]*)"')
    of_kind = re.compile(r'f"{self\.kind}([a-z0-9.]*)"')
    read: set[str] = set()
    named: set[str] = set()  # also in the definitions of configs, where some effects are
    for path in project.files("mockbroker"):
        text = project.text(path)
        found = set(literal.findall(text))
        found |= {f"{kind}{rest}" for rest in of_kind.findall(text) for kind in ("consumer", "share", "streams")}
        if not path.endswith(("/settings.py", "/effects.py")):
            named |= found
            if "/configs/" not in path:
                read |= found
    effects = "mockbroker/state/configs/effects.py"
    for kind in (TOPIC, GROUP, BROKER):
        for name in sorted(read & set(names(kind)) - with_effect(kind) - OF_A_BROKER - OF_LISTENERS - OF_CLIENTS):
            yield f"{effects}: says that the {kind} config {name} has no effect, but a module of mockbroker reads it"
    for kind in (TOPIC, GROUP):
        for name in sorted(with_effect(kind) - named - THROTTLED):
            yield f"{effects}: says that the {kind} config {name} has an effect, but no module of mockbroker reads it"


def type_checkers_see_the_lazy_names(project: Project) -> Iterator[str]:
    import kafka_rack

    path = "kafka_rack/__init__.py"
    shown = {
        f"{node.module}.{alias.asname}"
        for each in project.tree(path).body
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"
        for node in each.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {f"{module}.{name}" for name, module in kafka_rack.NAMES.items()}
    yield from set_differences(f"{path}, TYPE_CHECKING", shown, lazy, "NAMES")


def the_dashboard_obeys_its_policy(project: Project) -> Iterator[str]:
    """Allows no inline code and no HTML from text; modules import files and ask for elements that exist."""
    page = f"{DASHBOARD}/index.html"
    ids = re.findall(r'\bid="([\w-]+)"', project.text(page))
    for name in sorted({name for name in ids if ids.count(name) > 1}):
        yield f"{page}: has id {name!r} more than once"
    for found in re.findall(FORBIDDEN_IN_PAGE, project.text(page)):
        yield f"{page}: has {found.strip()!r}, which its content security policy forbids; move it into a file"
    served = {path.rpartition("/")[2] for path in project.files(DASHBOARD, suffixes=(".js", ".css", ".html", ".svg"))}
    for path in project.files(DASHBOARD, suffixes=(".js",)):
        text = project.text(path)
        for found in re.findall(MAKERS_OF_HTML, text):
            yield f"{path}: has {found}, which makes HTML or code of text; set textContent"
        for names in re.findall(r'from "\./(.*?)"|URL\("([\w.]+)"', text):
            if (name := "".join(names)) not in {*served, "names.json"}:
                yield f"{path}: imports {name}, which is not in {DASHBOARD}"
        for name in re.findall(r'byId\("([\w-]+)"\)', text):
            if name not in ids:
                yield f"{path}: asks for the element {name!r}, which {page} lacks"


CHECKS: tuple[Check, ...] = (
    modules_have_one_subject,
    public_classes_have_names_of_their_own,
    tests_set_a_timeout_for_httpx,
    each_test_asserts_something,
    no_text_installs_from_an_index,
    configs_are_read_where_they_have_an_effect,
    type_checkers_see_the_lazy_names,
    the_dashboard_obeys_its_policy,
)
