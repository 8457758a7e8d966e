"""What every subcommand ends with, and what is said of words that are nearly right."""

from __future__ import annotations

from importlib import import_module

import pytest

from kafka_rack.cli import COMMANDS, InterruptedWork, main, module_name

SICK = '{"brokers": [[0, "a"], [1, "a"], [2, "b"]], "topics": {"orders": [[0, 1]]}}'
FINE = '{"brokers": [[0, "a"], [1, "b"], [2, "c"]], "topics": {"orders": [[0, 1, 2], [1, 2, 0], [2, 0, 1]]}}'


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_says_what_the_exit_codes_are(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0
    assert "Exit codes: 0 " in said
    assert "2 wrong usage" in said


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
