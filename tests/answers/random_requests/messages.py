"""Requests drawn from their declarations: each field of the version, with a value of its pool (pools.py).

What only a run knows stands in them as a word: ``$name t0`` a topic's name, ``$id t0`` its id, ``$time 5`` a time,
``$batch {...}`` records, ``$session`` and ``$epoch`` the fetch session; ordinary.py puts in what they stand for.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from protocol.declare import declaration_of
from protocol.registry import message_class
from protocol.wire import Array
from tests.answers.random_requests import pools
from tests.answers.random_requests.pools import EASY, NAMED, SAME
from tests.answers.story import Fields, key_of

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
CONFIGS_OF: Final = {
    BROKER: pools.BROKER_CONFIGS,
    LOGGER: pools.LOGGERS,
    CLIENT_METRICS: pools.CLIENT_METRICS_CONFIGS,
    GROUP: pools.GROUP_CONFIGS,
}
RESOURCES: Final[dict[int, Sequence[str]]] = {
    BROKER: ("0", "1", "2", "", "9", "x"),
    LOGGER: ("0", "1", "", "x"),
    GROUP: ("$name g", "$name g", "$name h", ""),
    CLIENT_METRICS: ("$name m", "$name m", ""),
    0: ("",),
    77: ("",),
}
TOPICAL: Final = frozenset(
    {
        *("Produce", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "DeleteRecords", "Metadata", "CreateTopics"),
        *("DescribeTopicPartitions", "DeleteTopics", "CreatePartitions", "AlterPartitionReassignments"),
        *("ListPartitionReassignments", "ElectLeaders", "DescribeProducers", "DescribeLogDirs", "AlterReplicaLogDirs"),
    }
)
TOPIC_FIELDS: Final = frozenset({"topic", "topicName", "name", "topicNames"})
OF_API: Final[dict[tuple[str, str], Sequence[Any]]] = {
    ("DescribeQuorum", "topicName"): ("__cluster_metadata", "__cluster_metadata", "x", ""),
    ("DescribeUserScramCredentials", "name"): ("$name u", "$name v", "$name u", ""),
    ("AlterUserScramCredentials", "name"): ("$name u", "$name v", "$name u", ""),
    ("AlterClientQuotas", "entityName"): (None, "$name u", "$name u", "$name v", "127.0.0.1", ""),
    ("DescribeClientQuotas", "match"): (None, "$name u", "$name u", "$name v", "127.0.0.1", ""),
    ("CreateAcls", "resourceType"): (*([2] * 8), 3, 3, 4, 4, 5, 6, 7, 1, 0, 9),
    ("CreateAcls", "resourceName"): EASY["resourceNameFilter"],
    ("ListConfigResources", "resourceTypes"): (2, 4, 8, 16, 32, 0, 77),
    ("Produce", "timeoutMs"): (10_000,),
}
DEFAULTS: Final[dict[str, Sequence[Any]]] = {
    "string": ("", "a", "b", "x"),
    "bytes": ("", "AAAA", "c2FsdHk=", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
    "float64": (0, 1, 1.5, 100.0, 1000.0, -1, 1e300),
    "bool": (True, False),
    "uuid": (pools.NO_ID, pools.NO_ID, pools.METADATA_ID),
}
PLACED_BY_CHANCE: Final = f"$name {pools.PLACED_BY_CHANCE}"
"""The one topic that Kafka may place itself: nothing but these requests' own answers is compared of it."""
BITS: Final = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}


class MessageMaker:
    """Draws requests of one API in one version."""

    def __init__(self, random: Random, api: str, version: int) -> None:
        self.random, self.api, self.version = random, api, version

    def request(self) -> Fields:
        found = self.record(message_class(key_of(self.api), "request"), {})
        if self.api == "Metadata":
            found["allowAutoTopicCreation"] = False
        if self.api == "AlterConfigs":  # to a resource that comes twice Kafka gives no answer
            named = {(one["resourceType"] or 77, one["resourceName"]): one for one in found["resources"]}
            found["resources"] = list(named.values())
        if self.api == "Fetch":
            found.pop("replicaState", None)
            if self.random.random() < 0.85:
                found["sessionId"], found["sessionEpoch"] = self.random.choice(
                    [(0, -1), (0, -1), (0, 0), ("$session", "$epoch"), ("$session", "$epoch"), ("$session", -1)]
                )
        return found

    def record(self, record: Any, around: Mapping[str, Any]) -> Fields:
        found: Fields = {}
        context = dict(around)
        if record.__name__ == "Config":
            context["is config"] = True
        declared = declaration_of(record).fields
        if "Config" in self.api and any(one.name == "resource_name" for one in declared):
            context |= self.resource()
        for one in declared:
            is_left_out = one.tag is not None and self.random.random() < 0.6
            if self.version in one.versions and not is_left_out:
                found[one.json_name or camel(one.name)] = self.value(one, one.type, context)
        if self.api == "CreateTopics" and "assignments" in found:
            self.place(found)
        if self.api == "CreatePartitions" and "assignments" in found:
            if self.random.random() < 0.5:
                found["assignments"] = None
            if found["assignments"] is None and found["name"].startswith("$name"):
                found["name"] = PLACED_BY_CHANCE
        return found

    def resource(self) -> Fields:
        """Whose configs it is about: the type and the name that goes with it."""
        kinds = [*([TOPIC] * 6), *([BROKER] * 4), GROUP, GROUP, CLIENT_METRICS, CLIENT_METRICS, 0, 77]
        kind = self.random.choice([*kinds, LOGGER] if self.api != "DescribeConfigs" else kinds)
        name = pools.topic_name(self.random) if kind == TOPIC else self.random.choice(RESOURCES[kind])
        return {"resourceType": kind, "resourceName": name}

    def place(self, topic: Fields) -> None:
        """A new topic by hand or by numbers, seldom both."""
        if self.random.random() < 0.5:
            topic["numPartitions"] = topic["replicationFactor"] = -1
            if self.random.random() < 0.7:
                topic["assignments"] = [
                    {"partitionIndex": index, "brokerIds": self.random.sample([0, 1, 2], self.random.choice([1, 2, 3]))}
                    for index in range(self.random.choice([1, 2, 3]))
                ]
        elif self.random.random() < 0.8:
            topic["assignments"] = []
        if not topic["assignments"] and topic["name"].startswith("$name"):
            topic["name"] = PLACED_BY_CHANCE
        if self.random.random() < 0.6:
            topic["configs"] = []

    def value(self, declared: Any, type_: Any, context: Mapping[str, Any], *, is_entry: bool = False) -> Any:
        name = declared.json_name or camel(declared.name)
        is_record = hasattr(type_, "__declaration__")
        if (
            name != "records"
            and not is_entry
            and self.version in declared.nullable
            and self.random.random() < (0.6 if is_record else 0.12)
        ):
            return None
        if isinstance(type_, Array):
            count = self.random.choice([1, 1, 1, 1, 1, 1, 1, 2, 2, 0, 3])
            entries = [self.value(declared, type_.item, context, is_entry=True) for _ in range(count)]
            if count and self.random.random() < 0.08:
                entries.append(copy.deepcopy(entries[0]))
            return entries
        return self.record(type_, context) if is_record else self.drawn(name, type_.name, context)

    def drawn(self, name: str, type_name: str, context: Mapping[str, Any]) -> Any:
        pool = self.pool(name, type_name, context)
        return pool(self.random) if callable(pool) else self.random.choice(pool)

    def pool(self, name: str, type_name: str, context: Mapping[str, Any]) -> Any:
        """What a field's value is drawn from."""
        if name in context:
            return [context[name]]
        if name in NAMED:
            return NAMED[name]
        if (self.api, name) in OF_API:
            return OF_API[self.api, name]
        of_config = self.api in ("AlterConfigs", "IncrementalAlterConfigs") or "is config" in context
        if name == "configurationKeys" or (name == "name" and of_config):
            return CONFIGS_OF.get(context.get("resourceType", TOPIC), pools.TOPIC_CONFIGS)
        if name == "value" and of_config:
            return pools.CONFIG_VALUES
        if name in TOPIC_FIELDS and self.api in TOPICAL:
            return pools.topic_name
        if name == "validateOnly":
            return [True] * 9 + [False] if self.api == "UpdateFeatures" else [True] * 3 + [False] * 7
        easy = EASY.get(SAME.get(name, name))
        if easy is not None:
            return easy
        return DEFAULTS.get(type_name) or integers(BITS[type_name])


def integers(bits: int) -> list[int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return [max(low, min(high, one)) for one in pools.INTEGERS]


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(one.capitalize() for one in others)
