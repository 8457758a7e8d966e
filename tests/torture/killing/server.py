"""Clusters in a process of their own that is killed and started again on the same ports: ours, and Kafka's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.interop.fetched import java_program
from tests.interop.java_brokers import LIGHT, PROPERTIES, SOURCES, broker_jars
from tests.ports import free_ports
from tests.serve_process import ROOT

RACKS = "abc"
SINGLE_NODE = {
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


class KilledServer:
    """``kafka-rack serve --data-dir``: a cluster of so many brokers, each in a rack of its own.

    ``data`` is where it keeps what it has; ``said`` is what the process wrote to standard error, of all its lives.

    Args:
        advertised: the port that clients are sent to, where it is another one's.
    """

    def __init__(
        self, folder: Path, options: Sequence[str] = (), brokers: int = 3, advertised: int | None = None
    ) -> None:
        self.data, self.errors = folder / "data", folder / "errors.txt"
        self.options = list(options)
        self.ports = free_ports(brokers)
        self.process: subprocess.Popen[bytes] | None = None
        self._files = []
        for node, (port, rack) in enumerate(zip(self.ports, RACKS[:brokers], strict=True)):
            file = folder / f"{node}.properties"
            text = f"node.id={node}\nbroker.rack={rack}\nlisteners=PLAINTEXT://127.0.0.1:{port}\n"
            if advertised is not None:
                text += f"advertised.listeners=PLAINTEXT://127.0.0.1:{advertised}\n"
            file.write_text(text)
            self._files += ["--server-properties", str(file)]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    @property
    def said(self) -> str:
        return self.errors.read_text(errors="replace") if self.errors.exists() else ""

    def start(self) -> None:
        """Gives once every broker accepts. Raises AssertionError: it ended instead; its last words are in the text."""
        reading, writing = os.pipe()
        command = [
            sys.executable,
            "-m",
            "kafka_rack.cli",
            "serve",
            "--quiet",
            "--no-control",
            "--ready-fd",
            str(writing),
        ]
        command += ["--data-dir", str(self.data), *self._files, *self.options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, pass_fds=[writing], stdin=subprocess.DEVNULL, stderr=errors, env=environment
            )
        os.close(writing)
        with os.fdopen(reading) as ready:
            line = ready.readline()
        assert line, f"the server did not start: {self.said[-3000:]}"
        assert json.loads(line)["bootstrap_servers"]

    def kill(self) -> None:
        """End it as a machine without power does, as far as a process can be."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """End it in order; gives its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None


class KilledKafka(KilledServer):
    """A real Kafka of one node, which is broker and controller.

    Raises: ToolMissingError: Java, Maven or the jars are not there.
    """

    def __init__(self, folder: Path, advertised: int | None = None) -> None:
        self.data, self.errors = folder / "data-0", folder / "errors.txt"
        self.process = None
        controller_port, port = free_ports(2)
        self.ports = [port]
        text = PROPERTIES.format(
            roles="broker,controller",
            node=0,
            rack=RACKS[0],
            controller_port=controller_port,
            listeners=f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            advertised=f"PLAINTEXT://127.0.0.1:{port if advertised is None else advertised}",
            protocols="",
            folder=folder,
        )
        file = folder / "0.properties"
        file.write_text(text + "".join(f"{name}={value}\n" for name, value in SINGLE_NODE.items()))
        program = java_program(SOURCES / "broker" / "Brokers.java", broker_jars())
        self._command = ["java", *LIGHT, *program, str(file)]

    def start(self) -> None:
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        assert self.process.stdout is not None
        ready = any(line.strip() == b"READY" for line in self.process.stdout)
        assert ready, f"Kafka did not start: {self.said[-3000:]}"

    def kill(self) -> None:
        super().kill()
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
