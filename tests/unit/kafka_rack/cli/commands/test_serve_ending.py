"""The signals that end a program."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.progress import end_of

PROGRAM = """
import threading
from kafka_rack.cli.serving.ending_signals import end_on_signals
end_on_signals(lambda: print("first", flush=True), lambda: print("cleaned up", flush=True))
print("ready", flush=True)
while True:
    threading.Event().wait(60)
"""


def test_the_first_signal_ends_a_program_in_good_order_and_the_second_where_it_stands() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "first\n"
        process.send_signal(signal.SIGTERM)
        assert end_of(process, "the end after the second signal")[0] == "cleaned up\n"
        assert process.returncode == 128 + signal.SIGTERM
