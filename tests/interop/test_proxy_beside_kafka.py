"""Clients through the proxy before real brokers: they do what they do without it, and nothing leads them past it.

Clients are told where leaders, coordinators and brokers are by Metadata, FindCoordinator, and after a leader has moved
by Produce, Fetch, ShareFetch and ShareAcknowledge. Brokers advertise doors (``doors.py``); whoever comes by one that is
not the proxy has been led past it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count

import pytest

from mockbroker.call import Outcome
from mockbroker.proxy import addresses
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from protocol.registry import message_class
from tests.interop import word_count
from tests.interop.doors import OPEN_FILES, Doors, doors_to
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers
from tests.interop.matrix.actor import Actor, SentRecord, actor
from tests.interop.matrix.clients import CLIENTS
from tests.interop.matrix.running import outcomes
from tests.interop.matrix.scenarios import contents, records
from tests.interop.matrix.target import KAFKAS_OWN, RACKS, SETTINGS, Target
from tests.interop.word_count import SETTINGS as OF_STREAMS
from tests.ports import free_ports

FOR_CLIENTS = "CLIENTS"
HINTING = ("Java 4.4", "confluent-kafka", "franz-go")
PER_MOVE = 4
GROUPS_AND_TRANSACTIONS = ("rebalance", "transactions", "consumer protocol", "share group", "follower")
NUMBERS = count(1)

pytestmark = pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="whose a connection is, is read in /proc")


class Hints:
    """Counts the answers that named brokers' addresses beside an error, by API."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def call_ended(self, outcome: Outcome) -> None:
        if getattr(outcome.response, "node_endpoints", None):
            self.seen[message_class(outcome.call.api_key, "request").name.removesuffix("Request")] += 1


@pytest.fixture(scope="module")
def brokers(tmp_path_factory) -> Iterator[dict[int, int]]:
    """Real brokers: the port of each one's door -> the port that it listens at for clients."""
    at_doors = free_ports(len(RACKS))
    folder, settings = tmp_path_factory.mktemp("kafka"), {**SETTINGS, **KAFKAS_OWN, **OF_STREAMS}
    advertised = {FOR_CLIENTS: at_doors}
    with (
        skipped_without_tools(),
        kafka_brokers(RACKS, folder, settings, listeners={FOR_CLIENTS: "PLAINTEXT"}, advertised=advertised) as running,
    ):
        own = [int(address.rpartition(":")[2]) for address in running.others[FOR_CLIENTS]]
        yield dict(zip(at_doors, own, strict=True))


@asynccontextmanager
async def proxied(brokers: dict[int, int]) -> AsyncIterator[tuple[Target, Doors, Hints]]:
    hints = Hints()
    upstream = UpstreamSettings(servers=[("127.0.0.1", at) for at in brokers])
    async with doors_to(brokers) as doors, KafkaProxy(upstream) as proxy:
        proxy.engine.path.observers.append(hints)
        yield Target(proxy.bootstrap_servers, proxy), doors, hints


@asynccontextmanager
async def program(client: str, servers: str) -> AsyncIterator[Actor]:
    with skipped_without_tools():
        command = await asyncio.to_thread(CLIENTS[client].command)
    async with actor(command) as started:
        await started("servers", servers, "actor")
        yield started


async def move_leaders(target: Target, client: Actor, doors: Doors, hints: Hints, *wanted: str) -> None:
    """Have one client write in transactions and read by a group, while the leader moves, until it had these hints.

    Or until somebody was led past the proxy.
    """
    topic, turns = f"hinted-{next(NUMBERS)}", [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    protocol = "share" if "ShareFetch" in wanted else "consumer"
    await target.create_topic(topic, turns[:1])
    if protocol == "share":
        await target.set_group_config(f"{topic}-readers", "share.auto.offset.reset", "earliest")
    await client("open", "reader", topic, f"{topic}-readers", f"protocol={protocol}")
    for turn in count():
        if turn:
            await target.lead(topic, turns[turn % len(turns)])
        sent = records(PER_MOVE, partitions=1, start=turn * PER_MOVE)
        await client("transact", f"{topic}-id", topic, "commit", *sent)
        await read_all(client, sent, again=protocol == "share")
        await client("commit", "reader")
        if doors.strangers or (wanted and all(hints.seen[api] for api in wanted)):
            break
    await client("close", "reader")


async def read_all(client: Actor, sent: list[SentRecord], *, again: bool) -> None:
    """Read these records; ``again`` where others may come once more, as to a share group whose partition has moved."""
    wanted = set(contents(sent))
    while wanted:
        found = set(contents(await client.read("reader", 1)))
        assert again or found <= wanted
        wanted -= found


@pytest.mark.parametrize("client", HINTING)
async def test_clients_stay_with_the_proxy_when_leaders_move(client: str, brokers: dict[int, int]):
    async with proxied(brokers) as (target, doors, hints), program(client, target.servers) as started:
        await move_leaders(target, started, doors, hints, "Produce", "Fetch")
        assert (doors.own > 0, doors.strangers) == (True, [])


@pytest.mark.parametrize("client", HINTING)
async def test_members_of_share_groups_stay_with_the_proxy_when_leaders_move(client: str, brokers: dict[int, int]):
    async with proxied(brokers) as (target, doors, hints), program(client, target.servers) as started:
        await move_leaders(target, started, doors, hints, "ShareFetch")
        assert (doors.own > 0, doors.strangers) == (True, [])


@pytest.mark.parametrize("client", HINTING)
async def test_clients_do_follow_hints_and_would_be_seen_past_the_proxy(
    client: str, brokers: dict[int, int], monkeypatch
):
    found = addresses.nodes_in
    monkeypatch.setattr(addresses, "nodes_in", lambda key, version: () if key in (0, 1) else found(key, version))
    async with proxied(brokers) as (target, doors, hints), program(client, target.servers) as started:
        await move_leaders(target, started, doors, hints)
        assert doors.strangers


@pytest.mark.parametrize("client", ["confluent-kafka", "franz-go"])
async def test_groups_and_transactions_are_as_without_it(client: str, brokers: dict[int, int]):
    async with proxied(brokers) as (target, doors, _):

        @asynccontextmanager
        async def placed(_: str) -> AsyncIterator[Target]:
            yield target

        with skipped_without_tools():
            going = outcomes(CLIENTS[client], placed, only=GROUPS_AND_TRANSACTIONS)
            found = {scenario: wrong async for scenario, wrong in going}
        assert found == dict.fromkeys(GROUPS_AND_TRANSACTIONS, "")
        assert doors.strangers == []


async def test_kafka_streams_counts_words_exactly_once_in_a_streams_group(brokers: dict[int, int], tmp_path):
    async with proxied(brokers) as (target, doors, _):
        for topic in (word_count.FROM, word_count.TO):
            await target.create_topic(topic, [[0, 1, 2], [1, 2, 0]])
        settings = {"group_protocol": "streams", "processing_guarantee": "exactly_once_v2"}
        async with word_count.application(target.servers, tmp_path, **settings) as running:
            await word_count.send_lines(target.servers)
            assert await word_count.counts(target.servers) == word_count.COUNTS
            await word_count.closed(running)
        assert doors.strangers == []
