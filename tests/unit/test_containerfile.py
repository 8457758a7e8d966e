"""The Containerfile, as far as it can be checked without building it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from kafka_rack.cli import Parser
from kafka_rack.cli.commands import serve as serve_command
from kafka_rack.cli.options import environment
from mockbroker.adapters.control import app  # noqa: F401 - declares the operations
from mockbroker.adapters.control.operations import operation

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
INSTRUCTIONS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n\s*", "", TEXT).splitlines()
    if line and not line.startswith("#")
]
VARIABLES = dict(
    word.split("=", 1) for name, rest in INSTRUCTIONS if name == "ENV" for word in shlex.split(rest) if "=" in word
)


def given(name: str) -> list[str]:
    return [rest for found, rest in INSTRUCTIONS if found == name]


def test_what_is_copied_is_there_and_not_ignored():
    kept = {line[1:] for line in (ROOT / ".containerignore").read_text().splitlines() if line.startswith("!")}
    sources = [word for rest in given("COPY") if "--from" not in rest for word in rest.split()[:-1]]
    assert "pyproject.toml" in sources
    for source in sources:
        assert (ROOT / source).exists(), source
    assert set(sources) == kept


def test_it_has_two_stages_and_what_runs_is_not_root():
    assert len(given("FROM")) == 2
    (user,) = given("USER")
    assert int(user.split(":")[0]) > 0
    names = [name for name, _ in INSTRUCTIONS]
    assert names.index("USER") > max(at for at, name in enumerate(names) if name == "FROM")


def test_its_command_and_its_variables_are_options_of_serve():
    entry, command = (json.loads(given(name)[0]) for name in ("ENTRYPOINT", "CMD"))
    assert (entry, command[0]) == (["kafka-rack"], "serve")
    parser = Parser()
    serve_command.add_arguments(parser)
    arguments = parser.parse_args(command[1:])
    environment.fill_in(arguments, VARIABLES)
    assert (arguments.host, arguments.control_host) == ("0.0.0.0", "0.0.0.0")
    brokers = [str(arguments.port + broker) for broker in range(3)]
    assert given("EXPOSE")[0].split() == [*brokers, str(arguments.control_port)]
    assert VARIABLES["KAFKA_RACK_CONTROL"] == f"http://127.0.0.1:{arguments.control_port}"


def test_every_variable_is_explained():
    explained = set(re.findall(r"^#   (KAFKA_RACK_\w+)  ", TEXT, re.MULTILINE))
    assert explained == {name for name in VARIABLES if name.startswith("KAFKA_RACK_")}


def test_its_health_is_asked_of_an_operation_that_there_is():
    (check,) = given("HEALTHCHECK")
    url = re.search(r"urlopen\('http://127.0.0.1:(\d+)(/\w+)'\)", check)
    assert url is not None
    assert url[1] == VARIABLES["KAFKA_RACK_CONTROL_PORT"]
    assert ("GET", url[2]) in operation.table
    compile(json.loads(check[check.index("[") :])[2], "HEALTHCHECK", "exec")
