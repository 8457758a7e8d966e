"""A real Kafka cluster over racks, in one Java process on loopback, and Kafka's own tools beside it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.interop.fetched import java_program, maven_jars
from tests.ports import free_ports
from tests.progress import run

SOURCES = Path(__file__).parent / "java"
VERSION = "4.4.0"
TOOLS_VERSION = "4.1.0"  # 4.4.0 has none as jars; 4.3.0 names log directories in the plan of now, where ours has "any"
LIGHT = ("-XX:TieredStopAtLevel=1", "-Xmx512m")
PATIENTLY = ("--timeout", "600000")
"""For a tool of groups, which gives each request five seconds by itself, the first with the connection before it: on a
busy machine a Java that has just begun takes longer."""
PROPERTIES = """\
process.roles={roles}
node.id={node}
broker.rack={rack}
controller.quorum.voters=0@127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
listeners={listeners}
advertised.listeners={advertised}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT{protocols}
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
    """A cluster of ``kafka_brokers``: the address of each broker by its id, and the process that they share.

    ``others`` has the addresses of each further listener, by its name.
    """

    addresses: list[str]
    process: subprocess.Popen[bytes]
    others: Mapping[str, list[str]] = field(default_factory=dict)

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
    racks: Sequence[str],
    folder: Path,
    settings: Mapping[str, str] | None = None,
    version: str = VERSION,
    listeners: Mapping[str, str] | None = None,
    advertised: Mapping[str, Sequence[int]] | None = None,
) -> Iterator[RunningKafka]:
    """The same, with more settings of each broker, and with brokers that can be stopped and started.

    Args:
        settings: ``{data}`` in a value is the broker's folder.
        listeners: more of each broker, name -> security protocol.
        advertised: for some of them, the port of each broker that clients are told of in place of its own.

    Raises: ToolMissingError: Java, Maven or the jars are not there.
    """
    command = ["java", *LIGHT, *java_program(SOURCES / "broker" / "Brokers.java", broker_jars(version))]
    more = dict(listeners or {})
    controller_port, *ports = free_ports(1 + len(racks) * (1 + len(more)))
    others = {name: ports[(place + 1) * len(racks) :][: len(racks)] for place, name in enumerate(more)}
    del ports[len(racks) :]
    for node, (rack, port) in enumerate(zip(racks, ports, strict=True)):
        own = {"PLAINTEXT": port, **{name: found[node] for name, found in others.items()}}
        told = own | {name: found[node] for name, found in (advertised or {}).items()}
        bound = written(own) + (f",CONTROLLER://127.0.0.1:{controller_port}" if node == 0 else "")
        text = PROPERTIES.format(
            roles="broker" if node else "broker,controller",
            node=node,
            rack=rack,
            controller_port=controller_port,
            listeners=bound,
            advertised=written(told),
            protocols="".join(f",{name}:{protocol}" for name, protocol in more.items()),
            folder=folder,
        )
        file = folder / f"{node}.properties"
        more_text = "".join(f"{name}={value}\n" for name, value in (settings or {}).items())
        file.write_text(text + more_text.replace("{data}", f"{folder}/data-{node}"))
        command.append(str(file))
    errors = (folder / "errors.txt").open("w+")
    with errors, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process:
        try:
            assert process.stdout is not None
            ready = any(line.strip() == b"READY" for line in process.stdout)
            assert ready, (folder / "errors.txt").read_text()[-2000:]
            addresses = {name: [f"127.0.0.1:{port}" for port in found] for name, found in others.items()}
            yield RunningKafka([f"127.0.0.1:{port}" for port in ports], process, addresses)
        finally:
            process.kill()


def written(listeners: Mapping[str, int]) -> str:
    """Listeners on loopback as Kafka's properties have them."""
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())


def kafka_tool(name: str, *arguments: str) -> str:
    """What one of Kafka's own tools prints: a class of org.apache.kafka.tools."""
    done = run(["java", *LIGHT, "-cp", f"{tool_jars()}/*", f"org.apache.kafka.tools.{name}", *arguments])
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]
    return done.stdout


def dump_log(*arguments: str) -> str:
    """What kafka-dump-log prints: its class is in the broker's jar of 4.1, and among the tools later on."""
    classes = f"{broker_jars(TOOLS_VERSION)}/*:{tool_jars()}/*"
    done = run(["java", *LIGHT, "-cp", classes, "kafka.tools.DumpLogSegments", *arguments])
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]
    return done.stdout + done.stderr


def broker_jars(version: str = VERSION) -> Path:
    """The folder with a broker's jars, fetched once into build/. Raises ToolMissingError."""
    pom, jar = SOURCES / "broker" / "pom.xml", f"kafka_2.13-{version}.jar"
    return maven_jars(f"kafka-{version}", pom, jar, f"kafka.version={version}")


def tool_jars() -> Path:
    """The folder with the jars of Kafka's tools, fetched once into build/. Raises ToolMissingError."""
    return maven_jars(f"kafka-tools-{TOOLS_VERSION}", SOURCES / "tools" / "pom.xml", f"kafka-tools-{TOOLS_VERSION}.jar")
