"""A real Kafka cluster whose nodes are a process each: brokers come, go, move and change their racks.

The controller is a node of its own. Each node can be stopped in order, killed, and started again otherwise.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.interop.fetched import java_program
from tests.interop.java_brokers import LIGHT, PROPERTIES, SOURCES, broker_jars, written
from tests.ports import free_ports

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
CONTROLLER = 100
"""The controller's node id."""
SAFE = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": "6000",
}
"""So that one broker of three may be lost for good."""


class KafkaNodes:
    """The nodes of a cluster by their ids; ``addresses`` has where brokers listen."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.addresses: dict[int, str] = {}
        self._folder, self._settings = folder, {**SAFE, **settings}
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        [self._controller_port] = free_ports(1)
        program = java_program(SOURCES / "broker" / "Brokers.java", broker_jars())
        self._command = ["java", *LIGHT, f"-Dcluster.id={CLUSTER_ID}", *program]

    def start_controller(self) -> None:
        """Start the controller, at first or again."""
        self._start(CONTROLLER, "controller", None, {"CONTROLLER": self._controller_port})
        self.wait_for(CONTROLLER)

    def start_broker(self, broker_id: int, rack: str | None, *, moves: bool = False) -> None:
        """Start a broker, where it was before or, if it ``moves``, at another address and without its data.

        ``wait_for`` waits until it serves.
        """
        if moves or broker_id not in self.addresses:
            shutil.rmtree(self._data(broker_id), ignore_errors=True)
            self.addresses[broker_id] = f"127.0.0.1:{free_ports(1)[0]}"
        port = int(self.addresses[broker_id].rpartition(":")[2])
        self._start(broker_id, "broker", rack, {"PLAINTEXT": port})

    def wait_for(self, node_id: int) -> None:
        """Wait until a node that was started serves."""
        assert self._is_told(node_id, b"READY"), f"node {node_id}: {self._errors(node_id).read_text()[-2000:]}"

    def stop(self, node_id: int) -> None:
        """End a node in order: a broker hands its leaders over first."""
        stdin = self._running[node_id].stdin
        assert stdin is not None
        stdin.write(b"stop 0\n")
        stdin.flush()
        assert self._is_told(node_id, b"DONE"), f"node {node_id} ended by itself"
        self.kill(node_id)

    def kill(self, node_id: int) -> None:
        """End a node as a machine does that loses its power."""
        with self._running.pop(node_id) as process:
            process.kill()

    def close(self) -> None:
        """Kill all that are left."""
        for node_id in list(self._running):
            self.kill(node_id)

    def _start(self, node: int, roles: str, rack: str | None, listeners: Mapping[str, int]) -> None:
        text = PROPERTIES.format(
            roles=roles,
            node=node,
            rack=rack,
            controller_port=self._controller_port,
            listeners=written(listeners),
            advertised=written(listeners),
            protocols="",
            folder=self._folder,
        )
        own = {"controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{self._controller_port}", **self._settings}
        lines = [line for line in text.splitlines() if rack is not None or not line.startswith("broker.rack=")]
        file = self._folder / f"{node}.properties"
        file.write_text("\n".join([*lines, *(f"{name}={value}" for name, value in own.items()), ""]))
        pipe = subprocess.PIPE
        with self._errors(node).open("ab") as errors:
            self._running[node] = subprocess.Popen([*self._command, str(file)], stdin=pipe, stdout=pipe, stderr=errors)

    def _is_told(self, node: int, wanted: bytes) -> bool:
        """Whether a node prints a line; False once it has ended."""
        stdout = self._running[node].stdout
        assert stdout is not None
        return any(line.strip() == wanted for line in stdout)

    def _errors(self, node: int) -> Path:
        return self._folder / f"{node}.errors.txt"

    def _data(self, node: int) -> Path:
        return self._folder / f"data-{node}"


@contextmanager
def kafka_nodes(
    racks: Mapping[int, str], folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[KafkaNodes]:
    """A controller and brokers in these racks, by their ids.

    Raises: ToolMissingError: Java, Maven or the jars are not there.
    """
    with ExitStack() as stack:
        nodes = KafkaNodes(folder, settings or {})
        stack.callback(nodes.close)
        nodes.start_controller()
        for broker_id, rack in racks.items():
            nodes.start_broker(broker_id, rack)
        for broker_id in racks:
            nodes.wait_for(broker_id)
        yield nodes
