"""Containerfile, pyproject.toml and fixtures: what they name exists and agrees with the code."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from unittest.mock import patch

from tests.lint.project import Check, Project, set_differences

CONTAINERFILE = "Containerfile"


def instructions(text: str) -> list[tuple[str, str]]:
    """
    >>> instructions("# comment\\nENV A=1 \\\\\\n    B=2\\nUSER 5")
    [('ENV', 'A=1 B=2'), ('USER', '5')]
    """
    lines = (line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line and not line.startswith("#"))
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def the_containerfile_copies_what_the_wheel_needs(project: Project) -> Iterator[str]:
    copied = {
        word
        for name, rest in instructions(project.text(CONTAINERFILE))
        if name == "COPY" and "--from" not in rest
        for word in rest.split()[:-1]
    }
    pyproject = tomllib.loads(project.text("pyproject.toml"))
    wheel = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], pyproject["project"]["readme"], "pyproject.toml"}
    needed |= {*pyproject["project"]["license-files"], "constraints.txt"}
    yield from set_differences(f"{CONTAINERFILE}, COPY", copied, needed, "the wheel of pyproject.toml")
    let_in = {line[1:] for line in project.text(".containerignore").splitlines() if line.startswith("!")}
    yield from set_differences(".containerignore", let_in, copied, f"COPY of {CONTAINERFILE}")


def the_containerfile_starts_serve(project: Project) -> Iterator[str]:
    """As a user without privileges, with variables that are options, on the ports that it exposes and asks."""
    from kafka_rack.cli.command import PREFIX, Arguments
    from kafka_rack.cli.commands.serve import serve
    from kafka_rack.cli.options.control_token import CONTROL
    from mockbroker.adapters.control import app  # noqa: F401 - declares the operations
    from mockbroker.adapters.control.operations import operation

    text = project.text(CONTAINERFILE)
    last = dict(instructions(text))
    words = (word for name, rest in instructions(text) if name == "ENV" for word in shlex.split(rest))
    variables = dict(word.split("=", 1) for word in words if "=" in word)
    if last.get("USER", "0").split(":")[0] in {"0", "root"}:
        yield f"{CONTAINERFILE}: runs as root; end it with USER and another id"
    with patch.dict(os.environ, variables):
        arguments = Arguments(**serve.make_context("serve", json.loads(last["CMD"])[1:]).params)
    for name, host in (("HOST", arguments.host), ("CONTROL_HOST", arguments.control_host)):
        if host != "0.0.0.0":
            yield f"{CONTAINERFILE}: KAFKA_RACK_{name} is {host}, expected 0.0.0.0, so that others reach the container"
    ports = {str(port) for port in (*range(arguments.port, arguments.port + 3), arguments.control_port)}
    yield from set_differences(f"{CONTAINERFILE}, EXPOSE", last["EXPOSE"].split(), ports, "the options of serve")
    own_url = f"http://127.0.0.1:{arguments.control_port}"
    if variables[CONTROL] != own_url:
        yield f"{CONTAINERFILE}: {CONTROL} is {variables[CONTROL]}, expected {own_url}"
    asked = re.search(rf"urlopen\('{own_url}(/\w+)'\)", last["HEALTHCHECK"])
    if asked is None or ("GET", asked[1]) not in operation.table:
        yield f"{CONTAINERFILE}: HEALTHCHECK opens no operation of {own_url}"
    explained = re.findall(r"^#   (KAFKA_RACK_\w+)  ", text, re.MULTILINE)
    set_here = {name for name in variables if name.startswith(f"{PREFIX}_")}
    yield from set_differences(f"{CONTAINERFILE}, comment", explained, set_here, "its ENV")


def fixtures_have_their_origin(project: Project) -> Iterator[str]:
    """The README of each folder names its files, and counts the frames of captures."""
    from tests.fixture_data import capture_names, capture_summary

    for folder in sorted({path.parent for path in (project.root / "fixtures").rglob("*") if path.is_file()}):
        readme = f"{folder.relative_to(project.root).as_posix()}/README.md"
        if not project.exists(readme):
            yield f"{readme}: is missing; it says where the files of its folder come from"
            continue
        for stem in sorted({path.name.split(".")[0] for path in folder.iterdir() if path.is_file()}):
            if stem not in project.text(readme) and stem != "README":
                yield f"{readme}: lacks {stem}, and where it comes from"
    readme = "fixtures/captures/README.md"
    for name in capture_names():
        frames = capture_summary(name)["frames"]
        counts = f"| {frames['request']} + {frames['response']} |"
        if not re.search(rf"(?m)^\| {re.escape(name)} \|.*{re.escape(counts)}$", project.text(readme)):
            yield f"{readme}: lacks a row of {name} that ends in {counts}"


CHECKS: tuple[Check, ...] = (
    the_containerfile_copies_what_the_wheel_needs,
    the_containerfile_starts_serve,
    fixtures_have_their_origin,
)
