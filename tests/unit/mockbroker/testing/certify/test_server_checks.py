"""Promises of a server: our cluster keeps all, and with one broken by a handler exactly its check fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mockbroker import MockCluster
from mockbroker.adapters.client_properties.bootstrap import servers_in
from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.connection import RealClusterError
from mockbroker.api import api_of
from mockbroker.call import Call, Wait
from mockbroker.testing.certify import server_checks
from mockbroker.testing.certify.checks import CertifyCheck
from mockbroker.testing.certify.server_checks import certify_server
from mockbroker.testing.certify.server_under_test import ServerPlan, ServerUnderTest
from protocol.apis.topics import CreateTopicsRequest, CreateTopicsResponse
from protocol.error_codes import ErrorCode

PRODUCE, FETCH, METADATA, CREATE_TOPICS, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS = 0, 1, 3, 19, 60, 75
RACKS = ("a", "b", "c")
SETTINGS = {"replica.selector.class": "rack-aware"}
PLAN = ServerPlan(RACKS, "certified", 3, "kafka-rack,diskless_az={rack}", metadata_age_s=60.0)
SOON_S = 0.3

Change = Callable[[Call, Any, Any], None]


def of(cluster: MockCluster, plan: ServerPlan) -> ServerUnderTest:
    return ServerUnderTest(servers_in(cluster.bootstrap_servers), ClientSettings(timeout_s=30), plan)


def certified(
    settings: dict[str, str] = SETTINGS, plan: ServerPlan = PLAN, brokers: int = 3, **details: Any
) -> list[CertifyCheck]:
    with MockCluster(brokers, topics={"payments": (2, 3)}, settings=settings, **details) as cluster:
        plan = replace(plan, stop_rack=cluster.stop_rack, start_rack=cluster.start_rack)
        server = of(cluster, plan)
        try:
            return certify_server(server, lambda _: None)
        finally:
            server.close()


def verdicts(checks: list[CertifyCheck]) -> dict[str, str]:
    return {one.id: one.verdict for one in checks}


@pytest.fixture
def plant(monkeypatch) -> Callable[[int, Change], None]:
    """Plants a fault: after an API's handler, a function changes its answer."""

    def planted(api_key: int, change: Change) -> None:
        api = api_of(api_key)
        assert api is not None
        handler = api.handler

        def changed(call: Call, request: Any, answer: Any) -> Any:
            if isinstance(answer, Wait):
                return replace(answer, then=lambda later: changed(later, request, answer.then(later)))
            change(call, request, answer)
            return answer

        monkeypatch.setattr(api, "handler", lambda call, request: changed(call, request, handler(call, request)))

    return planted


def parts(call: Call, answer: Any, topic: str) -> list[Any]:
    """The partitions of a topic of certify in an answer of Metadata, Produce or Fetch."""
    topics = getattr(answer, "responses", None) or getattr(answer, "topics", [])
    return [
        part
        for one in topics
        if topic_name(call, one) == f"certified-{topic}"
        for part in getattr(one, "partition_responses", None) or one.partitions
    ]


def topic_name(call: Call, one: Any) -> str | None:
    if getattr(one, "topic_id", bytes(16)) != bytes(16):
        found = call.cluster.topic_by_id.get(one.topic_id)
        return None if found is None else found.name
    return getattr(one, "name", None) or getattr(one, "topic", None)


def leading(topic: str, leader: int, when: Callable[[Call, Any], bool]) -> Change:
    """Metadata names this leader, when so."""

    def change(call: Call, request: Any, answer: Any) -> None:
        for part in parts(call, answer, topic) if when(call, request) else ():
            part.leader_id = leader

    return change


def failing(topic: str, when: Callable[[Call, Any], bool]) -> Change:
    """Each partition has an error, when so."""

    def change(call: Call, request: Any, answer: Any) -> None:
        for part in parts(call, answer, topic) if when(call, request) else ():
            part.error_code = ErrorCode.KAFKA_STORAGE_ERROR

    return change


def says_rack(rack: str) -> Callable[[Call, Any], bool]:
    return lambda call, _: call.session.client_id == f"kafka-rack,diskless_az={rack}"


def is_down(call: Call, rack: str = "c") -> bool:
    return not any(broker.is_running for broker in call.cluster.brokers.values() if broker.rack == rack)


def was_down(call: Call) -> bool:
    """True once the rack that stopped is back: it led a partition, which has been led by others since."""
    topic = call.cluster.topics.get("certified-spread")
    return not is_down(call) and topic is not None and any(one.leader_epoch for one in topic.partitions)


def another_rack(call: Call, request: Any, answer: Any) -> None:
    answer.brokers[2].rack = "z"


def another_leader(call: Call, request: Any, answer: Any) -> None:
    for part in parts(call, answer, "single"):
        if part.error_code:
            part.current_leader.leader_id = (part.current_leader.leader_id + 1) % 3


def another_epoch(call: Call, request: Any, answer: Any) -> None:
    for part in parts(call, answer, "single"):
        if part.error_code:
            part.current_leader.leader_epoch += 1


def no_address(call: Call, request: Any, answer: Any) -> None:
    answer.node_endpoints = []


def accepted_anywhere(call: Call, request: Any, answer: Any) -> None:
    for part in parts(call, answer, "single"):
        part.error_code = ErrorCode.NONE


def nobody_near(when: Callable[[Call], bool]) -> Change:
    def change(call: Call, request: Any, answer: Any) -> None:
        for part in parts(call, answer, "spread") if when(call) else ():
            part.preferred_read_replica = -1

    return change


def unknown_racks_are_sent_nowhere(call: Call, request: Any, answer: Any) -> None:
    for part in parts(call, answer, "spread"):
        if request.rack_id not in ("", *RACKS):
            part.preferred_read_replica = 99


def follower_refuses(call: Call, request: Any, answer: Any) -> None:
    for part in parts(call, answer, "spread"):
        topic = call.cluster.topics["certified-spread"]
        if (
            not was_down(call)
            and request.rack_id in RACKS
            and topic.partitions[part.partition_index].leader != call.broker.id
        ):
            part.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER


def no_records_for_old_clients(topic: str) -> Change:
    def change(call: Call, request: Any, answer: Any) -> None:
        for part in parts(call, answer, topic) if call.version == 4 else ():
            part.records = b""

    return change


def owner_of_rack_a(call: Call, request: Any, answer: Any) -> None:
    """Brokers of other racks refuse clients of rack a, and name a broker that Metadata does not name to them."""
    if says_rack("a")(call, request) and call.broker.rack != "a":
        for part in parts(call, answer, "diskless"):
            part.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            part.current_leader.leader_id = 1


FAULTS: list[tuple[str, int, Change, str]] = [
    ("racks_reported", DESCRIBE_CLUSTER, another_rack, "Metadata v14"),
    ("leader_accepts", PRODUCE, failing("spread", says_rack("b")), "Produce v13 of client 'kafka-rack,diskless_az=b'"),
    ("hints_agree", PRODUCE, another_leader, "Produce v13"),
    ("hints_agree", PRODUCE, no_address, "without its address"),
    ("hints_agree", PRODUCE, accepted_anywhere, "Produce v13"),
    ("hints_agree", FETCH, another_epoch, "Fetch v18"),
    ("reads_near", FETCH, nobody_near(lambda call: not was_down(call)), "preferred replica -1"),
    ("reads_near", FETCH, follower_refuses, "NOT_LEADER_OR_FOLLOWER"),
    ("unknown_rack_reads", FETCH, unknown_racks_are_sent_nowhere, "preferred replica 99"),
    ("old_client", METADATA, leading("spread", -1, lambda call, _: call.version == 5), "Metadata v5"),
    ("old_client", FETCH, no_records_for_old_clients("spread"), "Fetch v4"),
    ("old_client", PRODUCE, failing("spread", lambda call, _: call.version == 3), "Produce v3"),
    ("rack_stops", METADATA, leading("spread", 2, lambda call, _: is_down(call)), "unknown broker 2"),
    ("rack_returns", FETCH, nobody_near(was_down), "rack c has been back for 0.3 s; but Metadata"),
    (
        "diskless_rack_returns",
        METADATA,
        leading("diskless", 0, lambda call, request: was_down(call) and says_rack("c")(call, request)),
        "rack c has been back for 0.3 s; but Metadata",
    ),
    (
        "diskless_leader_accepts",
        PRODUCE,
        failing("diskless", lambda call, request: says_rack("a")(call, request) and call.broker.rack == "a"),
        "KAFKA_STORAGE_ERROR",
    ),
    ("diskless_hints_agree", PRODUCE, owner_of_rack_a, "currentLeader 1"),
    ("diskless_client_id", METADATA, leading("diskless", 0, says_rack("b")), "Metadata has broker 1 (rack b)"),
    (
        "diskless_rack_id",
        METADATA,
        leading("diskless", 2, lambda call, request: call.version >= 14 and request.rack_id == "b"),
        "Metadata v14 of client 'kafka-rack', RackId b",
    ),
    (
        "diskless_described",
        DESCRIBE_TOPIC_PARTITIONS,
        leading("diskless", 2, lambda _, request: request.rack_id == "b"),
        "DescribeTopicPartitions v1 of client 'kafka-rack', RackId b",
    ),
    (
        "diskless_unknown_rack",
        METADATA,
        leading("diskless", -1, lambda _, request: request.rack_id not in ("", *RACKS)),
        "names no broker",
    ),
    ("diskless_old_client", METADATA, leading("diskless", 99, lambda call, _: call.version == 0), "unknown broker 99"),
    ("diskless_old_client", FETCH, no_records_for_old_clients("diskless"), "Fetch v4"),
    ("diskless_rack_stops", METADATA, leading("diskless", 2, lambda call, _: is_down(call)), "unknown broker 2"),
]


def test_our_cluster_keeps_every_promise_and_only_its_own_topics_stay():
    with MockCluster(topics={"payments": (2, 3)}, settings=SETTINGS) as cluster:
        plan = replace(PLAN, stop_rack=cluster.stop_rack, start_rack=cluster.start_rack)
        server = of(cluster, plan)
        checks = certify_server(server, lambda _: None)
        server.close()
        assert set(verdicts(checks).values()) == {"pass"}, checks
        shown = client_topics(cluster.bootstrap_servers)
    assert shown == {"payments"}


def client_topics(servers: str) -> set[str]:
    from mockbroker.adapters.real_cluster.cluster import LiveCluster

    with LiveCluster(servers) as cluster:
        return set(cluster.snapshot().topics)


@pytest.mark.parametrize(
    ("check", "api_key", "change", "words"), FAULTS, ids=[f"{place}-{one[0]}" for place, one in enumerate(FAULTS)]
)
def test_a_broken_promise_fails_exactly_its_check_and_names_request_and_answers(check, api_key, change, words, plant):
    plant(api_key, change)
    found = certified(plan=replace(PLAN, metadata_age_s=SOON_S, settle_s=SOON_S))
    broken = [one for one in found if one.verdict != "pass"]
    assert [(one.id, one.verdict) for one in broken] == [(check, "fail")], broken
    assert words in broken[0].evidence


def test_replicas_in_one_rack_break_the_promise_of_placement(monkeypatch):
    api = api_of(CREATE_TOPICS)
    assert api is not None
    handler = api.handler

    def in_two_racks(call: Call, request: Any) -> Any:
        for topic in request.topics:
            if topic.replication_factor == 3:
                topic.num_partitions = topic.replication_factor = -1
                assignment = type(topic).Assignment
                topic.assignments = [assignment(partition_index=index, broker_ids=[0, 3, 2]) for index in range(3)]
        return handler(call, request)

    monkeypatch.setattr(api, "handler", in_two_racks)
    broken = [one for one in certified(brokers=6) if one.verdict != "pass"]
    assert [(one.id, one.verdict) for one in broken] == [("replicas_spread", "fail")], broken
    assert "broker 0 (rack a), broker 3 (rack a), broker 2 (rack c)" in broken[0].evidence


def test_brokers_without_a_selector_offer_no_near_reading():
    assert verdicts(certified(settings={}))["reads_near"] == "not offered"


@pytest.mark.parametrize(
    ("profile", "client_id", "not_tried"),
    [
        ("inkless", "x,diskless_az={rack}", set()),
        ("inkless-managed", "x,diskless_az={rack}", {"diskless_hints_agree"}),
        ("automq", "automq_az={rack}&x", set()),
        ("lakestream", "zone_id={rack},x", set()),
        ("warpstream", "x,ws_az={rack}", set()),
        ("bufstream", "x;zone={rack}", set()),
    ],
)
def test_each_diskless_system_keeps_the_promises_that_it_makes(profile, client_id, not_tried):
    plan = replace(PLAN, zone_client_id=client_id)
    found = verdicts(certified(plan=plan, diskless_as=profile, emulate="4.4"))
    assert {name for name, verdict in found.items() if verdict == "not offered"} == {
        "diskless_rack_id",
        "diskless_described",
    }
    assert {name for name, verdict in found.items() if verdict == "not tried"} == not_tried
    assert "fail" not in found.values()


def refusing(name: str) -> Callable[[CreateTopicsRequest.Topic], int]:
    """The error of a server that knows nothing but diskless topics, for a new topic."""

    def error(topic: CreateTopicsRequest.Topic) -> int:
        if name == "factor" and topic.replication_factor > 1:
            return ErrorCode.INVALID_REPLICATION_FACTOR
        if name == "config" and any(one.name == "diskless.enable" for one in topic.configs):
            return ErrorCode.INVALID_CONFIG
        return ErrorCode.NONE

    return error


@pytest.mark.parametrize("refused", ["nothing", "factor", "config"])
def test_a_server_with_diskless_topics_alone_offers_no_checks_of_classic_ones(refused, monkeypatch):
    api = api_of(CREATE_TOPICS)
    assert api is not None
    handler, error = api.handler, refusing(refused)

    def handled(call: Call, request: Any) -> Any:
        codes = {topic.name: error(topic) for topic in request.topics}
        request.topics = [topic for topic in request.topics if not codes[topic.name]]
        answer = handler(call, request)
        result = CreateTopicsResponse.Topic
        answer.topics += [result(name=name, error_code=code) for name, code in codes.items() if code]
        return answer

    monkeypatch.setattr(api, "handler", handled)
    found = certified(settings={**SETTINGS, "diskless.enable": "true"})
    about_topics = {one.id for one in found if one.id != "racks_reported"}
    verdict = {name: "pass" if name.startswith("diskless") else "not offered" for name in about_topics}
    assert verdicts(found) == {"racks_reported": "pass", **verdict}, found


def test_a_rack_that_no_broker_reports_breaks_the_promise_of_racks():
    found = verdicts(certified(plan=replace(PLAN, racks=["a", "b", "c", "d"])))
    assert {name for name, verdict in found.items() if verdict != "pass"} == {"racks_reported"}


def test_topics_are_deleted_when_a_check_ends_with_an_exception(monkeypatch):
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(server_checks, "SERVER_CHECKS", (("x", "x", "x", "", interrupted),))
    with MockCluster(settings=SETTINGS) as cluster:
        server = of(cluster, PLAN)
        with pytest.raises(KeyboardInterrupt):
            certify_server(server, lambda _: None)
        server.close()
        assert client_topics(cluster.bootstrap_servers) == set()


def test_a_cluster_of_one_rack_is_not_judged():
    words = "expected brokers in two or more of the racks, got a"
    with MockCluster(2, racks=["a"]) as cluster, pytest.raises(RealClusterError, match=words):
        of(cluster, replace(PLAN, racks=[]))
