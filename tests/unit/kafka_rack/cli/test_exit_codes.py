"""Exit codes of every command, and errors about words that are nearly right."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from kafka_rack.cli import InterruptedWork, main
from kafka_rack.cli.commands.messages import messages
from tests.cli_tree import commands

SICK = '{"brokers": [[0, "a"], [1, "a"], [2, "b"]], "topics": {"orders": [[0, 1]]}}'
FINE = '{"brokers": [[0, "a"], [1, "b"], [2, "c"]], "topics": {"orders": [[0, 1, 2], [1, 2, 0], [2, 0, 1]]}}'


@pytest.mark.parametrize(("layout", "code"), [(FINE, 0), (SICK, 3), ("{", 2)])
def test_findings_are_told_apart_from_wrong_usage(tmp_path, layout, code):
    (tmp_path / "cluster.json").write_text(layout)
    assert main(["audit", "--layout", str(tmp_path / "cluster.json")]) == code


@pytest.mark.parametrize(("raised", "said"), [(KeyboardInterrupt(), "interrupted"), (InterruptedWork("half"), "half")])
def test_what_is_interrupted_ends_with_130(monkeypatch, capsys, raised, said):
    def interrupted(arguments):
        raise raised

    monkeypatch.setattr(messages, "callback", interrupted)
    assert main(["messages"]) == 130
    assert capsys.readouterr().err == f"kafka-rack messages: {said}\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["certfy"], "kafka-rack: there is no command 'certfy'; did you mean certify? (see kafka-rack --help)\n"),
        (["xyzzy"], "kafka-rack: there is no command 'xyzzy' (see kafka-rack --help)\n"),
        (["pipeline", "decod"], "kafka-rack pipeline: there is no command 'decod'; did you mean decode?"),
        (["ctl", "sttus"], "kafka-rack ctl: there is no command 'sttus'; did you mean status? (see"),
        (["audit", "--layuot", "x"], "kafka-rack audit: no such option --layuot; did you mean --layout? (see"),
        (["ctl", "requests", "--folow"], "kafka-rack ctl requests: no such option --folow; did you mean --follow?"),
        (["ctl", "requests", "--xyzzy"], "kafka-rack ctl requests: no such option --xyzzy (see"),
        (["messages", "--format", "jsn"], "--format: 'jsn' is not one of 'table', 'json' (see"),
    ],
)
def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(given, said, capsys):
    assert main(given) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


COMMANDS = [path for path, command in commands() if not isinstance(command, click.Group)]
CAPTURE = "fixtures/captures/aiokafka.jsonl.gz"
PLACE = "place --brokers 3 --partitions 3 --replication-factor 3"
MISSING = [
    "serve --server-properties no.such",
    "serve --port 0 --faults no.such",
    "serve --port 0 --client-racks no.such",
    "proxy --bootstrap-server localhost:1 --command-config no.such",
    "proxy --bootstrap-server localhost:1 --faults no.such",
    "ctl status --token-file no.such",
    "ctl faults add --file no.such",
    "certify --prices no.such -- true",
    "certify --command-config no.such -- true",
    "check no.such",
    "what-if no.such --diskless *",
    f"what-if {CAPTURE} --diskless * --prices no.such",
    "locality no.such",
    f"locality {CAPTURE} --prices no.such",
    f"locality {CAPTURE} --client-racks no.such",
    f"{PLACE} --placer capacity --set replica.placer.state.file=no.such",
    "reassign repair --layout no.such",
    "assign no.such",
    "decode --message MetadataRequest no.such",
    "encode --message MetadataRequest no.such",
    "inspect --bootstrap-server localhost:1 --command-config no.such",
    "audit --layout no.such",
    "topics describe --bootstrap-server localhost:1 --command-config no.such",
    "pipeline decode no.such --out tables",
    "pipeline locality no.such --out tables",
    "pipeline audit no.such --out tables",
    "pipeline availability --grid no.such --out tables",
    "pipeline fuzz --replay no.such",
]
"""Each names a file that is not there."""
EMPTY = [
    ("check FILE", 1),
    ("what-if FILE --diskless *", 1),
    ("locality FILE", 1),
    ("reassign repair --layout FILE", 2),
    ("assign FILE", 2),
    ("decode --message MetadataRequest FILE", 1),
    ("encode --message MetadataRequest FILE", 2),
    ("audit --layout FILE", 2),
    ("pipeline fuzz --replay FILE", 2),
    ("pipeline availability --grid FILE --out tables", 2),
]
"""Each is given a file of no bytes."""


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_refuses_an_unknown_option_and_its_help_has_the_exit_codes(path, capsys):
    words = path.split()[1:]
    assert main([*words, "--no-such-option"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith(f"{path}: ")
    assert main([*words, "--help"]) == 0
    assert "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 findings, 130 interrupted." in capsys.readouterr().out


@pytest.mark.parametrize("line", MISSING)
def test_a_file_that_is_not_there_is_wrong_usage_and_named(line, capsys, monkeypatch, tmp_path):
    capture = str(Path(CAPTURE).resolve())
    monkeypatch.chdir(tmp_path)
    assert main(line.replace(CAPTURE, capture).split()) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert "no.such" in told.err


@pytest.mark.parametrize(("line", "code"), EMPTY)
def test_an_empty_file_fails_in_one_line(line, code, capsys, monkeypatch, tmp_path):
    (tmp_path / "empty").touch()
    monkeypatch.chdir(tmp_path)
    assert main(line.replace("FILE", "empty").split()) == code
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith("kafka-rack ")
