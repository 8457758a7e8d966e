"""A real Kafka cluster over racks, in one Java process on loopback, and Kafka's own tools beside it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop.fetched import java_program, maven_jars
from tests.ports import free_ports
from tests.progress import run

SOURCES = Path(__file__).parent / "java"
VERSION = "4.4.0"
TOOLS_VERSION = "4.1.0"  # 4.4.0 has none as jars; 4.3.0 names log directories in the plan of now, where ours has "any"
LIGHT = ("-XX:TieredStopAtLevel=1", "-Xmx512m")
PROPERTIES = """\
process.roles={roles}
node.id={node}
broker.rack={rack}
controller.quorum.voters=0@127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
listeners={listeners}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data-{node}
replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector
num.network.threads=1
num.io.threads=2
log.cleaner.dedupe.buffer.size=2097152
offsets.topic.num.partitions=3
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
"""


@dataclass(frozen=True, slots=True)
class RunningKafka:
    """A cluster of ``kafka_brokers``: the address of each broker by its id, and the process that they share."""

    addresses: list[str]
    process: subprocess.Popen[bytes]

    def stop(self, broker_id: int) -> None:
        """Stop a broker as an operator does: it hands its leaders over first. Gives when that is done."""
        self._command(f"stop {broker_id}")

    def start(self, broker_id: int) -> None:
        """Start a broker that was stopped, where it was."""
        self._command(f"start {broker_id}")

    def _command(self, line: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        done = any(answer.strip() == b"DONE" for answer in self.process.stdout)
        assert done, f"the brokers ended at {line!r}"


@contextmanager
def kafka_cluster(racks: Sequence[str], folder: Path) -> Iterator[str]:
    """Broker i in the i-th rack; gives the address of broker 0, which is the controller too.

    Raises: ToolMissingError: Java, Maven or the jars are not there.
    """
    with kafka_brokers(racks, folder) as running:
        yield running.addresses[0]


@contextmanager
def kafka_brokers(
    racks: Sequence[str], folder: Path, settings: Mapping[str, str] | None = None, version: str = VERSION
) -> Iterator[RunningKafka]:
    """The same, with more settings of each broker, and with brokers that can be stopped and started.

    Raises: ToolMissingError: Java, Maven or the jars are not there.
    """
    command = ["java", *LIGHT, *java_program(SOURCES / "broker" / "Brokers.java", broker_jars(version))]
    controller_port, *ports = free_ports(1 + len(racks))
    for node, (rack, port) in enumerate(zip(racks, ports, strict=True)):
        listeners = f"PLAINTEXT://127.0.0.1:{port}"
        if node == 0:
            listeners += f",CONTROLLER://127.0.0.1:{controller_port}"
        text = PROPERTIES.format(
            roles="broker" if node else "broker,controller",
            node=node,
            rack=rack,
            controller_port=controller_port,
            listeners=listeners,
            port=port,
            folder=folder,
        )
        file = folder / f"{node}.properties"
        file.write_text(text + "".join(f"{name}={value}\n" for name, value in (settings or {}).items()))
        command.append(str(file))
    errors = (folder / "errors.txt").open("w+")
    with errors, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process:
        try:
            assert process.stdout is not None
            ready = any(line.strip() == b"READY" for line in process.stdout)
            assert ready, (folder / "errors.txt").read_text()[-2000:]
            yield RunningKafka([f"127.0.0.1:{port}" for port in ports], process)
        finally:
            process.kill()


def kafka_tool(name: str, *arguments: str) -> str:
    """What one of Kafka's own tools prints: a class of org.apache.kafka.tools."""
    done = run(["java", *LIGHT, "-cp", f"{tool_jars()}/*", f"org.apache.kafka.tools.{name}", *arguments])
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]
    return done.stdout


def broker_jars(version: str = VERSION) -> Path:
    """The folder with a broker's jars, fetched once into build/. Raises ToolMissingError."""
    pom, jar = SOURCES / "broker" / "pom.xml", f"kafka_2.13-{version}.jar"
    return maven_jars(f"kafka-{version}", pom, jar, f"kafka.version={version}")


def tool_jars() -> Path:
    """The folder with the jars of Kafka's tools, fetched once into build/. Raises ToolMissingError."""
    return maven_jars(f"kafka-tools-{TOOLS_VERSION}", SOURCES / "tools" / "pom.xml", f"kafka-tools-{TOOLS_VERSION}.jar")
