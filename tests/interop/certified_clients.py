"""The clients that certify is run with: how a worker of each is built and started, and with which version."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

from tests.interop.fetched import FOLDER, ToolMissingError
from tests.interop.museum import builders

CLIENTS = Path(__file__).with_name("clients")
FRANZ_GO, SARAMA, KAFKA_GO, KAFKAJS = "v1.22.2", "v1.61.1", "v0.4.51", "2.2.4"
JAVA_CURRENT, JAVA_MIDDLE, JAVA_OLD = "4.4.0", "3.9.1", "2.4.1"
OPTIONS = ("--brokers", "{bootstrap}", "--topic", "{topic}", "--group", "{group}")


@dataclass(frozen=True)
class CertifiedClient:
    """``command(work, rack)`` gives what stands behind ``--``; the rack is ``{rack}`` unless it is to be another."""

    name: str
    version: str
    command: Callable[[str, str], list[str]]


def python_client(name: str, module: str, package: str) -> CertifiedClient:
    try:
        version = installed_version(package)
    except PackageNotFoundError:
        version = ""

    def command(work: str, rack: str) -> list[str]:
        if not version:
            raise ToolMissingError(f"{package} is not installed (pip install '.[clients]')")
        program = [sys.executable, "-m", f"tests.interop.clients.{module}"]
        return [*program, *OPTIONS, "--rack", rack, "--work", work]

    return CertifiedClient(name, version, command)


def java_client(version: str) -> CertifiedClient:
    def command(work: str, rack: str) -> list[str]:
        program = builders.java_worker(version, FOLDER / f"worker-java-{version}")
        settings = ["bootstrap.servers={bootstrap}", "client.id=worker"]
        if work == "consume":
            settings += ["group.id={group}", "auto.offset.reset=earliest", f"client.rack={rack}"]
        else:
            settings += ["enable.idempotence=true", "acks=all"]
            if version == JAVA_CURRENT:
                settings += ["partitioner.rack.aware=true", f"client.rack={rack}"]
        return [*program, work, "{topic}", *settings]

    return CertifiedClient("Java kafka-clients", version, command)


def go_client(name: str, module: str, version: str, source: Path) -> CertifiedClient:
    def command(work: str, rack: str) -> list[str]:
        folder = FOLDER / f"worker-{name.replace('/', '-')}-{version}"
        program = builders.go_worker(source / "main.go", {module: version}, folder)
        return [*program, *OPTIONS, "--rack", rack, "--work", work]

    return CertifiedClient(name, version.removeprefix("v"), command)


def kafkajs() -> CertifiedClient:
    def command(work: str, rack: str) -> list[str]:
        folder = FOLDER / f"worker-kafkajs-{KAFKAJS}"
        program = builders.node_worker(CLIENTS / "kafkajs" / "worker.js", "kafkajs", KAFKAJS, folder)
        return [*program, *OPTIONS, f"--rack={rack}", "--work", work]

    return CertifiedClient("kafkajs", KAFKAJS, command)


def certified_clients() -> Mapping[str, CertifiedClient]:
    """By a name for tests."""
    return {
        "java": java_client(JAVA_CURRENT),
        "java-3.9": java_client(JAVA_MIDDLE),
        "java-2.4": java_client(JAVA_OLD),
        "confluent-kafka": python_client("confluent-kafka (librdkafka)", "worker_confluent", "confluent-kafka"),
        "aiokafka": python_client("aiokafka", "worker_aiokafka", "aiokafka"),
        "kafka-python": python_client("kafka-python", "worker_kafka_python", "kafka-python"),
        "kafkajs": kafkajs(),
        "franz-go": go_client("franz-go", "github.com/twmb/franz-go", FRANZ_GO, builders.WORKERS / "franz_go"),
        "sarama": go_client("sarama", "github.com/IBM/sarama", SARAMA, builders.WORKERS / "sarama"),
        "kafka-go": go_client("segmentio/kafka-go", "github.com/segmentio/kafka-go", KAFKA_GO, CLIENTS / "kafka_go"),
    }
