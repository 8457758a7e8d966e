"""Log lines never hold up who logs, are one a cause, and cannot be forged."""

from __future__ import annotations

import logging
import os

import pytest

from mockbroker.adapters.log_output import LogOutput

NEVER_S = 1e6


class Pipe:
    """A pipe, its writing end as a log's output."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()

    def read_all(self) -> str:
        os.close(self.writing)
        with os.fdopen(self.reading, "rb") as file:
            return file.read().decode()


@pytest.fixture
def pipe() -> Pipe:
    return Pipe()


def logger_to(output: LogOutput) -> logging.Logger:
    logger = logging.Logger("test")  # noqa: LOG001 - nobody else is to log there
    logger.addHandler(output)
    return logger


def test_a_line_is_written(pipe):
    output = LogOutput(pipe.writing)
    logger_to(output).warning("broker %d closes", 1)
    output.close()
    assert pipe.read_all() == "broker 1 closes\n"


def test_a_pipe_that_nobody_drains_holds_nobody_up_and_what_did_not_fit_is_told_afterwards(pipe):
    output = LogOutput(pipe.writing, count_s=NEVER_S)
    logger = logger_to(output)
    number = 300
    for one in range(number):
        text = f"cause {one} {'x' * 1000}"
        logger.warning(text)
    read = os.read(pipe.reading, 1 << 20)
    logger.warning("the next")
    output.close()
    *lines, told, after = (read + pipe.read_all().encode()).decode().splitlines()
    numbers = [int(line.split()[1]) for line in lines]
    assert numbers == list(range(len(lines)))
    assert 0 < len(lines) < number
    assert told == f"{number - len(lines)} log lines were left out: the lines before were not read in time"
    assert after == "the next"


def test_of_one_cause_there_is_one_line_and_then_a_count(pipe):
    output = LogOutput(pipe.writing, count_s=NEVER_S)
    logger = logger_to(output)
    for port in range(700):
        logger.warning("closes the connection of %s", port)
    logger.error("something else")
    output.close()
    assert pipe.read_all().splitlines() == [
        "closes the connection of 0",
        "something else",
        "699 times more: closes the connection of ...",
    ]


def test_the_count_comes_again_and_again_and_a_cause_that_was_quiet_shows_anew(pipe):
    output = LogOutput(pipe.writing, count_s=NEVER_S)
    logger = logger_to(output)
    for lines in (3, 2, 0, 1):
        for _ in range(lines):
            logger.warning("again")
        output.write_counts()
    output.close()
    assert pipe.read_all().splitlines() == ["again", "2 times more: again", "2 times more: again", "again"]


def test_what_came_over_the_wire_forges_no_line(pipe):
    output = LogOutput(pipe.writing)
    logger = logger_to(output)
    logger.warning("client %s", "x\nbroker 1 is down\x1b[2J\u202e")
    try:
        raise ValueError("y\nbroker 2 is down\x1b[2J")
    except ValueError:
        logger.exception("failed")
    output.close()
    lines = pipe.read_all().splitlines()
    assert lines[0] == r"client x\x0abroker 1 is down\x1b[2J\u202e"
    assert lines[1] == "failed"
    assert all(line.startswith("    ") and "\x1b" not in line for line in lines[2:])


def test_a_reader_that_has_gone_is_no_error(pipe, capfd):
    os.close(pipe.reading)
    output = LogOutput(pipe.writing)
    logger = logger_to(output)
    logger.warning("one")
    logger.warning("two")
    output.close()
    os.close(pipe.writing)
    assert capfd.readouterr().err == ""
