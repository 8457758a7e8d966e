"""Requests about topics, records, configs, quotas, passwords and ACLs, made from the declarations (messages.py)."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any, ClassVar, Final

from protocol.records import CompressionCodec, Record, build_batch
from tests.answers.random_requests import pools
from tests.answers.random_requests.messages import MessageMaker
from tests.answers.random_requests.turns import Turns
from tests.answers.scenarios import BASE
from tests.answers.scenarios.acls import SETTINGS as OF_ACLS
from tests.answers.scenarios.configs import without_place
from tests.answers.scenarios.create_topics import told_of_topic
from tests.answers.scenarios.fetch import UNKNOWN_ID
from tests.answers.scenarios.handshake import without_apis
from tests.answers.scenarios.produce import patched
from tests.answers.story import Fields, Story, Topic
from tests.answers.versions import VERSIONS

LED: Final = frozenset({"Produce", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "DeleteRecords"})
"""What the leader of a partition answers."""
PLACING: Final = frozenset({"CreateTopics", "DeleteTopics", "CreatePartitions", "AlterPartitionReassignments"})
CHANGING: Final = PLACING | {
    *("ElectLeaders", "AlterConfigs", "IncrementalAlterConfigs", "CreateAcls", "DeleteAcls", "AlterClientQuotas"),
    *("AlterUserScramCredentials", "UpdateFeatures", "DeleteRecords"),
}
OWN_CONNECTION: Final = frozenset({"ApiVersions"})
INDEX = re.compile(r'"(?:partition|partitionIndex|index)": (\d+)')
TOPIC_SETTINGS: Final[list[dict[str, str]]] = [
    {},
    {},
    {},
    {"cleanup.policy": "compact"},
    {"compression.type": "zstd"},
    {"compression.type": "uncompressed"},
    {"message.timestamp.type": "LogAppendTime"},
    {"min.insync.replicas": "2"},
    {"segment.bytes": "1048576", "max.message.bytes": "150"},
]


class Ordinary(Turns):
    """Requests by the declarations; a subclass names their APIs by weight. The first topics are there at once."""

    LENGTH: ClassVar = 25

    def begin(self, random: Random) -> None:
        self.topics: dict[str, Topic] = {}
        self.session_id = self.session_epoch = 0
        self.producers: list[int] = []
        for short in random.sample(pools.TOPICS, 2):
            replicas = random.choice([1, 2, 3])
            rows = [random.sample([0, 1, 2], replicas) for _ in range(random.choice([1, 2]))]
            self.topics[short] = self.story.topic(short, assignments=rows, configs=random.choice(TOPIC_SETTINGS))
        self.story.wait(150)

    def carry_on(self, random: Random, api: str) -> None:
        """One request of an API."""
        low, high = VERSIONS[api]
        version = random.choice([high, high, random.randint(low, high)])
        if api == "Metadata":
            version = max(version, 4)  # before, each request makes topics
        drawn = MessageMaker(random, api, version).request()
        to = self.broker(random, api, drawn)
        request = self.filled(drawn)
        answer = self.ask(
            api,
            version,
            request,
            to=to,
            on=self.connection(random, api),
            only=lambda answer: tidied(api, answer if api in PLACING else without_others(self.story, answer)),
        )
        self.after(api, drawn, request, answer)

    def connection(self, _random: Random, api: str) -> str:
        """By which connection to ask."""
        return self.label if api in OWN_CONNECTION else "main"

    def broker(self, random: Random, api: str, drawn: Fields) -> int:
        """Whom to ask: the leader, where there is one that answers, else anybody."""
        anybody, is_led = random.randrange(3), random.random() < (0.6 if api == "Produce" else 0.67)
        if api not in LED or not is_led:
            return anybody
        text = json.dumps(drawn)
        for short, topic in self.topics.items():
            if f"$name {short}" in text or f"$id {short}" in text:
                found = INDEX.search(text)
                index = int(found[1]) if found else 0
                return topic.leader(index if index < len(topic.replicas) else 0)
        return 0

    def after(self, api: str, drawn: Fields, request: Fields, answer: Fields) -> None:
        """What an answer changes for those that follow."""
        if "~" in answer:
            return
        if api == "Fetch" and answer.get("sessionId", 0):
            goes_on = answer["sessionId"] == self.session_id and drawn.get("sessionEpoch") == "$epoch"
            self.session_epoch = self.session_epoch + 1 if goes_on else 1
            self.session_id = answer["sessionId"]
        if api not in CHANGING:
            return
        self.story.settle()
        if api == "CreateTopics" and not request.get("validateOnly"):
            self.remember(request, answer)
        if api in PLACING:
            self.story.wait(150)

    def remember(self, request: Fields, answer: Fields) -> None:
        """The topics that are there now, where the request placed them."""
        placed = {
            topic["name"]: tuple(
                tuple(one["brokerIds"]) for one in sorted(topic["assignments"], key=lambda one: one["partitionIndex"])
            )
            for topic in request["topics"]
        }
        for topic in answer["topics"]:
            short = topic["name"].removeprefix(f"{self.story.prefix}.")
            rows = placed.get(topic["name"])
            if topic["errorCode"] == 0 and short in pools.TOPICS and rows:
                self.topics[short] = Topic(topic["name"], self.story.known(topic["name"]), rows)

    def filled(self, value: Any) -> Any:
        """A drawn request with what its words stand for."""
        if isinstance(value, dict):
            return {name: self.filled(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.filled(one) for one in value]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        word, _, rest = value.partition(" ")
        return getattr(self, f"word_{word[1:]}")(rest)

    def word_name(self, short: str) -> str:
        return self.story.named(short)

    def word_id(self, short: str) -> str:
        return self.topics[short].id if short in self.topics else UNKNOWN_ID

    def word_time(self, ms: str) -> int:
        return self.story.time(int(ms))

    def word_session(self, _: str) -> int:
        return self.session_id

    def word_epoch(self, _: str) -> int:
        return self.session_epoch

    def word_batch(self, recipe: str) -> bytes | None:
        if recipe in ("null", "empty"):
            return None if recipe == "null" else b""
        wanted = json.loads(recipe)
        magic = wanted["magic"]
        records = [
            Record(
                key=b"k%d" % number if wanted["keyed"] else None,
                value=b"v%d" % number,
                timestamp=self.story.time(wanted["at"] + number),
            )
            for number in range(wanted["count"])
        ]
        fields: Fields = {}
        if "producer" in wanted:
            while len(self.producers) <= wanted["producer"]:
                self.producers.append(self.story.producer_id())
            if magic == 2:
                fields = {
                    "producer_id": self.producers[wanted["producer"]],
                    "producer_epoch": wanted["epoch"],
                    "base_sequence": wanted["sequence"],
                    "transactional": wanted["transactional"],
                }
        codec = CompressionCodec(wanted["codec"] if magic == 2 else min(wanted["codec"], 3))
        batch = build_batch(records, codec=codec, magic=magic, **fields)
        if "patch" in wanted and magic == 2:
            batch = patched(batch, *wanted["patch"])
        if "cut" in wanted:
            batch = batch[: max(0, len(batch) - wanted["cut"])]
        return batch * 2 if wanted.get("twice") else batch

    def __getattr__(self, api: str) -> Any:
        """Each API is an operation."""
        if api in type(self).OPERATIONS:
            return lambda random: self.carry_on(random, api)
        raise AttributeError(api)

    def end(self) -> None:
        remove_configs(self.story)
        remove_quotas(self.story)


class Data(Ordinary):
    OPERATIONS: ClassVar = {
        "Produce": 6,
        "Fetch": 5,
        "ListOffsets": 4,
        "OffsetForLeaderEpoch": 3,
        "DeleteRecords": 2,
        "Metadata": 1,
        "DescribeProducers": 1,
        "CreatePartitions": 1,
        "DeleteTopics": 0.3,
        "ElectLeaders": 0.5,
        "IncrementalAlterConfigs": 1,
    }


class Topics(Ordinary):
    OPERATIONS: ClassVar = {
        "Metadata": 4,
        "DescribeTopicPartitions": 3,
        "CreateTopics": 5,
        "DeleteTopics": 2,
        "CreatePartitions": 4,
        "AlterPartitionReassignments": 1,
        "ListPartitionReassignments": 2,
        "ElectLeaders": 2,
        "DescribeCluster": 1,
        "DescribeLogDirs": 1,
        "AlterReplicaLogDirs": 1,
    }


class Configs(Ordinary):
    SETTINGS: ClassVar = BASE | {
        "group.share.assignment.interval.ms": "0",
        "group.streams.assignment.interval.ms": "0",
        "log.cleaner.dedupe.buffer.size": "2097152",
    }
    OPERATIONS: ClassVar = {
        "DescribeConfigs": 4,
        "AlterConfigs": 4,
        "IncrementalAlterConfigs": 6,
        "ListConfigResources": 1,
        "CreateTopics": 3,
    }


class Admin(Ordinary):
    OPERATIONS: ClassVar = {
        "DescribeClientQuotas": 3,
        "AlterClientQuotas": 3,
        "DescribeUserScramCredentials": 2,
        "AlterUserScramCredentials": 3,
        "DescribeQuorum": 1,
        "UpdateFeatures": 1,
        "UnregisterBroker": 1,
        "CreateDelegationToken": 1,
        "RenewDelegationToken": 1,
        "ExpireDelegationToken": 1,
        "DescribeDelegationToken": 1,
        "ApiVersions": 1,
        "DescribeCluster": 1,
        "UnregisterController": 0.5,
    }


class Acls(Ordinary):
    """Nobody is refused: the entries are about others."""

    OPERATIONS: ClassVar = {"CreateAcls": 3, "DescribeAcls": 3, "DeleteAcls": 2}
    SETTINGS: ClassVar = BASE | OF_ACLS | {"super.users": "User:ANONYMOUS"}

    def end(self) -> None:
        remove_acls(self.story)


def remove_acls(story: Story) -> None:
    """All entries there are."""
    everything = {
        "resourceTypeFilter": 1,
        "resourceNameFilter": None,
        "patternTypeFilter": 1,
        "principalFilter": None,
        "hostFilter": None,
        "operation": 1,
        "permissionType": 1,
    }
    story.quiet("DeleteAcls", 3, {"filters": [everything]}, on="end")
    story.settle()


def without_others(story: Story, answer: Any) -> Any:
    """An answer without the topics, users and configs of other runs, and without internal topics."""
    if isinstance(answer, dict):
        return {name: without_others(story, one) for name, one in answer.items()}
    if isinstance(answer, list):
        return [without_others(story, one) for one in answer if not is_others(story, one)]
    return answer


def is_others(story: Story, entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    texts = [entry.get(name) for name in ("name", "topic", "topicName", "resourceName", "user", "entityName")]
    if any(isinstance(one, str) and is_name_of_others(story, one) for one in texts):
        return True
    is_listed_broker = entry.keys() == {"resourceName", "resourceType"} and entry["resourceName"] in ("", "0", "1", "2")
    entity = entry.get("entity")
    return is_listed_broker or (isinstance(entity, list) and any(is_others(story, one) for one in entity))


def is_name_of_others(story: Story, name: str) -> bool:
    if name == story.named(pools.PLACED_BY_CHANCE):
        return True
    internal = ("__consumer_offsets", "__transaction_state", "__share_group_state")
    return name in internal or (name.startswith("random-") and not name.startswith(f"{story.prefix}."))


def tidied(api: str, answer: Any) -> Any:
    """An answer without what depends on the place."""
    if api == "DescribeConfigs":
        return without_place(answer)
    if api == "CreateTopics":
        return told_of_topic(answer)
    if api == "ApiVersions":
        return without_apis(answer)
    if api == "DescribeQuorum":
        topics = [{**one, "partitions": [each["errorCode"] for each in one["partitions"]]} for one in answer["topics"]]
        return {**answer, "topics": topics}
    if api == "DescribeLogDirs":
        sizes = ("totalBytes", "usableBytes")
        results = [{name: one for name, one in each.items() if name not in sizes} for each in answer["results"]]
        return {**answer, "results": results}
    return answer


def remove_configs(story: Story) -> None:
    """Configs that requests gave to brokers, groups and subscriptions of client metrics."""
    listed = story.quiet("ListConfigResources", 1, {"resourceTypes": [16, 32]}, on="end")["configResources"]
    resources = [(4, "", 3), *((4, str(broker), 2) for broker in range(3))]
    resources += [(one["resourceType"], one["resourceName"], 7) for one in listed]
    for kind, name, source in resources:
        wanted = {"resourceType": kind, "resourceName": name, "configurationKeys": None}
        to = int(name or 0) if kind == 4 else 0
        asked = {"resources": [wanted], "includeSynonyms": True}
        (result,) = story.quiet("DescribeConfigs", 4, asked, to=to, on="end")["results"]
        sources = (source, 8) if kind != 4 else (source,)
        gone = [one["name"] for one in result["configs"] if one["configSource"] in sources]
        for config in gone:  # one by one: of several none goes where one may not
            changes = [{"name": config, "configOperation": 1, "value": None}]
            change = {"resourceType": kind, "resourceName": name, "configs": changes}
            story.quiet("IncrementalAlterConfigs", 1, {"resources": [change]}, to=to, on="end")
    story.settle()


def remove_quotas(story: Story) -> None:
    found = story.quiet("DescribeClientQuotas", 1, {"components": [], "strict": False}, on="end")["entries"] or []
    entries = [
        {
            "entity": one["entity"],
            "ops": [{"key": value["key"], "value": 0, "remove": True} for value in one["values"]],
        }
        for one in found
    ]
    if entries:
        story.quiet("AlterClientQuotas", 1, {"entries": entries, "validateOnly": False}, on="end")
        story.settle()
