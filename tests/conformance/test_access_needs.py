"""The table of what each API asks for says what Kafka did: whose answer changed once one operation was denied.

Kafka's answers to users who may do everything but one thing are those of fixtures/answers/, family ``authorization``.
"""

from __future__ import annotations

import json
from functools import cache

from mockbroker.api import MODULES, OPERATIONS, Needs, api_of
from protocol.registry import APIS
from tests.answers.access_requests_of_the_cluster import all_requests
from tests.answers.recorded import recorded
from tests.answers.scenarios.authorization import (
    CLUSTER,
    EVERYTHING,
    GROUP,
    NOBODY,
    PAIRS,
    SUPER,
    TOPIC,
    TRANSACTIONAL_ID,
    USER,
    user_of,
)
from tests.answers.versions import VERSIONS
from tests.cases import for_each

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION = 3, 4, 5, 6, 7, 8, 9
DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, CREATE_TOKENS = 10, 11, 12, 13
Pair = tuple[int, int]

BEFORE_LOGIN = {"SaslHandshake", "SaslAuthenticate"}
ZOOKEEPER = {"UpdateMetadata"}
BESIDES: dict[str, set[Pair]] = {
    "Produce": {(TRANSACTIONAL_ID, WRITE)},
    "Fetch": {(CLUSTER, CLUSTER_ACTION)},
    "FindCoordinator": {(CLUSTER, CLUSTER_ACTION)},
    "CreateTopics": {(TOPIC, DESCRIBE_CONFIGS)},
    "DescribeConfigs": {(CLUSTER, DESCRIBE_CONFIGS), (GROUP, DESCRIBE_CONFIGS)},
    "AlterConfigs": {(CLUSTER, ALTER_CONFIGS), (GROUP, ALTER_CONFIGS)},
    "IncrementalAlterConfigs": {(CLUSTER, ALTER_CONFIGS), (GROUP, ALTER_CONFIGS)},
    "AddPartitionsToTxn": {(CLUSTER, CLUSTER_ACTION)},
    "CreateDelegationToken": {(USER, CREATE_TOKENS)},
    "ListTransactions": {(TRANSACTIONAL_ID, DESCRIBE)},
}
"""What the table has in its notes alone."""
HAS_ANOTHER_WAY: dict[str, set[Pair]] = {
    "CreateTopics": {(TOPIC, CREATE)},
    "DeleteTopics": {(TOPIC, DELETE)},
    "OffsetForLeaderEpoch": {(TOPIC, DESCRIBE)},
    "WriteTxnMarkers": {(CLUSTER, ALTER)},
    "AddPartitionsToTxn": {(TOPIC, WRITE), (TRANSACTIONAL_ID, WRITE)},
}
"""What changes nothing for who may do all else: the cluster's operation will do, or newer versions ask for another."""
NOT_REACHED: dict[str, set[Pair]] = {
    "ConsumerGroupDescribe": {(TOPIC, DESCRIBE)},
    "ShareGroupDescribe": {(TOPIC, DESCRIBE)},
    "StreamsGroupDescribe": {(TOPIC, DESCRIBE)},
    "ShareAcknowledge": {(TOPIC, READ)},
}
"""What the request of this family does not come to; the scenarios of ``authorization_details`` do."""


@cache
def kafkas() -> dict[tuple[str, str], dict[str, str]]:
    """By API and what is special: what Kafka answered each user in the newest version, without what may be done."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for lines in recorded("authorization").values():
        for step, line in lines.items():
            if line["version"] == VERSIONS[line["api"]][1]:
                *what, user = (
                    step.partition(", ")[2].rsplit(", ", maxsplit=1)
                    if step.count(", ") > 1
                    else [
                        "",
                        step.partition(", ")[2],
                    ]
                )
                answer = json.dumps(without_operations(line["answer"])).replace(f'"{user}"', '"user"')
                found.setdefault((line["api"], what[0]), {})[user] = answer
    return found


def without_operations(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_operations(one) for key, one in value.items() if not key.endswith("Operations")}
    return [without_operations(one) for one in value] if isinstance(value, list) else value


def in_columns(needs: Needs) -> set[Pair]:
    columns = {CLUSTER: needs.cluster, GROUP: needs.group, TOPIC: needs.topic, TRANSACTIONAL_ID: needs.transactional_id}
    return {(kind, OPERATIONS[operation]) for kind, operation in columns.items() if operation}


def test_every_api_that_is_served_was_asked_of_kafka():
    assert {api for api, _ in kafkas()} == {APIS[key][1] for key in MODULES} - BEFORE_LOGIN - ZOOKEEPER
    assert set(kafkas()) == set(all_requests())


@for_each(lambda: [(APIS[key][1], (key,)) for key in MODULES])
def test_kafka_asks_for_what_the_table_says_and_for_nothing_else(api_key: int):
    name = APIS[api_key][1]
    asked_for: set[Pair] = set()
    for (api, _), answers in kafkas().items():
        if api == name:
            everything = answers[EVERYTHING]
            asked_for |= {pair for pair in PAIRS if answers[user_of(*pair, only=False)] != everything}
    if name in BEFORE_LOGIN | ZOOKEEPER:
        return
    wanted = in_columns(api_of(api_key).access) | BESIDES.get(name, set())
    assert asked_for == wanted - HAS_ANOTHER_WAY.get(name, set()) - NOT_REACHED.get(name, set())


@for_each(lambda: [(api, (api,)) for api in sorted(HAS_ANOTHER_WAY)])
def test_another_way_is_one_that_kafka_takes(api: str):
    """Who may do one of the two alone is answered otherwise than who may do nothing."""
    answers = kafkas()[api, ""]
    for pair in HAS_ANOTHER_WAY[api] if api != "AddPartitionsToTxn" else ():
        assert answers[user_of(*pair, only=True)] != answers[NOBODY]


def test_an_idempotent_producer_gets_in_by_the_cluster_or_by_any_topic():
    answers = kafkas()["InitProducerId", ""]
    by = {pair for pair in PAIRS if answers[user_of(*pair, only=True)] == answers[EVERYTHING]}
    assert by == {(CLUSTER, IDEMPOTENT_WRITE), (TOPIC, WRITE)}


@for_each(lambda: [(f"{api} {what}", (api, what)) for api, what in sorted(kafkas())])
def test_a_super_user_is_refused_nothing(api: str, what: str):
    refused = {'"errorCode": 29', '"errorCode": 30', '"errorCode": 31', '"errorCode": 53', '"errorCode": 65'}
    if (api, what) == ("Produce", "in a transaction of no id"):
        return  # nobody may do that
    assert not [code for code in refused if code in kafkas()[api, what][SUPER]]
