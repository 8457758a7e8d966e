"""What each client is to do. Each scenario is a coroutine that raises where a client or the cluster fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from mockbroker import MockCluster
from protocol.records import CompressionCodec
from tests.interop.matrix.actor import Actor, ReadRecord, SentRecord
from tests.interop.matrix.target import Target

PARTITIONS, COUNT = 6, 60
SPREAD = [[index % 3, (index + 1) % 3, (index + 2) % 3] for index in range(PARTITIONS)]
LED_IN_RACK_A = [[0, 1, 2]]
FOLLOWER, FOLLOWERS_RACK = 1, "b"
RETENTION_MS = "123456789"
HEADERS = "trace=abc,hop=2"
ACTOR, RACK_IN_CLIENT_ID = "actor", "reader,diskless_az=b"


@dataclass
class Stage:
    """Where a scenario plays: a cluster, two processes of a client, a name that is new."""

    target: Target
    first: Actor
    second: Actor
    name: str
    has_headers: bool = True

    async def begin(self, *, client_id: str = "actor") -> None:
        for actor in (self.first, self.second):
            await actor("servers", self.target.servers, client_id)


Scenario = Callable[[Stage], Awaitable[None]]


def records(count: int, *, partitions: int = PARTITIONS, start: int = 0, headers: str = "") -> list[SentRecord]:
    """Records with keys, over all partitions in turn."""
    numbers = range(start, start + count)
    return [SentRecord(number % partitions, f"k{number}", f"v{number}", headers) for number in numbers]


def contents(found: Iterable[SentRecord | ReadRecord]) -> list[tuple[int, str, str, str]]:
    return sorted((one.partition, one.key, one.value, one.headers) for one in found)


async def create(stage: Stage) -> None:
    await stage.first("create", stage.name, PARTITIONS)
    shape = await stage.target.topic(stage.name)
    assert [sorted(brokers) for brokers in shape] == [[0, 1, 2]] * PARTITIONS


async def administer(stage: Stage) -> None:
    await stage.target.create_topic(stage.name, SPREAD)
    assert stage.name in await stage.first("topics")

    async def configured() -> bool:
        """Whether it is read back; a real broker may not have heard yet of what another has taken."""
        return await stage.first("configure", stage.name, "retention.ms", RETENTION_MS) == [RETENTION_MS]

    await stage.target.until(configured, f"the config of {stage.name}")
    await stage.first("delete", stage.name)
    await stage.target.until_deleted(stage.name)


async def compress(codec: str, stage: Stage) -> None:
    await stage.target.create_topic(stage.name, SPREAD)
    sent = records(COUNT, headers=HEADERS if stage.has_headers else "")
    places = await stage.first.produce(stage.name, sent, codec)
    assert sorted(places) == [(index, offset) for index in range(PARTITIONS) for offset in range(COUNT // PARTITIONS)]
    await stage.first("open", "reader", stage.name, f"{stage.name}-readers")
    assert contents(await stage.first.read("reader", COUNT)) == contents(sent)
    await stage.first("close", "reader")
    assert await stage.target.codecs(stage.name) == {CompressionCodec[codec.upper()]}


async def share_out(protocol: str, stage: Stage) -> None:
    """A group of one, of two, of one again: each record is read once.

    Each membership has records: librdkafka, given new partitions before it has looked for an offset of its first ones,
    may go back to their beginning half a second later.
    """
    await stage.target.create_topic(stage.name, SPREAD)
    group = f"{stage.name}-readers"
    alone, shared, again = (records(COUNT, start=COUNT * turn) for turn in range(3))
    await stage.first("open", "one", stage.name, group, f"protocol={protocol}")
    await stage.first("holds", "one", PARTITIONS)
    await stage.first.produce(stage.name, alone)
    assert contents(await stage.first.read("one", COUNT)) == contents(alone)
    await stage.first("commit", "one")
    await stage.second("open", "two", stage.name, group, f"protocol={protocol}")
    await asyncio.gather(stage.first("holds", "one", PARTITIONS // 2), stage.second("holds", "two", PARTITIONS // 2))
    assert await stage.target.kind_of_group(group) == protocol
    await stage.first.produce(stage.name, shared)
    halves = await asyncio.gather(stage.first.read("one", COUNT // 2), stage.second.read("two", COUNT // 2))
    assert contents([*halves[0], *halves[1]]) == contents(shared)
    await asyncio.gather(stage.first("commit", "one"), stage.second("commit", "two"))
    await stage.second("close", "two")
    await stage.first("holds", "one", PARTITIONS)
    await stage.first.produce(stage.name, again)
    assert contents(await stage.first.read("one", COUNT)) == contents(again)
    await stage.first("close", "one")


async def resume(stage: Stage) -> None:
    await stage.target.create_topic(stage.name, [[0, 1, 2]])
    sent = records(COUNT, partitions=1)
    group = f"{stage.name}-readers"
    await stage.first.produce(stage.name, sent)
    await stage.first("open", "reader", stage.name, group)
    read = await stage.first.read("reader", COUNT)
    await stage.first("commit", "reader")
    await stage.first("close", "reader")
    more = records(COUNT, partitions=1, start=COUNT)
    await stage.first.produce(stage.name, more)
    await stage.second("open", "reader", stage.name, group)
    assert contents(read) == contents(sent)
    assert contents(await stage.second.read("reader", COUNT)) == contents(more)
    await stage.second("close", "reader")


async def transact(stage: Stage) -> None:
    await stage.target.create_topic(stage.name, [[0, 1, 2], [1, 2, 0]])
    kept, lost, last = (records(10, partitions=2, start=start) for start in (0, 10, 20))
    for end, batch in (("commit", kept), ("abort", lost), ("commit", last)):
        await stage.first("transact", f"{stage.name}-id", stage.name, end, *batch)
    await stage.second("open", "reader", stage.name, f"{stage.name}-readers", "isolation=read_committed")
    assert contents(await stage.second.read("reader", 20)) == contents([*kept, *last])
    await stage.second("close", "reader")


async def share(stage: Stage) -> None:
    """Two members of a share group take turns on one partition: each record is delivered once."""
    await stage.target.create_topic(stage.name, [[0, 1, 2]])
    group = f"{stage.name}-share"
    await stage.target.set_group_config(group, "share.auto.offset.reset", "earliest")
    sent = records(COUNT, partitions=1)
    await stage.first.produce(stage.name, sent)
    await stage.first("open", "one", stage.name, group, "protocol=share")
    read = await stage.first.read("one", COUNT)
    await stage.first("commit", "one")
    await stage.first("close", "one")
    await stage.second("open", "two", stage.name, group, "protocol=share")
    more = records(COUNT, partitions=1, start=COUNT)
    await stage.first.produce(stage.name, more)
    read += await stage.second.read("two", COUNT)
    await stage.second("close", "two")
    assert contents(read) == contents([*sent, *more])


async def follow(stage: Stage) -> None:
    """A consumer in another rack than the leader reads from the replica there."""
    await stage.target.create_topic(stage.name, LED_IN_RACK_A)
    sent = records(COUNT, partitions=1)
    await stage.first.produce(stage.name, sent)
    await stage.first("open", "reader", stage.name, f"{stage.name}-readers", f"rack={FOLLOWERS_RACK}")
    assert contents(await stage.first.read("reader", COUNT)) == contents(sent)
    await stage.first("close", "reader")
    read = {"api": "Fetch", "topic": stage.name, "category": "consume", "client_id": ACTOR}
    if isinstance(stage.target.cluster, MockCluster):
        stage.target.cluster.journal.assert_served_by(broker=FOLLOWER, **read)
    elif (
        stage.target.cluster is not None
    ):  # real Kafka's leader sends nobody to a replica of which it knows nothing yet
        found = stage.target.cluster.journal.find(**read)
        assert {entry.broker for entry in found if (entry.traffic or {}).get(stage.name)} == {FOLLOWER}, found


async def stay_in_rack(stage: Stage) -> None:
    """Diskless: a client.id with the rack is enough to write and read in it."""
    cluster = stage.target.cluster
    assert cluster is not None
    await stage.begin(client_id=RACK_IN_CLIENT_ID)
    sent = records(COUNT, partitions=3)
    await stage.first.produce("diskless", sent)
    await stage.first("open", "reader", "diskless", f"{stage.name}-readers")
    assert contents(await stage.first.read("reader", COUNT)) == contents(sent)
    await stage.first("close", "reader")
    cluster.journal.assert_rack_local(
        topic="diskless", category=["produce", "consume"], client_id=f"{RACK_IN_CLIENT_ID}*"
    )


SCENARIOS: Mapping[str, Scenario] = {
    "create": create,
    **{codec: partial(compress, codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")},
    "rebalance": partial(share_out, "classic"),
    "resume": resume,
    "transactions": transact,
    "consumer protocol": partial(share_out, "consumer"),
    "share group": share,
    "follower": follow,
    "diskless": stay_in_rack,
    "admin": administer,
}
