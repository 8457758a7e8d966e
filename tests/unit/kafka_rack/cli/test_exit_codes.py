"""What every subcommand ends with, and what is said of words that are nearly right."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import pytest

from kafka_rack.cli import InterruptedWork, main, module_name
from kafka_rack.cli.commands.completion import whole_parser
from kafka_rack.cli.parser import arguments_of, parsers_below

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

    monkeypatch.setattr(import_module(module_name("messages")), "run", interrupted)
    assert main(["messages"]) == 130
    assert capsys.readouterr().err == f"kafka-rack messages: {said}\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["certfy"], "kafka-rack: there is no command 'certfy'; did you mean certify? (see kafka-rack --help)\n"),
        (["xyzzy"], "kafka-rack: there is no command 'xyzzy' (see kafka-rack --help)\n"),
        (["pipeline", "decod"], "kafka-rack pipeline: argument JOB: expected decode, "),
        (["ctl", "sttus"], "kafka-rack ctl: argument COMMAND: 'sttus' is none of its "),
        (["ctl", "sttus"], "; did you mean status? (see"),
        (["audit", "--layuot", "x"], "unrecognized arguments: --layuot x; did you mean --layout? (see"),
        (
            ["ctl", "requests", "--folow"],
            "kafka-rack ctl requests: unrecognized arguments: --folow; did you mean --follow?",
        ),
        (["ctl", "requests", "--xyzzy"], "kafka-rack ctl requests: unrecognized arguments: --xyzzy (see"),
        (["messages", "--format", "jsn"], "argument --format: expected table or json, got 'jsn'; did you mean json?"),
    ],
)
def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(given, said, capsys):
    try:
        code = main(given)
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr().err
    assert code == 2
    assert said in told
    assert told.count("\n") == 1


ALL_PARSERS = {parser.prog: parser for parser in parsers_below(whole_parser()) if parser.prog != "kafka-rack"}
COMMAND_PARSERS = [prog for prog in ALL_PARSERS if prog.count(" ") == 1]
CAPTURE = "fixtures/captures/aiokafka.jsonl.gz"
PLACE = "place --brokers 3 --partitions 3 --replication-factor 3"
MISSING = [
    "serve --server-properties no.such",
    "serve --port 0 --faults no.such",
    "serve --port 0 --client-racks no.such",
    "proxy --bootstrap-server localhost:1 --command-config no.such",
    "proxy --bootstrap-server localhost:1 --faults no.such",
    "ctl --token-file no.such status",
    "ctl faults add no.such",
    "certify --prices no.such -- true",
    "certify --command-config no.such -- true",
    "check no.such",
    "what-if no.such --diskless",
    f"what-if {CAPTURE} --diskless --prices no.such",
    "locality no.such",
    f"locality {CAPTURE} --prices no.such",
    f"locality {CAPTURE} --client-racks no.such",
    "place --brokers-file no.such --partitions 3 --replication-factor 3",
    f"{PLACE} --placer capacity --state-file no.such",
    "reassign --repair --layout no.such",
    "reassign --execute --bootstrap-server localhost:1 --reassignment-json-file no.such",
    "assign no.such",
    "decode --message MetadataRequest no.such",
    "encode --message MetadataRequest no.such",
    "inspect --bootstrap-server localhost:1 --command-config no.such",
    "audit --layout no.such",
    "topics --list --bootstrap-server localhost:1 --command-config no.such",
    "pipeline decode no.such --out tables",
    "pipeline locality no.such --out tables",
    "pipeline audit no.such --out tables",
    "pipeline availability --grid no.such --out tables",
    "pipeline fuzz --replay no.such",
]
"""Each names a file that is not there."""
EMPTY = [
    ("check FILE", 1),
    ("what-if FILE --diskless", 1),
    ("locality FILE", 1),
    ("place --brokers-file FILE --partitions 3 --replication-factor 3", 2),
    ("reassign --repair --layout FILE", 2),
    ("assign FILE", 2),
    ("decode --message MetadataRequest FILE", 1),
    ("encode --message MetadataRequest FILE", 1),
    ("audit --layout FILE", 2),
    ("pipeline fuzz --replay FILE", 2),
    ("pipeline availability --grid FILE --out tables", 2),
]
"""Each is given a file of no bytes."""


def outcome(words):
    """The exit code of a command line."""
    try:
        return main(words)
    except SystemExit as ended:  # argparse's way
        return ended.code


@pytest.mark.parametrize("prog", COMMAND_PARSERS)
def test_every_command_refuses_an_option_that_there_is_not(prog, capsys):
    assert outcome([*prog.split()[1:], "--no-such-option"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith(prog)


@pytest.mark.parametrize("prog", COMMAND_PARSERS)
def test_every_help_says_what_the_exit_codes_are(prog, capsys):
    assert outcome([*prog.split()[1:], "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Exit codes: 0 " in said
    assert "2 wrong usage" in said


def test_every_help_says_what_each_argument_is_and_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for prog, parser in ALL_PARSERS.items():
        for action in arguments_of(parser):
            assert action.help or isinstance(action, argparse._SubParsersAction), (prog, action.dest)
        below = parser.format_help().partition("options:\n")[2].partition("\ndocs/ is\n")[0]
        assert [line for line in below.splitlines() if len(line) > 80 and " " in line.strip()] == [], prog


@pytest.mark.parametrize("line", MISSING)
def test_a_file_that_is_not_there_is_wrong_usage_and_named(line, capsys, monkeypatch, tmp_path):
    capture = str(Path(CAPTURE).resolve())
    monkeypatch.chdir(tmp_path)
    assert outcome(line.replace(CAPTURE, capture).split()) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert "no.such" in told.err


@pytest.mark.parametrize(("line", "code"), EMPTY)
def test_an_empty_file_fails_in_one_line(line, code, capsys, monkeypatch, tmp_path):
    (tmp_path / "empty").touch()
    monkeypatch.chdir(tmp_path)
    assert outcome(line.replace("FILE", "empty").split()) == code
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith("kafka-rack ")
