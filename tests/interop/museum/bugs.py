"""Rack bugs of released clients: what each is, the reports of it, the version that has it and the one that fixes it.

Each names the check of certify that fails with the one version and passes with the other, and the steps that show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.interop.fetched import FOLDER
from tests.interop.museum import builders

OPTIONS = ("--brokers", "{bootstrap}", "--topic", "{topic}", "--group", "{group}", "--rack", "{rack}")
READS_ONCE = "reads_once"
"""The check that is none of certify's: see ``replaying``."""


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug of a client.

    ``check`` is the id of the check that fails with ``bad`` and passes with ``good``, versions as their registry has
    them; ``steps`` those of certify's course that are taken. ``worker(version, folder)`` gives a program's command.
    """

    id: str
    client: str
    title: str
    links: tuple[str, ...]
    bad: str
    good: str
    check: str
    steps: tuple[str, ...]
    story: str
    worker: Callable[[str, Path], list[str]]

    def command(self, version: str) -> list[str]:
        """The program with one version of the client, built once. Raises ToolMissingError."""
        return self.worker(version, FOLDER / f"museum-{self.client}-{version}")


def sarama(version: str, folder: Path) -> list[str]:
    """Sarama, which lived under another name until 1.41."""
    module = "github.com/IBM/sarama"
    replaces = {module: f"github.com/Shopify/sarama {version}"}
    source = builders.WORKERS / "sarama" / "main.go"
    return [*builders.go_worker(source, {module: "v1.41.0"}, folder, replaces), *OPTIONS]


def franz_go(version: str, folder: Path) -> list[str]:
    source = builders.WORKERS / "franz_go" / "main.go"
    return [*builders.go_worker(source, {"github.com/twmb/franz-go": version}, folder), *OPTIONS, "--recheck=2s"]


def java(version: str, folder: Path) -> list[str]:
    settings = ("bootstrap.servers={bootstrap}", "group.id={group}", "auto.offset.reset=earliest", "client.rack={rack}")
    return [*builders.java_worker(version, folder), "consume", "{topic}", *settings]


def confluent_kafka(version: str, folder: Path) -> list[str]:
    source = builders.WORKERS / "confluent_reader.py"
    return builders.python_worker(source, [f"confluent-kafka=={version}"], folder)


BUGS = (
    Bug(
        id="sarama-2071",
        client="sarama",
        title="a consumer alternates between follower and leader",
        links=("https://github.com/IBM/sarama/issues/2071", "https://github.com/IBM/sarama/pull/2076"),
        bad="v1.30.0",
        good="v1.30.1",
        check="stays",
        steps=("reading",),
        story="Only leaders name a preferred replica, so a follower's answer names none. 1.30.0 takes that as "
        "an order to return to the leader, which sends it to the follower again, on every other fetch.",
        worker=sarama,
    ),
    Bug(
        id="KAFKA-14379",
        client="java",
        title="a consumer stays with a follower that has lost the partition",
        links=("https://issues.apache.org/jira/browse/KAFKA-14379", "https://github.com/apache/kafka/pull/12956"),
        bad="3.3.1",
        good="3.3.2",
        check="follower_gone",
        steps=("replicas",),
        story="The partition moves away from the follower that is read from, which then answers "
        "NOT_LEADER_OR_FOLLOWER. 3.3 refreshes metadata and asks the same broker again until its lease "
        "of five minutes ends; 3.4 drops the replica whenever it refreshes metadata.",
        worker=java,
    ),
    Bug(
        id="sarama-2090",
        client="sarama",
        title="a consumer hangs on a follower that is down",
        links=("https://github.com/IBM/sarama/issues/2090", "https://github.com/IBM/sarama/pull/2108"),
        bad="v1.30.1",
        good="v1.31.0",
        check="goes_on",
        steps=("outage",),
        story="The rack of the follower that is read from stops and comes back. 1.30.1 keeps retrying what it "
        "knew of that follower and stops reading, although the leader has the records; 1.31.0 goes to "
        "the leader.",
        worker=sarama,
    ),
    Bug(
        id="librdkafka-2830",
        client="confluent-kafka",
        title="a consumer stays with a follower that has lost the partition",
        links=(
            "https://github.com/confluentinc/librdkafka/issues/2830",
            "https://github.com/confluentinc/librdkafka/releases/tag/v2.1.0",
        ),
        bad="2.0.2",
        good="2.1.0",
        check="follower_gone",
        steps=("replicas",),
        story="The partition moves away from the follower that is read from. 2.0 keeps asking it, however "
        "often it answers NOT_LEADER_OR_FOLLOWER; 2.1, with KIP-320's leader epochs, goes to the leader."
        " 2.0.2 has wheels for Python 3.6 to 3.11 only.",
        worker=confluent_kafka,
    ),
    Bug(
        id="franz-go-recheck",
        client="franz-go",
        title="records come twice whenever the client reconsiders its replica",
        links=(
            "https://github.com/twmb/franz-go/blob/master/CHANGELOG.md",
            "https://github.com/twmb/franz-go/commit/70c81779",
        ),
        bad="v1.20.2",
        good="v1.20.3",
        check=READS_ONCE,
        steps=("reading",),
        story="Every RecheckPreferredReplicaInterval, here two seconds instead of 30 minutes, the client asks "
        "the leader again where to read. 1.20.2 does so from the offset before the fetch that it has "
        "just returned, so records come again; 1.20.3 checks the lease before it fetches.",
        worker=franz_go,
    ),
)
