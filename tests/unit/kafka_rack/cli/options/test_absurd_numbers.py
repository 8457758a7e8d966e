"""Numbers far beyond any cluster, and words where numbers are due: one line each, before any memory is taken."""

from __future__ import annotations

import io
import re

import pytest

from kafka_rack.cli import main
from kafka_rack.cli.options.whole_numbers import MAX_ID, NumberError, read_number
from kafka_rack.errors import InvalidPartitionsError, PlacerSettingsError
from kafka_rack.placement import UsableBroker, load_placer, place, place_checked

PLACE = {"--brokers": "6", "--partitions": "4", "--replication-factor": "2"}
AVAILABILITY = {**PLACE, "--failures": "1"}
CREATE = {
    "--bootstrap-server": "127.0.0.1:1",  # nobody listens: what is refused is refused before
    "--topic": "orders",
    "--partitions": "4",
    "--replication-factor": "2",
}
COMMANDS = {
    "place": (
        [],
        PLACE,
        [
            *("--brokers", "--partitions", "--replication-factor", "--start-partition", "--start-index"),
            *("--next-replica-shift", "--seed", "--scatter-width"),
        ],
    ),
    "availability": (
        [],
        AVAILABILITY,
        [
            *(
                "--brokers",
                "--rack-count",
                "--partitions",
                "--replication-factor",
                "--min-insync-replicas",
                "--failures",
            ),
            *("--rack-failures", "--scatter-width", "--trials", "--seed"),
        ],
    ),
    "topics": (
        ["--create"],
        CREATE,
        ["--partitions", "--replication-factor", "--start-index", "--next-replica-shift", "--seed", "--timeout"],
    ),
    "assign": (
        [],
        {"--brokers": "3", "--topic": "orders:4:1", "--consumers": "2"},
        ["--brokers", "--consumers", "--topic", "--timeout"],
    ),
    "reassign": (["--repair"], {"--bootstrap-server": "127.0.0.1:1"}, ["--timeout"]),
    "audit": ([], {"--bootstrap-server": "127.0.0.1:1"}, ["--min-insync-replicas", "--skew", "--timeout"]),
}
BEYOND = [str(10**22), "9" * 5000, f"-{10**22}", "-" + "9" * 5000]
NO_NUMBERS = ["many", "1.5", "0x10", "", "1,,2", "\N{SUPERSCRIPT TWO}", "1\n2"]


def run(capsys, command, *arguments):
    """Exit code, standard output, standard error."""
    try:
        code = main([command, *arguments])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    return code, said.out, said.err


def with_value(command, option, value):
    """A command that works but for one option."""
    flags, options, _ = COMMANDS[command]
    return [command, *flags, *(f"{name}={text}" for name, text in {**options, option: value}.items())]


@pytest.mark.parametrize("value", [*BEYOND, *NO_NUMBERS])
def test_what_is_no_number_or_beyond_all_limits_is_refused_in_one_short_line(value):
    with pytest.raises(NumberError) as error:
        read_number(value, MAX_ID)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 100


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_of_a_number_refuses_one_beyond_all_limits_and_names_itself(capsys, command):
    for option in COMMANDS[command][2]:
        if (command, option) == ("assign", "--timeout"):
            continue  # nothing is asked, so nothing is waited for
        value = "-" + "9" * 5000 if option == "--skew" else "9" * 5000  # a factor may be any
        value = f"orders:{value}" if option == "--topic" else value
        code, out, err = run(capsys, *with_value(command, option, value))
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert option in err
        assert len(err) < 250


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_of_a_number_refuses_what_is_none(capsys, command):
    for option in COMMANDS[command][2]:
        for value in ("1,,2", ""):
            code, out, err = run(capsys, *with_value(command, option, value))
            assert (code, out) == (2, ""), option
            assert err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_zero_minus_one_and_a_thousand_million_end_at_once_with_an_answer_or_one_line(capsys, command):
    for option in COMMANDS[command][2]:
        for value in ("0", "-1", "1000000000"):
            code, _, err = run(capsys, *with_value(command, option, value))
            assert code in (0, 1, 2), option
            assert "Traceback" not in err
            assert code == 0 or err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "option", "value", "limit"),
    [
        ("place", "--partitions", "5000001", "10000000"),  # with two replicas each
        ("availability", "--partitions", "5000001", "10000000"),
        ("topics", "--partitions", "5000001", "10000000"),
        ("assign", "--topic", "orders:10000001:1", "10000000"),
        ("place", "--brokers", "100001", "100000"),
        ("availability", "--brokers", "6,100001", "100000"),
        ("availability", "--trials", "100000001", "100000000"),
        ("assign", "--consumers", "100001", "100000"),
        ("topics", "--timeout", "86401", "86400"),
    ],
)
def test_the_limits_are_said_where_they_are_passed_and_in_the_help(capsys, command, option, value, limit):
    code, _, err = run(capsys, *with_value(command, option, value))
    assert code == 2
    assert limit in err
    _, out, _ = run(capsys, command, "--help")
    said = "a day" if option == "--timeout" else limit
    assert said in re.sub(r"\s+", " ", out)


@pytest.mark.parametrize(("brokers", "failures"), [("1998", "300"), ("1200", "1199")])
def test_outages_of_more_combinations_than_can_be_counted_are_tried_out(capsys, brokers, failures):
    sizes = (f"--brokers={brokers}", "--partitions=30", "--replication-factor=3", f"--failures={failures}")
    code, out, err = run(capsys, "availability", *sizes, "--placer=random,broker-replica", "--trials=100")
    assert (code, err) == (0, "")
    assert "monte-carlo" in out


@pytest.mark.parametrize(
    "given",
    [
        ("--brokers=100000", "--rack-count=3", "--partitions=1000000", "--failures=300"),
        ("--brokers=99", "--partitions=100", "--failures=5", "--trials=100000000"),
        ("--brokers=100000", "--rack-count=1000", "--partitions=100", "--failures=1", "--rack-failures=500"),
    ],
)
def test_outages_that_would_take_hours_are_refused_at_once_with_what_to_ask_less_of(capsys, given):
    code, out, err = run(capsys, "availability", "--replication-factor=3", *given)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.endswith(
        "times the two minutes that a row may take: fewer --brokers, --partitions, --failures or --trials are due\n"
    )


@pytest.mark.parametrize("text", ["0:a,99999999999:b", f"0:a,{'9' * 5000}:b", "0:a,-1:b"])
def test_broker_ids_of_a_list_go_up_to_what_the_wire_takes(capsys, text):
    code, _, err = run(capsys, *with_value("place", "--brokers", text))
    assert code == 2
    assert "ids up to 2147483647" in err
    assert len(err) < 250


def test_broker_ids_by_hand_go_up_to_what_the_wire_takes(capsys):
    options = ["--bootstrap-server", "127.0.0.1:1", "--topic", "x"]
    code, _, err = run(capsys, "topics", "--create", *options, "--replica-assignment", f"0:1,0:{2**31}")
    assert (code, err.count("\n")) == (2, 1)
    assert "partition 1: 2147483648, but at most 2147483647" in err


@pytest.mark.parametrize("command", [["place", "--partitions=1", "--replication-factor=1"], ["assign"], ["audit"]])
def test_a_file_with_a_number_of_five_thousand_digits_is_named_in_one_line(capsys, tmp_path, command):
    file = tmp_path / "given.json"
    file.write_text('[{"id": ' + "9" * 5000 + "}]")
    option = {"place": ["--brokers-file", str(file)], "assign": [str(file)], "audit": ["--layout", str(file)]}
    code, out, err = run(capsys, *command, *option[command[0]])
    assert (code, out) == (2, "")
    assert err == f"kafka-rack {command[0]}: {file}: holds a number of more digits than can be read\n"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
def test_standard_input_of_that_kind_is_one_line_too(capsys, monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    code, out, err = run(capsys, "assign", "-")
    assert (code, out) == (2, "")
    assert err.startswith("kafka-rack assign: standard input: ")
    assert err.count("\n") == 1


def test_the_port_of_an_address_may_have_any_number_of_digits_and_is_refused(capsys):
    code, _, err = run(capsys, "inspect", "--bootstrap-server", "localhost:" + "9" * 5000)
    assert code == 2
    assert "expected host:port" in err


@pytest.mark.parametrize("partitions", [10**7, 10**22, 10**5000], ids=["7", "22", "5000"])
def test_the_functions_refuse_what_would_take_all_memory(partitions):
    brokers = [UsableBroker(number) for number in range(3)]
    with pytest.raises(InvalidPartitionsError, match="at most 10000000 replicas"):
        place("rack-aware", brokers, 0, partitions, 3)
    with pytest.raises(InvalidPartitionsError, match="at most 10000000 replicas"):
        place_checked(load_placer({}), 0, partitions, 3, brokers)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("replica.placer.start.index", str(2**31)),
        ("replica.placer.next.replica.shift", "9" * 5000),
        ("replica.placer.seed", str(2**63)),
    ],
)
def test_settings_of_placers_take_no_more_than_javas_numbers(name, value):
    with pytest.raises(PlacerSettingsError, match=name) as error:
        load_placer({name: value})
    assert len(str(error.value)) < 200
