"""What random requests to both clusters (tests/answers/random_requests) found to differ once."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.elections import moving
from tests.answers.scenarios.fetch import of
from tests.answers.story import Fields, Story
from tests.answers.transactional import Producer

SETTINGS = {"leader.imbalance.check.interval.seconds": "300"}
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
SET, APPEND, UNKNOWN_OPERATION = 0, 2, 5


@scenario("random/fetch sessions v{version}", versions=("Fetch", 7, 18))
def sessions(story: Story, version: int) -> None:
    """Kafka keeps sessions in parts, by their ids."""
    topic = story.topic("t")
    story.wait(300)
    share = (2**31 - 1) // 8
    for session_id in (-(2**31), -share, -share + 1, -1, 1, 8 * share - 1, 8 * share, 2**31 - 1):
        for epoch in (-1, 0, 1, 9):
            for step, request in {"nothing": of(topic), "a partition": of(topic, {})}.items():
                named = f"session {session_id} epoch {epoch}, {step}"
                wanted = request | {"sessionId": session_id, "sessionEpoch": epoch}
                story.ask(named, "Fetch", version, wanted)


@scenario("random/as a replica v{version}", versions="Fetch")
def as_replica(story: Story, version: int) -> None:
    """A client that says it is a follower: one that has the partition, one that has not, one that nobody is."""
    topic = story.topic("t", assignments=[[0, 1], [1, 0]])
    story.produced(topic, b"a", b"b")
    story.wait(700)
    for replica in (-3, 0, 1, 2, 9):
        for leader_epoch in (-1, 0, 1):
            for offset in (0, 2, 5):
                partition = {"fetchOffset": offset, "currentLeaderEpoch": leader_epoch}
                wanted = of(topic, partition) | asking_as(replica, version)
                story.ask(f"as {replica}, leader epoch {leader_epoch}, from {offset}", "Fetch", version, wanted)
        elsewhere = of(topic, {"partition": 1, "fetchOffset": 0}) | asking_as(replica, version)
        story.ask(f"as {replica}, at a follower", "Fetch", version, elsewhere)
        unknown = of(topic, {"partition": 7}) | asking_as(replica, version)
        story.ask(f"as {replica}, unknown partition", "Fetch", version, unknown)
        story.ask(
            f"as {replica}, level 1", "Fetch", version, of(topic, {}, isolationLevel=1) | asking_as(replica, version)
        )


def asking_as(replica: int, version: int) -> Fields:
    """The replica's id, as this version has it."""
    return {"replicaId": replica} if version < 15 else {"replicaState": {"replicaId": replica, "replicaEpoch": -1}}


@scenario("random/a transactional id twice v{version}", versions=("AddPartitionsToTxn", 4, 5))
def twice(story: Story, version: int) -> None:
    """Each entry adds the partitions of the last one, and answers with those of the first."""
    topic = story.topic("t", partitions=3)
    producer = Producer.of(story).begun()

    def entry(indexes: list[int], verify: bool = True, name: str = topic.name, **fields: Any) -> Fields:
        topics = [{"name": name, "partitions": indexes}]
        return {**producer.who, "verifyOnly": verify, "topics": topics, **fields}

    def ask(step: str, *entries: Fields) -> None:
        story.ask(step, "AddPartitionsToTxn", version, {"transactions": list(entries)}, to=producer.at)

    ask("nothing is in it", entry([0]), entry([1]))
    producer.add(None, topic.name, 0)
    ask("the first is in it", entry([0]), entry([1]))
    ask("the last is in it", entry([1]), entry([0]))
    ask("an unknown partition first", entry([9]), entry([0]))
    ask("an unknown partition last", entry([0]), entry([9]))
    ask("an unknown topic first, nothing last", entry([0], name="nope"), entry([]))
    ask("no topics first", entry([], topics=[]), entry([0]))
    ask("no topics last", entry([0]), entry([], topics=[]))
    ask("an old epoch first", entry([0], producerEpoch=-1), entry([1]))
    ask("an old epoch last", entry([0]), entry([1], producerEpoch=-1))
    ask("another producer last, to be added", entry([0]), entry([1, 2], verify=False, producerId=producer.id + 9999))
    ask(
        "a later epoch, to be added",
        entry([0], verify=False, producerEpoch=7),
        entry([1, 2], verify=False, producerEpoch=8),
    )
    ask("three", entry([0]), entry([1]), entry([2, 2]))


@scenario("random/offsets in an overtaken epoch v{version}", versions="TxnOffsetCommit")
def overtaken(story: Story, version: int) -> None:
    """Where the partition of the group's offsets has seen a later epoch, that counts before whose producer it is."""
    topic, group = story.topic("t"), story.named("g")
    first, second = Producer.of(story, "x").begun(), Producer.of(story, "y").begun()
    old = {"producerId": first.id, "producerEpoch": first.epoch}
    second.commit_offset("another's producer", group, topic, 0, 1, version, **old)
    first.init(None)
    second.commit_offset("another's producer, in an epoch that is over", group, topic, 0, 2, version, **old)
    first.add_offsets(None, group)
    first.commit_offset(None, group, topic, 0, 3)
    second.commit_offset("another's producer, in one that is overtaken", group, topic, 0, 4, version, **old)
    first.commit_offset("its own, in one that is overtaken", group, topic, 0, 5, version, **old)
    later = {"producerId": first.id, "producerEpoch": first.epoch + 5}
    second.commit_offset("another's producer, in one to come", group, topic, 0, 6, version, **later)
    first.end(None)
    second.commit_offset("another's producer, ended, in an overtaken one", group, topic, 0, 7, version, **old)
    first.commit_offset("its own, ended, in an overtaken one", group, topic, 0, 8, version, **old)


@scenario("random/moved twice v{version}", versions="AlterPartitionReassignments")
def moved_twice(story: Story, version: int) -> None:
    """Both moves of a partition begin from what was there before the request."""
    for step, rows in {
        "both add": [[0, 1], [0, 2]],
        "both replace": [[1, 0], [2, 0]],
        "one adds, one replaces": [[0, 1], [1, 2]],
        "the same": [[0, 1], [0, 1]],
        "and nothing": [[0, 1], [0]],
        "and back": [[0, 1], None],
        "the first is wrong": [[0, 9], [0, 1]],
        "the last is wrong": [[0, 1], [0, 9]],
    }.items():
        topic = story.topic(step.replace(" ", "-").replace(",", ""), assignments=[[0]])
        partitions = [{"partitionIndex": 0, "replicas": one} for one in rows]
        wanted = {"topics": [{"name": topic.name, "partitions": partitions}], "timeoutMs": 10_000}
        story.ask(step, "AlterPartitionReassignments", version, wanted | {"allowReplicationFactorChange": True})
        story.wait(1500)
        story.settle()
        moving(story, f"{step}, after", [(topic.name, [0])])
        request = {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False}
        story.ask(f"{step}, after", "Metadata", 9, request, only=lambda answer: answer["topics"])


@scenario("random/config operations v{version}", versions="IncrementalAlterConfigs")
def operations(story: Story, version: int) -> None:
    topic, other = story.topic("t"), story.topic("u")
    group, metrics = story.named("g"), story.named("m")

    def change(kind: int, name: str, *changes: tuple[str, int, str]) -> Fields:
        configs = [{"name": one, "configOperation": operation, "value": value} for one, operation, value in changes]
        return {"resourceType": kind, "resourceName": name, "configs": configs}

    def ask(step: str, *resources: Fields) -> None:
        wanted = {"resources": list(resources), "validateOnly": False}
        story.ask(step, "IncrementalAlterConfigs", version, wanted)

    strange = change(TOPIC, topic.name, ("retention.ms", UNKNOWN_OPERATION, "5"))
    good, bad = change(TOPIC, other.name, ("flush.ms", SET, "5")), change(TOPIC, other.name, ("flush.ms", SET, "x"))
    ask("an unknown operation", strange)
    ask("an unknown operation and a right one", strange, good)
    ask("a right one and an unknown operation", good, strange)
    ask("an unknown operation and a wrong value", strange, bad)
    ask("an unknown operation of a group", change(GROUP, group, ("no.such", UNKNOWN_OPERATION, "5")), good)
    ask("an unknown operation of a broker", change(BROKER, "0", ("background.threads", UNKNOWN_OPERATION, "5")), good)
    ask("an unknown operation and another broker", strange, change(BROKER, "1", ("background.threads", SET, "5")))
    for name in ("flush.messages", "cleanup.policy", "retention.bytes", "preallocate"):
        both = change(TOPIC, topic.name, (name, UNKNOWN_OPERATION, "1"), ("retention.ms", APPEND, "5"))
        ask(f"an unknown operation on {name} and a list that is none", both)
    ask("names before values", change(CLIENT_METRICS, metrics, ("interval.ms", SET, "x"), ("zzz", SET, "1")))
    ask(
        "names before values, of a group",
        change(GROUP, group, ("share.session.timeout.ms", SET, "x"), ("zzz", SET, "")),
    )
    for value in ("producer", "a:b", "127.0.0.1:5", "127.0.0.1:5,", "127.0.0.1:5 , 127.0.0.2:6", ":5", "a:+5", ""):
        ask(f"limits by address {value!r}", change(BROKER, "", ("max.connections.per.ip.overrides", SET, value)))
    ask("a reporter that there is not", change(BROKER, "", ("metric.reporters", SET, "a")))
    request = {"resources": [{"resourceType": TOPIC, "resourceName": other.name, "configurationKeys": ["flush.ms"]}]}
    story.ask("after", "DescribeConfigs", 4, request)


@scenario("random/names and owners")
def names_and_owners(story: Story) -> None:
    for length in (210, 212, 213, 214, 215, 249):
        for index in (0, 10):
            moves = [{"path": "/nowhere", "topics": [{"name": "x" * length, "partitions": [index]}]}]
            story.ask(f"a name of {length}, partition {index}", "AlterReplicaLogDirs", 2, {"dirs": moves})
    for kind in (None, "", "User"):
        for name in (None, "", "ann"):
            wanted = {"ownerPrincipalType": kind, "ownerPrincipalName": name, "renewers": [], "maxLifetimeMs": -1}
            story.ask(f"a token of {kind!r} {name!r}", "CreateDelegationToken", 3, wanted)
