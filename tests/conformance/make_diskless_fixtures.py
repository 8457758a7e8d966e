"""Writes fixtures/oracle/diskless-*.jsonl.gz: what the systems' own classes tell drawn clients of drawn clusters.

    python tests/conformance/make_diskless_fixtures.py [SYSTEM[=REPOSITORY]]...

Makes those of the systems named, or of all; REPOSITORY is a copy to take instead. Needs git, Java and Maven. The
classes come from the systems' repositories at the commits below, as they are, and run over the jars of Apache Kafka
4.4.0. tests/conformance/diskless has, for each, the program that draws and asks, and stand-ins for what the classes
name of their broker and do not need here: metrics, timers, configuration.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


class Vendor(NamedTuple):
    """A system's repository, a commit of it, the classes that are asked, by folder, and the program that asks."""

    url: str
    commit: str
    classes: dict[str, tuple[str, ...]]
    program: str


INKLESS = "storage/inkless/src/main/java"
AUTOMQ = "core/src/main/java"
LAKESTREAM = "storage/diskless-api/src/main/java"
VENDORS = {
    "inkless": Vendor(
        "https://github.com/aiven/inkless",
        "b1fcb5f6f7849e4203af0cfefe6d226175b43af0",
        {
            INKLESS: (
                "io/aiven/inkless/metadata/InklessTopicMetadataTransformer",
                "io/aiven/inkless/metadata/ClientAZExtractor",
            )
        },
        "io.aiven.inkless.metadata.InklessFixtures",
    ),
    "automq": Vendor(
        "https://github.com/AutoMQ/automq",
        "f1ce98ec8981faecf0be05a57cadbbbeeef2a290",
        {
            AUTOMQ: (
                *(f"kafka/automq/zerozone/{name}" for name in ("ProxyNodeMapping", "ProxyTopologyChangeListener")),
                *(f"kafka/automq/zerozone/{name}" for name in ("DefaultClientRackProvider", "ClientRackProvider")),
                *(f"kafka/automq/interceptor/{name}" for name in ("ClientIdMetadata", "ClientIdKey", "ClientType")),
                *(
                    f"thirdparty/com/github/jaskey/consistenthash/{name}"
                    for name in ("ConsistentHashRouter", "HashFunction", "Node", "VirtualNode")
                ),
            ),
            "s3stream/src/main/java": ("com/automq/stream/utils/URIUtils",),
        },
        "kafka.automq.zerozone.AutomqFixtures",
    ),
    "lakestream": Vendor(
        "https://github.com/lakestream-io/kafka",
        "ed35f496bfcf723a0786f7cd39c25e8f1f730bfa",
        {
            LAKESTREAM: tuple(
                f"org/apache/kafka/storage/diskless/{name}"
                for name in ("DisklessTopicMetadataTransformer", "DisklessBrokerSelector", "DisklessClientZone")
            )
        },
        "org.apache.kafka.storage.diskless.LakestreamFixtures",
    ),
}


def run(*command: str | Path, cwd: Path) -> str:
    return subprocess.run([str(one) for one in command], cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def make(name: str, vendor: Vendor, jars: Path, repository: str) -> None:
    """Fetch, compile and run one system's classes."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        run("git", "init", "-q", cwd=folder)
        run("git", "fetch", "-q", "--depth=1", repository, vendor.commit, cwd=folder)
        sources = folder / "sources"
        shutil.copytree(ROOT / "tests/conformance/diskless" / name, sources)
        for source_folder, classes in vendor.classes.items():
            for one in classes:
                target = sources / f"{one}.java"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(run("git", "show", f"FETCH_HEAD:{source_folder}/{one}.java", cwd=folder))
        package = vendor.program.rpartition(".")[0]
        shared = (ROOT / "tests/conformance/diskless/Drawn.java").read_text()
        (sources / package.replace(".", "/") / "Drawn.java").write_text(f"package {package};\n{shared}")
        path = f"{folder / 'classes'}:{jars}/*"
        run("javac", "-nowarn", "-d", folder / "classes", "-cp", path, *sources.rglob("*.java"), cwd=folder)
        run("java", "-cp", path, vendor.program, folder / "lines", cwd=folder)
        packed = gzip.compress((folder / "lines").read_bytes(), 9, mtime=0)
        (ROOT / f"fixtures/oracle/diskless-{name}.jsonl.gz").write_bytes(packed)


if __name__ == "__main__":
    from tests.interop.fetched import maven_jars

    poms = ROOT / "tests/interop/java"
    for asked in sys.argv[1:] or VENDORS:
        name, _, repository = asked.partition("=")
        jars = maven_jars("kafka-4.4.0", poms / "broker/pom.xml", "kafka-clients-4.4.0.jar", "kafka.version=4.4.0")
        make(name, VENDORS[name], jars, repository or VENDORS[name].url)
