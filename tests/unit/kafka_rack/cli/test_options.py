"""Each option means the same in every command: what all parsers say of it, and how its type reads a text."""

from __future__ import annotations

from collections import defaultdict

import click
import pytest

from kafka_rack.cli import main
from kafka_rack.cli.command import Command, top
from kafka_rack.cli.options.brokers import BrokerRacks, Brokers
from kafka_rack.cli.options.types import Duration, Listed, Number, Numbers, OneName, Pair, Size, WholeNumber, Words
from kafka_rack.placement import UsableBroker
from tests.cli_tree import commands, options_of

ALL = dict(commands())
LEAVES = {path: command for path, command in ALL.items() if not isinstance(command, click.Group)}


def metavar_of(option: click.Option, command: click.Command) -> str:
    """What help shows for the value. ``place`` has one more format than the others."""
    shown = "" if option.is_flag else option.make_metavar(click.Context(command))
    return shown.replace("table|json|reassignment", "table|json")


def test_an_option_of_one_name_has_one_metavar_and_one_type_in_every_command():
    found = defaultdict(lambda: defaultdict(list))
    for path, command in LEAVES.items():
        for option in options_of(command):
            name = max(option.opts, key=len)
            kind = Words if isinstance(option.type, Words) else type(option.type)
            found[name][metavar_of(option, command), kind].append(path)
    assert {name: dict(kinds) for name, kinds in found.items() if len(kinds) > 1} == {}


def test_each_help_is_a_sentence_that_begins_with_a_capital_and_ends_with_a_full_stop():
    texts = {path: command.help or "" for path, command in ALL.items()}
    texts |= {f"{path} {one.opts[-1]}": one.help or "" for path, command in ALL.items() for one in options_of(command)}
    wrong = {
        where: text
        for where, text in texts.items()
        if not text
        or not (text[0].isupper() or text.startswith(("min.", "inter.")))
        or ("\n\n" not in text and text[-1] != ".")
    }
    assert wrong == {}


def test_the_help_of_kafka_rack_fits_a_screen_and_names_every_command(capsys):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 24 <= len(lines) <= 40
    heads = [line for line in lines if line in ("Run:", "Test:", "Measure:", "Plan:", "Bytes:")]
    assert heads == ["Run:", "Test:", "Measure:", "Plan:", "Bytes:"]
    names = top.list_commands(click.Context(top))
    assert [name for name in names if not any(line.startswith(f"  {name} ") for line in lines)] == []


def test_each_option_is_declared_by_the_projects_own_class():
    others = [
        f"{path} {one.opts[-1]}"
        for path, command in LEAVES.items()
        if isinstance(command, Command)
        for one in options_of(command)
        if not hasattr(one, "section")
    ]
    assert others == []


BEYOND = ["9" * 5000, "-" + "9" * 5000]
NO_NUMBERS = ["many", "1.5", "0x10", "", "1,,2", "\N{SUPERSCRIPT TWO}", "1\n2"]


@pytest.mark.parametrize("kind", [WholeNumber(0, 100), Numbers(most=100)])
@pytest.mark.parametrize("text", [*BEYOND, *NO_NUMBERS, "101", "-1"])
def test_a_text_that_is_no_number_in_the_range_is_refused_in_one_short_line(kind, text):
    with pytest.raises(click.BadParameter) as error:
        kind.convert(text, None, None)
    assert "\n" not in error.value.message
    assert len(error.value.message) < 120


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (WholeNumber(), " 12 ", 12),
        (Number(), "1.5", 1.5),
        (Size(), "512MiB", 512 << 20),
        (Size(), "1.5 GB", 1_500_000_000),
        (Duration(), "200ms", 200),
        (Duration(), "5m", 300_000),
        (Listed("a,b,c"), "a,,c", ["a", None, "c"]),
        (Numbers(), "1,2", [1, 2]),
        (Pair(), "num.partitions = 6=7", ("num.partitions", "6=7")),
        (OneName("API", lambda: ["Fetch"]), "fetch", "Fetch"),
        (Brokers(), "3", 3),
        (Brokers(), "0:a,1", [UsableBroker(0, "a"), UsableBroker(1, None)]),
        (BrokerRacks(), "0:a,1:", {0: "a", 1: None}),
    ],
)
def test_a_text_is_read_once_and_its_value_stays_what_it_is(kind, text, value):
    assert kind.convert(text, None, None) == value
    assert kind.convert(kind.convert(text, None, None), None, None) == value


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (Number(), "nan", "expected a number of 0 or more, got 'nan'"),
        (Size(), "much", "expected a size, such as 512MiB or 1.5GB, got 'much'"),
        (Duration(), "5 weeks", "expected a time, such as 200ms, 30s or 5m, got '5 weeks'"),
        (Pair(), "num.partitions", "expected KEY=VALUE, got 'num.partitions'"),
        (OneName("API", lambda: ["Fetch"]), "Fecth", "unknown api 'Fecth'; did you mean Fetch?"),
        (Brokers(), "0:a,-1:b", "ids up to 2147483647 with racks, such as 0:a,1:b, got '-1:b'"),
        (BrokerRacks(), "0:a,0:b", "expected each broker once, got '0:a,0:b'"),
    ],
)
def test_a_text_of_another_form_is_refused_with_what_was_expected(kind, text, said):
    with pytest.raises(click.BadParameter) as error:
        kind.convert(text, None, None)
    assert said in error.value.message


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_asks_the_command(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "_KAFKA_RACK_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("kafka-rack pl", ["place"]),
        ("kafka-rack serve --control-p", ["--control-port"]),
        ("kafka-rack ctl faults add --api Fet", ["Fetch", "FetchSnapshot"]),
        ("kafka-rack serve --fsync a", ["always"]),
    ],
)
def test_bash_completes_commands_options_and_values(words, offered, capsys, monkeypatch):
    monkeypatch.setenv("_KAFKA_RACK_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert main([]) == 0
    assert [line.partition(",")[2] for line in capsys.readouterr().out.splitlines()] == offered
