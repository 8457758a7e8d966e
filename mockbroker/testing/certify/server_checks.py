"""``certify --server``: the promises about racks that a cluster keeps or breaks, as clients of each rack see them.

The promises are those of KIP-36 (racks and replicas), KIP-392 (reading near), KIP-951 (leaders in errors), and of
Metadata for diskless topics (KIP-1163, which took over KIP-1181's text). Each check works on topics of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from mockbroker.adapters.real_cluster.connection import RealClusterError
from mockbroker.testing.certify.checks import FAIL, PASS, CertifyCheck, Judgement
from mockbroker.testing.certify.facts import FIRST_FETCH_HINT, FIRST_FETCH_RACK, FIRST_PRODUCE_HINT
from mockbroker.testing.certify.server_client import (
    NO_BROKER,
    PartitionReply,
    ServerAsker,
    TopicAnswer,
)
from mockbroker.testing.certify.server_under_test import (
    DISKLESS,
    FORMS,
    NOT_OFFERED,
    NOT_TRIED,
    SINGLE,
    SPREAD,
    NotJudgedError,
    ServerUnderTest,
    await_leaders,
    kept_within,
    make_topics,
    write_to_leaders,
)
from mockbroker.testing.promises import BrokenPromiseError, expect
from protocol.apis.cluster import DescribeClusterRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.topics import DeleteTopicsRequest
from protocol.error_codes import ErrorCode
from protocol.records import iter_batches

LAST_OLD_METADATA = 13
OLDEST_PRODUCE, OLDEST_FETCH = 3, 4
"""The first versions with batches of magic 2."""
SELECTOR = "replica.selector.class"


def certify_server(server: ServerUnderTest, progress: Callable[[str], None]) -> list[CertifyCheck]:
    """Make topics, try every promise, and delete the topics. Raises: RealClusterError: the cluster refuses them."""
    checks = []
    try:
        make_topics(server)
        for name, question, source, kind, judge in SERVER_CHECKS:
            progress(question)
            verdict, evidence = judged(server, server.topic(kind), judge)
            checks.append(CertifyCheck(name, question, 1, verdict, evidence, f"{source} promises it"))
    finally:
        names = [server.topic(kind) for kind in (SPREAD, SINGLE, DISKLESS)]
        request = DeleteTopicsRequest(topics=[DeleteTopicsRequest.Topic(name=name) for name in names])
        request.topic_names, request.timeout_ms = names, 10_000
        server.ask_controller(request)
    return checks


def judged(server: ServerUnderTest, topic: str, judge: Callable[[ServerUnderTest, str], str]) -> Judgement:
    if topic in server.refused:
        return NOT_OFFERED, server.refused[topic]
    try:
        return PASS, judge(server, topic)
    except (BrokenPromiseError, RealClusterError) as broken:
        return FAIL, str(broken)
    except NotJudgedError as why:
        return why.verdict, str(why)


# promises


def racks_reported(server: ServerUnderTest, _: str) -> str:
    """Metadata of each broker has the brokers' racks, as DescribeCluster has them."""
    describes = bool(server.versions(DescribeClusterRequest))
    for broker in server.brokers:
        text, answer = server.ask(broker, MetadataRequest(topics=[]))
        racks = {one.node_id: one.rack for one in answer.brokers}
        for rack in server.plan.racks:
            expect(rack in racks.values(), f"{text} names no broker of rack {rack}: {racks_text(racks)}")
        expect(all(racks.values()), f"{text} names a broker without a rack: {racks_text(racks)}")
        if describes:
            other, answer = server.ask(broker, DescribeClusterRequest())
            described = {one.broker_id: one.rack for one in answer.brokers}
            expect(described == racks, f"{text}: {racks_text(racks)}; but {other}: {racks_text(described)}")
    return f"{len(server.brokers)} brokers report {racks_text(racks)}"


def racks_text(racks: dict[int, str | None]) -> str:
    return ", ".join(f"{broker} in {rack or 'no rack'}" for broker, rack in sorted(racks.items()))


def replicas_spread(server: ServerUnderTest, topic: str) -> str:
    shown = server.look(topic)
    for index, one in shown.partitions.items():
        racks = {shown.rack_of(broker) for broker in one.replica_nodes} - {None}
        wanted = min(len(one.replica_nodes), len(server.racks))
        where = ", ".join(shown.broker_text(broker) for broker in one.replica_nodes)
        expect(
            len(racks) == wanted,
            f"CreateTopics left placement to the server; {shown.request} names {where} for partition {index}: "
            f"expected {wanted} racks, got {len(racks)}",
        )
    return f"the replicas of {len(shown.partitions)} partitions are in {wanted} racks each"


def leader_accepts(server: ServerUnderTest, topic: str) -> str:
    written = sum(write_as_each(server, topic, rack) for rack in server.racks)
    return f"{written} writes went to the leader named, and were accepted"


def write_as_each(server: ServerUnderTest, topic: str, rack: str) -> int:
    """The number of writes of the clients of a rack, which leaders named accept. Raises BrokenPromiseError."""
    return sum(write_to_leaders(server, server.look(topic, asker)) for asker in server.askers(rack).values())


def hints_agree(server: ServerUnderTest, topic: str) -> str:
    is_classic = topic == server.topic(SINGLE)
    if not (server.versions(ProduceRequest, FIRST_PRODUCE_HINT) and server.versions(FetchRequest, FIRST_FETCH_HINT)):
        raise NotJudgedError(NOT_OFFERED, f"no Produce v{FIRST_PRODUCE_HINT} and Fetch v{FIRST_FETCH_HINT}")
    refused = accepted = 0
    for rack in server.racks:
        before = server.look(topic, server.named(rack))
        for index, broker in elsewhere(before):
            replies = [
                server.write(before, index, broker),
                server.fetch(before, index, broker, rack=rack),
            ]
            for reply in replies:
                if reply.error == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    refused += 1
                    leader = reply.answer.current_leader
                    expect(
                        agrees(reply, before, index) or agrees(reply, server.look(topic, before.asker), index),
                        f"{before.leads(index)}, epoch {before.partitions[index].leader_epoch}; but {reply.text} with "
                        f"currentLeader {leader.leader_id}, epoch {leader.leader_epoch}{endpoint_text(reply)}",
                    )
                else:
                    accepted += 1
                    expect(not is_classic and not reply.error, f"{before.leads(index)}; but {reply.text}")
    if not accepted and not refused:
        raise NotJudgedError(NOT_TRIED, "every broker has a replica of every partition")
    served = f"other brokers accepted {accepted} requests; " if accepted else ""
    return f"{served}{refused} refusals of other brokers name the leader, epoch and address of Metadata"


def elsewhere(shown: TopicAnswer) -> Iterator[tuple[int, int]]:
    """Each partition with each broker that is neither its leader nor, so it seems, a replica."""
    for index, one in shown.partitions.items():
        for broker in shown.brokers:
            if broker != one.leader_id and broker not in one.replica_nodes:
                yield index, broker


def agrees(reply: PartitionReply, shown: TopicAnswer, index: int) -> bool:
    """True if an error names the leader, its epoch and its address as Metadata does."""
    named, one = reply.answer.current_leader, shown.partitions[index]
    broker = shown.brokers.get(named.leader_id)
    at = reply.endpoints.get(named.leader_id)
    if broker is None or at is None or (at.host, at.port, at.rack) != (broker.host, broker.port, broker.rack):
        return False
    return named.leader_id == one.leader_id and one.leader_epoch in (NO_BROKER, named.leader_epoch)


def endpoint_text(reply: PartitionReply) -> str:
    at = reply.endpoints.get(reply.answer.current_leader.leader_id)
    return f" at {at.host}:{at.port} in rack {at.rack}" if at is not None else " without its address"


def reads_near(server: ServerUnderTest, topic: str) -> str:
    """Leaders send a reader to the in-sync replica in its rack (KIP-392)."""
    require_selector(server)
    sent = sum(read_near(server, topic, rack) for rack in server.racks)
    if not sent:
        raise NotJudgedError(NOT_TRIED, "no reader has an in-sync replica in its rack and the leader in another")
    return f"{sent} readers were sent to the replica in their rack, and read there"


def require_selector(server: ServerUnderTest) -> None:
    """Raises NotJudgedError: leaders do not know the reader's rack, or do not select replicas."""
    if not server.versions(FetchRequest, FIRST_FETCH_RACK):
        raise NotJudgedError(NOT_OFFERED, f"no Fetch v{FIRST_FETCH_RACK}")
    settings = server.settings_of(min(server.brokers), [SELECTOR])
    if SELECTOR in settings and not settings[SELECTOR]:
        raise NotJudgedError(NOT_OFFERED, f"brokers have no {SELECTOR}")


def read_near(server: ServerUnderTest, topic: str, rack: str) -> int:
    """The number of partitions that a reader of a rack is sent to there, and reads. Raises BrokenPromiseError."""
    sent = 0
    shown = server.look(topic, server.named(rack))
    for index, one in shown.partitions.items():
        near = [broker for broker in one.isr_nodes if shown.rack_of(broker) == rack]
        if not near or shown.rack_of(one.leader_id) == rack:
            continue

        def redirect(index: int = index, leader: int = one.leader_id, near: list[int] = near) -> PartitionReply:
            reply = server.fetch(shown, index, leader, rack=rack)
            expect(
                reply.answer.preferred_read_replica in near,
                f"{shown.leads(index)} and {shown.broker_text(near[0])} in sync; but {reply.text}",
            )
            return reply

        redirected = kept_within(server.plan.settle_s, redirect)
        follower = redirected.answer.preferred_read_replica
        read = server.fetch(shown, index, follower, rack=rack)
        expect(not read.error, f"{redirected.text}; but {read.text}")
        sent += 1
    return sent


def sent_home(form: str, server: ServerUnderTest, topic: str) -> str:
    """Metadata names leaders in the client's rack, to clients of one of ``FORMS``."""
    askers = {rack: server.askers(rack).get(form) for rack in server.racks}
    named = sum(led_at_home(server, topic, asker, rack) for rack, asker in askers.items() if asker is not None)
    if not named:
        raise NotJudgedError(NOT_OFFERED, f"no {form}, which has RackId")
    return f"{named} leaders named are in the client's rack"


def led_at_home(server: ServerUnderTest, topic: str, asker: ServerAsker, rack: str) -> int:
    """The number of partitions, all of whose leaders are in the client's rack. Raises BrokenPromiseError."""
    shown = server.look(topic, asker)
    for index, one in shown.partitions.items():
        there = ", ".join(shown.broker_text(broker) for broker in shown.brokers if shown.rack_of(broker) == rack)
        is_home = shown.rack_of(one.leader_id) == rack
        expect(is_home, f"{shown.leads(index)}; but Metadata has {there or 'no broker there'}")
    return len(shown.partitions)


def unknown_rack_reads(server: ServerUnderTest, topic: str) -> str:
    """A reader of a rack without brokers stays with the leader, or is sent to a replica."""
    rack = f"{server.plan.prefix}-rack"
    if not server.versions(FetchRequest, FIRST_FETCH_RACK):
        raise NotJudgedError(NOT_OFFERED, f"no Fetch v{FIRST_FETCH_RACK}")
    shown = server.look(topic)
    for index, one in shown.partitions.items():
        read = server.fetch(shown, index, one.leader_id, rack=rack)
        is_served = not read.error and read.answer.preferred_read_replica in (NO_BROKER, *one.replica_nodes)
        expect(is_served, f"{shown.leads(index)}; but {read.text}")
    return f"{len(shown.partitions)} leaders serve a reader of rack {rack}"


def unknown_rack(server: ServerUnderTest, topic: str) -> str:
    rack = f"{server.plan.prefix}-rack"
    written = write_as_each(server, topic, rack)
    return f"{written} leaders were named to clients of rack {rack}, and accepted a write"


def old_client(server: ServerUnderTest, topic: str) -> str:
    versions = server.versions(MetadataRequest, most=LAST_OLD_METADATA)
    produce, fetch = server.versions(ProduceRequest, OLDEST_PRODUCE), server.versions(FetchRequest, OLDEST_FETCH)
    if not (versions and produce and fetch):
        raise NotJudgedError(NOT_OFFERED, "no versions of Metadata, Produce and Fetch with batches that we speak")
    for version in versions:
        shown = server.look(topic, version=version)
        for index, one in shown.partitions.items():
            expect(one.leader_id in shown.brokers, shown.leads(index))
            wrote = server.write(shown, index, one.leader_id, produce[0])
            expect(not wrote.error, f"{shown.leads(index)}; but {wrote.text}")
            offset = wrote.answer.base_offset
            read = server.fetch(shown, index, one.leader_id, offset=offset, version=fetch[0])
            is_read = not read.error and offset in offsets(read)
            expect(is_read, f"{wrote.text}; but {read.text} from offset {offset}")
    return f"Metadata v{versions[0]} to v{versions[-1]}, Produce v{produce[0]} and Fetch v{fetch[0]} agree"


def offsets(read: PartitionReply) -> set[int]:
    return {one for batch in iter_batches(read.answer.records or b"") for one in (batch.base_offset, batch.last_offset)}


def stopped(server: ServerUnderTest, topic: str) -> str:
    broken = outage_of(server)[topic]
    expect(not broken, broken)
    return f"clients of rack {server.racks[-1]} were sent elsewhere while it was down, and their writes accepted"


def readers_return(server: ServerUnderTest, topic: str) -> str:
    """Readers of a rack that was down are sent to the replicas there again (KIP-392)."""
    require_selector(server)
    return come_home(server, lambda rack: near_again(server, topic, rack))


def near_again(server: ServerUnderTest, topic: str, rack: str) -> int:
    """The number of partitions with replicas in a rack. Raises BrokenPromiseError: one is not in sync, or not read."""
    shown = server.look(topic)
    home = {broker for broker, one in server.brokers.items() if one.rack == rack}
    for index, one in shown.partitions.items():
        for broker in home.intersection(one.replica_nodes):
            is_behind = f"{shown.leads(index)}, and {shown.broker_text(broker)} is not in sync"
            expect(broker in one.isr_nodes, is_behind)
    read_near(server, topic, rack)
    return sum(not home.isdisjoint(one.replica_nodes) for one in shown.partitions.values())


def return_home(server: ServerUnderTest, topic: str) -> str:
    """Metadata names leaders in a rack that was down to its clients again."""
    return come_home(
        server, lambda rack: sum(led_at_home(server, topic, one, rack) for one in server.askers(rack).values())
    )


def come_home(server: ServerUnderTest, sent: Callable[[str], int]) -> str:
    """Wait until clients are sent to the rack that was down; ``sent`` counts the partitions, or raises."""
    outage_of(server)
    rack = server.racks[-1]
    found = in_time(server, f"rack {rack} has been back", lambda: sent(rack))
    if not found:
        raise NotJudgedError(NOT_TRIED, f"no partition has a replica in rack {rack}")
    return f"clients of rack {rack} were sent to its brokers again"


def outage_of(server: ServerUnderTest) -> dict[str, str]:
    """Stop the last rack once, and start it again: topic -> what was wrong, "" for nothing.

    Raises NotJudgedError: nothing can stop a rack.
    """
    plan, rack = server.plan, server.racks[-1]
    if plan.stop_rack is None or plan.start_rack is None:
        raise NotJudgedError(NOT_TRIED, "no command stops a rack: --stop-rack and --start-rack")
    if server.outage:
        return server.outage
    before = server.brokers
    topics = [topic for topic in map(server.topic, (SPREAD, DISKLESS)) if topic not in server.refused]
    plan.stop_rack(rack)
    try:
        server.brokers = {one.id: one for one in before.values() if one.rack != rack}
        server.outage = {topic: sent_elsewhere(server, topic, rack) for topic in topics}
    finally:
        plan.start_rack(rack)
        server.close()
        server.brokers = before
    for topic in topics:
        await_leaders(server, topic, plan.metadata_age_s)
    return server.outage


def sent_elsewhere(server: ServerUnderTest, topic: str, rack: str) -> str:
    """Wait until clients of a stopped rack are sent elsewhere; what is wrong when the time is over, or ""."""
    try:
        in_time(server, f"rack {rack} has been down", lambda: write_as_each(server, topic, rack))
    except BrokenPromiseError as broken:
        return str(broken)
    return ""


def in_time(server: ServerUnderTest, since: str, count: Callable[[], int]) -> int:
    """The result of ``count``, which raises until it holds. Raises BrokenPromiseError: the metadata age has passed."""
    try:
        return kept_within(server.plan.metadata_age_s, count)
    except (BrokenPromiseError, RealClusterError) as wrong:
        raise BrokenPromiseError(f"{since} for {server.plan.metadata_age_s:g} s; but {wrong}") from None


SENT_HOME = [partial(sent_home, form) for form in FORMS]
SERVER_CHECKS: tuple[tuple[str, str, str, str, Callable[[ServerUnderTest, str], str]], ...] = (
    ("racks_reported", "do brokers report their racks", "KIP-36", "", racks_reported),
    ("replicas_spread", "are new replicas spread over racks", "KIP-36", SPREAD, replicas_spread),
    ("leader_accepts", "does the leader named accept writes", "Kafka", SPREAD, leader_accepts),
    ("hints_agree", "do errors name Metadata's leader", "KIP-951", SINGLE, hints_agree),
    ("reads_near", "are readers sent to the replica in their rack", "KIP-392", SPREAD, reads_near),
    ("unknown_rack_reads", "is a reader of an unknown rack served", "KIP-392", SPREAD, unknown_rack_reads),
    ("old_client", "does an old client work", "Kafka", SPREAD, old_client),
    ("diskless_leader_accepts", "diskless: does the leader named accept writes", "KIP-1163", DISKLESS, leader_accepts),
    ("diskless_hints_agree", "diskless: do errors name Metadata's leader", "KIP-1163", DISKLESS, hints_agree),
    ("diskless_client_id", "diskless: does a zone in client.id lead to its rack", "KIP-1163", DISKLESS, SENT_HOME[0]),
    ("diskless_rack_id", "diskless: does RackId of Metadata lead to its rack", "KIP-1163", DISKLESS, SENT_HOME[1]),
    ("diskless_described", "diskless: does RackId of DescribeTopicPartitions", "KIP-1163", DISKLESS, SENT_HOME[2]),
    ("diskless_unknown_rack", "diskless: does an unknown rack get some broker", "KIP-1163", DISKLESS, unknown_rack),
    ("diskless_old_client", "diskless: does an old client work", "KIP-1163", DISKLESS, old_client),
    ("rack_stops", "are clients of a stopped rack sent elsewhere", "Kafka", SPREAD, stopped),
    ("rack_returns", "do readers return to a rack that is back", "KIP-392", SPREAD, readers_return),
    ("diskless_rack_stops", "diskless: are clients of a stopped rack sent elsewhere", "KIP-1163", DISKLESS, stopped),
    ("diskless_rack_returns", "diskless: do clients return to a rack that is back", "KIP-1163", DISKLESS, return_home),
)
"""Name, question, source, the kind of topic that it is about, and the judge, which gets the topic's name."""


def report_json(server: str, racks: Sequence[str], checks: Sequence[CertifyCheck]) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "server": server,
        "racks": list(racks),
        "kept": sum(one.verdict == PASS for one in checks),
        "broken": sum(one.verdict == FAIL for one in checks),
        "checks": [one.to_json() for one in checks],
    }
