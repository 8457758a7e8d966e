"""What is not told of what one may not see, and what of a request is done where only a part is allowed."""

from __future__ import annotations

from typing import Any

from tests.answers.access_requests import fetch_of
from tests.answers.scenarios import scenario, versions_of
from tests.answers.scenarios.authorization import ALLOW, CLUSTER, DENY, GROUP, LITERAL, TOPIC, TRANSACTIONAL_ID
from tests.answers.scenarios.authorization import SETTINGS as CLOSED
from tests.answers.scenarios.streams_groups import subtopology, topology, word_count
from tests.answers.story import Fields, Story, Topic
from tests.answers.transactional import Producer

SETTINGS = {
    **CLOSED,
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.consumer.session.timeout.ms": "45000",
}
READ, WRITE, CREATE, DELETE, DESCRIBE, DESCRIBE_CONFIGS = 3, 4, 5, 6, 8, 10
USERS = ["ann", "bob", "cid", "dan", "eve"]
ANN, BOB, CID, DAN, EVE = (f"as {user}" for user in USERS)
MEMBER = UNKNOWN = "aaaaaaaaaaaaaaaaaaaaaQ"
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
Entry = tuple[str, int, str, int]


def allow(story: Story, *entries: Entry, permission: int = ALLOW) -> None:
    """Entries: who may do what, of which type and by which name."""
    found = [
        {
            "resourceType": kind,
            "resourceName": name,
            "resourcePatternType": LITERAL,
            "principal": f"User:{user}",
            "host": "*",
            "operation": operation,
            "permissionType": permission,
        }
        for user, kind, name, operation in entries
    ]
    answer = story.quiet("CreateAcls", 3, {"creations": found})
    assert not [one for one in answer["results"] if one["errorCode"]], answer
    story.settle()


def own(story: Story) -> Any:
    """For ``only``: of listed topics those of the scenario, with what can be hidden of them."""

    def reduced(answer: Fields) -> Fields:
        return {
            "topics": [
                {key: one.get(key) for key in ("errorCode", "name", "topicId", "isInternal")}
                for one in answer["topics"]
                if story.prefix in (one["name"] or story.prefix)
            ]
        }

    return reduced


@scenario("authorization/topics made on the way")
def made_on_the_way(story: Story) -> None:
    """Who may see a topic that is not there has it made if he may create it."""
    names = {what: story.named(what) for what in ("seen", "made", "by-cluster", "hidden", "later")}
    allow(
        story,
        *(("ann", TOPIC, names[one], DESCRIBE) for one in ("seen", "made", "later")),
        ("ann", TOPIC, names["made"], CREATE),
        *(("bob", TOPIC, names[one], DESCRIBE) for one in ("by-cluster", "seen")),
        ("bob", CLUSTER, "kafka-cluster", CREATE),
        ("cid", TOPIC, names["hidden"], CREATE),
    )
    asked = {"topics": [{"name": name} for name in names.values()], "allowAutoTopicCreation": False}
    only = own(story)
    for user, on in (("ann", ANN), ("bob", BOB), ("cid", CID)):
        story.ask(f"{user}, not to be made", "Metadata", 12, asked, on=on, only=only)
    for user, on in (("cid", CID), ("ann", ANN)):
        story.ask(f"{user}, to be made", "Metadata", 12, asked | {"allowAutoTopicCreation": True}, on=on, only=only)
    story.known(names["made"])
    story.ask("bob, to be made, v1", "Metadata", 1, {"topics": asked["topics"]}, on=BOB, only=own_names(story))
    for name in ("seen", "by-cluster"):
        story.known(names[name])
    story.ask("afterwards", "Metadata", 12, asked, only=only)


def own_names(story: Story) -> Any:
    def reduced(answer: Fields) -> Fields:
        return {"topics": [[one["errorCode"], one["name"]] for one in answer["topics"] if story.prefix in one["name"]]}

    return reduced


@scenario("authorization/deleted topics")
def deleted_topics(story: Story) -> None:
    topics = {
        name: story.topic(name) for name in ("hidden", "seen", "deletable", "by-id", "seen-by-id", "hidden-by-id")
    }
    missing = {name: story.named(name) for name in ("missing", "missing-seen", "missing-deletable")}
    by_name = {**{name: topics[name].name for name in ("hidden", "seen", "deletable")}, **missing}
    allow(
        story,
        *(("ann", TOPIC, by_name[one], DESCRIBE) for one in ("seen", "missing-seen")),
        *(("ann", TOPIC, by_name[one], DELETE) for one in ("deletable", "missing-deletable")),
        ("ann", TOPIC, topics["by-id"].name, DELETE),
        ("ann", TOPIC, topics["seen-by-id"].name, DESCRIBE),
        ("bob", TOPIC, topics["by-id"].name, DELETE),
    )
    allow(story, ("bob", TOPIC, topics["by-id"].name, DESCRIBE), permission=DENY)
    ids = [topics[one].id for one in ("by-id", "seen-by-id", "hidden-by-id")] + [MEMBER]
    story.ask("by id, to be seen by none", "DeleteTopics", 6, by_id(ids[:1]), on=BOB)
    twice = {"topics": [{"name": by_name["hidden"]}] * 2, "timeoutMs": 5000}
    story.ask("twice", "DeleteTopics", 6, twice, on=ANN)
    for version in versions_of("DeleteTopics"):
        wanted = {"topicNames": list(by_name.values()), "topics": [{"name": one} for one in by_name.values()]}
        story.ask("by name", "DeleteTopics", version, {**wanted, "timeoutMs": 5000}, on=ANN)
        story.settle()
    story.ask("by id", "DeleteTopics", 6, by_id(ids), on=ANN)
    story.settle()
    story.ask("left", "Metadata", 12, {"topics": None}, only=own_names(story))


def by_id(ids: list[str]) -> Fields:
    return {"topics": [{"name": None, "topicId": one} for one in ids], "timeoutMs": 5000}


@scenario("authorization/a part of a request")
def parts(story: Story) -> None:
    """Of what is named only a part is allowed."""
    free, hidden = story.topic("free", partitions=2), story.topic("hidden", partitions=2)
    group = story.named("g")
    at = story.coordinator(group)
    producer = Producer.of(story, "x").begun()
    new = [story.named("new-free"), story.named("new-hidden")]
    operations = (READ, WRITE, DESCRIBE_CONFIGS)
    allow(
        story,
        *(("ann", TOPIC, free.name, one) for one in operations),
        ("ann", TOPIC, new[0], CREATE),
        ("ann", GROUP, group, READ),
        ("ann", GROUP, group, DELETE),
        ("ann", TRANSACTIONAL_ID, producer.name, WRITE),
    )
    story.produced(free, b"a")
    both = [free, hidden]
    data = [
        {
            "name": one.name,
            "topicId": one.id,
            "partitionData": [{"index": index, "records": story.batch(b"y")} for index in (0, 1, 5)],
        }
        for one in both
    ]
    produced = {"transactionalId": None, "acks": -1, "timeoutMs": 5000, "topicData": data}
    for version in (9, 13):
        story.ask("two topics", "Produce", version, produced, on=ANN)
    story.ask("two topics, acks 0", "Produce", 9, produced | {"acks": 0}, on="as ann")
    fetched = [
        {
            "topic": one.name,
            "topicId": one.id,
            "partitions": [{"partition": index, "fetchOffset": 0, "partitionMaxBytes": 1} for index in (0, 5)],
        }
        for one in both
    ]
    for version in (4, 12, 13):
        story.ask("two topics", "Fetch", version, fetch_of(fetched), on=ANN, only=fetch_codes)
    session = story.quiet("Fetch", 12, fetch_of(fetched, sessionEpoch=0), on=ANN)["sessionId"]
    story.ask("in a session", "Fetch", 12, fetch_of([], sessionId=session, sessionEpoch=1), on=ANN, only=fetch_codes)
    allow(story, ("ann", TOPIC, free.name, READ), permission=DENY)
    story.ask("in a session", "Fetch", 13, fetch_of([]), on=ANN, only=fetch_codes)
    story.ask("denied by now", "Fetch", 12, fetch_of([], sessionId=session, sessionEpoch=2), on=ANN, only=fetch_codes)
    topics = [{"name": one, "numPartitions": 1, "replicationFactor": 1, "assignments": []} for one in new]
    for version in (2, 5, 7):
        create = {"topics": topics, "timeoutMs": 5000, "validateOnly": True}
        story.ask("two topics", "CreateTopics", version, create, on=ANN, only=created_codes)
    grown = [{"name": one.name, "count": 3, "assignments": None} for one in both]
    story.ask("two topics", "CreatePartitions", 3, {"topics": grown, "timeoutMs": 5000, "validateOnly": True}, on=ANN)
    for version in range(4):
        adding = producer.adding(version, [{"name": one.name, "partitions": [0, 9]} for one in both])
        story.ask("two topics", "AddPartitionsToTxn", version, adding, to=producer.at, on=ANN)
    partitions = [{"partitionIndex": index, "committedOffset": 1, "committedMetadata": ""} for index in (0, 9)]
    topics = [{"name": one.name, "topicId": one.id, "partitions": partitions} for one in both]
    member = {"groupId": group, "memberId": "", "generationId": -1, "generationIdOrMemberEpoch": -1}
    for version in (2, 8, 9, 10):
        story.ask("two topics", "OffsetCommit", version, {**member, "topics": topics}, to=at, on=ANN)
    for version in versions_of("TxnOffsetCommit"):
        commit = {**producer.who, **member, "topics": topics}
        story.ask("two topics", "TxnOffsetCommit", version, commit, to=at, on=ANN)
    story.ask("two topics", "OffsetDelete", 0, {"groupId": group, "topics": topics}, to=at, on=ANN)


def fetch_codes(answer: Fields) -> Fields:
    return {
        "errorCode": answer.get("errorCode"),
        "responses": [
            [
                one.get("topic"),
                one.get("topicId"),
                [(two["partitionIndex"], two["errorCode"]) for two in one["partitions"]],
            ]
            for one in answer["responses"]
        ],
    }


def created_codes(answer: Fields) -> Fields:
    names = ("name", "errorCode", "errorMessage", "topicConfigErrorCode", "numPartitions", "replicationFactor")
    return {
        "topics": [
            {**{key: one.get(key) for key in names}, "configs": bool(one.get("configs"))} for one in answer["topics"]
        ]
    }


@scenario("authorization/groups shown")
def groups_shown(story: Story) -> None:
    """A group with a topic that is hidden is not shown at all."""
    free, hidden = story.topic("free"), story.topic("hidden")
    names = {kind: story.named(kind) for kind in ("consumer", "share", "streams", "free-consumer", "classic")}
    at = {kind: story.coordinator(name) for kind, name in names.items()}
    both = [free.name, hidden.name]
    for kind, wanted in (("consumer", both), ("free-consumer", both[:1])):
        join = {"groupId": names[kind], "memberId": MEMBER, "memberEpoch": 0, "rebalanceTimeoutMs": 60_000}
        join |= {"subscribedTopicNames": wanted, "topicPartitions": []}
        story.until(
            lambda kind=kind, join=join: targets(story, join, at[kind]) == join["subscribedTopicNames"], "a target"
        )  # type: ignore[misc]
    join = {"groupId": names["share"], "memberId": MEMBER, "memberEpoch": 0, "subscribedTopicNames": both}
    story.quiet("ShareGroupHeartbeat", 1, join, to=at["share"])
    streams = streams_join(names["streams"], topology(subtopology(0, *both)))
    story.quiet("StreamsGroupHeartbeat", 1, streams, to=at["streams"])
    allow(
        story,
        *(("ann", GROUP, name, DESCRIBE) for name in names.values()),
        ("ann", TOPIC, free.name, DESCRIBE),
        *(("bob", GROUP, names[kind], READ) for kind in ("consumer", "share")),
        *(("bob", TOPIC, name, READ) for name in both),
    )
    apis = {"ConsumerGroupDescribe": "consumer", "ShareGroupDescribe": "share", "StreamsGroupDescribe": "streams"}
    for api, kind in apis.items():
        asked = {"groupIds": [names[kind]], "includeAuthorizedOperations": True, "includeTopologyDescription": False}
        for user, on in (("ann", ANN), ("bob", BOB)):
            for version in versions_of(api):
                story.ask(user, api, version, asked, to=at[kind], on=on, only=shown)
    asked = {"groupIds": [names["free-consumer"]], "includeAuthorizedOperations": True}
    story.ask("a free one", "ConsumerGroupDescribe", 1, asked, to=at["free-consumer"], on=ANN, only=shown)
    for user, on in (("ann", ANN), ("bob", BOB), ("cid", CID)):
        for kind, broker in at.items():
            story.ask(f"{user}, {kind}", "ListGroups", 5, {}, to=broker, on=on, only=listed(names[kind]))
    subscribed = {"groupId": names["consumer"], "memberId": MEMBER, "memberEpoch": 1, "rebalanceTimeoutMs": -1}
    story.ask("not his", "ConsumerGroupHeartbeat", 1, subscribed, to=at["consumer"], on=ANN)


def targets(story: Story, join: Fields, at: int) -> list[str]:
    """The topics of which the one member of a group is to have partitions, once it has joined."""
    story.quiet("ConsumerGroupHeartbeat", 1, join, to=at)
    (group,) = story.quiet("ConsumerGroupDescribe", 1, {"groupIds": [join["groupId"]]}, to=at)["groups"]
    return sorted(one["topicName"] for each in group["members"] for one in each["targetAssignment"]["topicPartitions"])


def shown(answer: Fields) -> list[Any]:
    names = ("errorCode", "errorMessage", "groupId", "groupState", "authorizedOperations")
    return [{**{key: one[key] for key in names}, "members": len(one["members"])} for one in answer["groups"]]


def listed(name: str) -> Any:
    return lambda answer: [[one["groupId"], one["groupType"]] for one in answer["groups"] if one["groupId"] == name]


def streams_join(group: str, told: Fields, member: str = "one") -> Fields:
    return {
        "groupId": group,
        "memberId": member,
        "memberEpoch": 0,
        "endpointInformationEpoch": 0,
        "rebalanceTimeoutMs": 60_000,
        "topology": told,
        "activeTasks": [],
        "standbyTasks": [],
        "warmupTasks": [],
        "processId": "p",
        "clientTags": [],
        "shutdownApplication": False,
    }


@scenario("authorization/topics of an application")
def application(story: Story) -> None:
    """Its internal topics are made with what a member may create."""
    members = ("ann", "cid", "dan")
    source = story.topic("t")
    inner = [f"{source.name}-repartition", f"{source.name}-changelog"]
    groups = {user: story.named(user) for user in members}
    at = {user: story.coordinator(group) for user, group in groups.items()}
    allow(
        story,
        *((user, GROUP, groups[user], READ) for user in members),
        *((user, TOPIC, name, DESCRIBE) for user in members for name in (source.name, *inner)),
        ("dan", TOPIC, inner[0], CREATE),
    )
    told = word_count(source.name)
    for user, on in (("ann", ANN), ("dan", DAN)):
        join = streams_join(groups[user], told)
        story.ask(f"{user} may not create all", "StreamsGroupHeartbeat", 1, join, to=at[user], on=on, only=statuses)
    story.settle()
    asked = {"topics": [{"name": name} for name in inner], "allowAutoTopicCreation": False}
    story.ask("not made", "Metadata", 12, asked, only=own(story))
    allow(story, *(("cid", TOPIC, name, CREATE) for name in inner))
    join = streams_join(groups["cid"], told)
    story.ask("cid may create all", "StreamsGroupHeartbeat", 1, join, to=at["cid"], on=CID, only=statuses)
    for name in inner:
        story.known(name)


def statuses(answer: Fields) -> Fields:
    found = answer["status"] or ()
    return {
        "errorCode": answer["errorCode"],
        "status": [[one["statusCode"], told(one["statusDetail"])] for one in found],
    }


def told(detail: str) -> str:
    """The words without the names' order."""
    return "unauthorized" if "Unauthorized" in detail else "missing"


@scenario("authorization/expressions")
def expressions(story: Story) -> None:
    """An expression matches the topics that the member may see."""
    topics = [story.topic(name) for name in ("re-free", "re-hidden")]
    group = story.named("g")
    at = story.coordinator(group)
    allow(
        story,
        *((user, GROUP, group, READ) for user in ("ann", "bob")),
        ("ann", TOPIC, topics[0].name, DESCRIBE),
        *(("bob", TOPIC, one.name, DESCRIBE) for one in topics),
    )
    join = {
        "groupId": group,
        "memberId": "one",
        "memberEpoch": 0,
        "rebalanceTimeoutMs": 60_000,
        "subscribedTopicNames": [],
        "subscribedTopicRegex": f"{story.prefix}.re-.*",
        "topicPartitions": [],
    }
    state: Fields = {}

    def joined(member: str, on: str) -> Fields:
        answer: Fields = story.quiet("ConsumerGroupHeartbeat", 1, join | {"memberId": member}, to=at, on=on)
        state[member] = answer["memberEpoch"]
        return answer

    def held(member: str, on: str) -> list[str]:
        beat = {"groupId": group, "memberId": member, "memberEpoch": state[member], "rebalanceTimeoutMs": -1}
        answer = story.quiet("ConsumerGroupHeartbeat", 1, beat, to=at, on=on)
        state[member] = answer["memberEpoch"]
        found = answer["assignment"] or {"topicPartitions": []}
        return [one["topicId"] for one in found["topicPartitions"]]

    joined("one", ANN)
    found = story.until(lambda: held("one", ANN), "an assignment")
    story.keep("ann has", "ConsumerGroupHeartbeat", 1, {}, {"topics": [{"topicId": one} for one in found]})


@scenario("authorization/transactions shown")
def transactions_shown(story: Story) -> None:
    free, hidden = story.topic("free"), story.topic("hidden")
    producers = [Producer.of(story, name).begun() for name in ("x", "y")]
    for one in producers:
        for topic in (free, hidden):
            one.add(None, topic.name, 0)
    x, y = producers
    allow(
        story,
        ("ann", TRANSACTIONAL_ID, x.name, DESCRIBE),
        ("ann", TOPIC, free.name, DESCRIBE),
        ("bob", TRANSACTIONAL_ID, y.name, WRITE),
    )
    for one in producers:
        asked = {"transactionalIds": [x.name, y.name]}
        for user, on in (("ann", ANN), ("bob", BOB)):
            step = f"{user}, at that of {'x' if one is x else 'y'}"
            story.ask(step, "DescribeTransactions", 0, asked, to=one.at, on=on, only=described(one.name))
            story.ask(step, "ListTransactions", 2, {"stateFilters": []}, to=one.at, on=on, only=named(story))
    keys = {"keyType": 1, "coordinatorKeys": [x.name, y.name]}
    for user, on in (("ann", ANN), ("bob", BOB)):
        story.ask(user, "FindCoordinator", 6, keys, on=on, only=coordinators)


def described(name: str) -> Any:
    """For ``only``: of states those of one id, and all that are refused."""

    def reduced(answer: Fields) -> Any:
        return [
            [one["transactionalId"], one["errorCode"], one["transactionState"], [two["topic"] for two in one["topics"]]]
            for one in answer["transactionStates"]
            if one["transactionalId"] == name or one["errorCode"] == 53
        ]

    return reduced


def named(story: Story) -> Any:
    return lambda answer: [
        one["transactionalId"] for one in answer["transactionStates"] if story.prefix in one["transactionalId"]
    ]


def coordinators(answer: Fields) -> Any:
    return [[one["key"], one["errorCode"], one["nodeId"] >= 0] for one in answer["coordinators"]]


@scenario("authorization/a share session")
def share_session(story: Story) -> None:
    """Topics of a session that may not be read."""
    free, hidden = story.topic("free"), story.topic("hidden")
    group = story.named("g")
    allow(story, ("ann", GROUP, group, READ), ("ann", TOPIC, free.name, READ))

    def partitions(*topics: Topic) -> list[Fields]:
        return [
            {"topicId": one.id, "partitions": [{"partitionIndex": 7, "acknowledgementBatches": []}]} for one in topics
        ]

    sizes = {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 20, "maxRecords": 10, "batchSize": 10}
    body = {"groupId": group, "memberId": MEMBER, "forgottenTopicsData": [], **sizes}
    to = free.leader()
    for epoch, topics in enumerate(((free, hidden), (), (hidden,))):
        asked = {**body, "shareSessionEpoch": epoch, "topics": partitions(*topics)}
        story.ask(f"epoch {epoch}", "ShareFetch", 2, asked, to=to, on=ANN)
    batches = [{"firstOffset": 0, "lastOffset": 0, "acknowledgeTypes": [1]}]
    acknowledged = [
        {"topicId": one.id, "partitions": [{"partitionIndex": 7, "acknowledgementBatches": batches}]}
        for one in (free, hidden)
    ]
    asked = {"groupId": group, "memberId": MEMBER, "shareSessionEpoch": 3, "topics": acknowledged}
    story.ask("two topics", "ShareAcknowledge", 2, asked, to=to, on=ANN)


@scenario("authorization/what is looked at first")
def looked_at_first(story: Story) -> None:
    """What random requests found: of who may do nothing some requests are refused for another reason."""
    seen, hidden = story.topic("b-seen"), story.topic("a-hidden")
    allow(story, ("eve", TOPIC, seen.name, DESCRIBE))
    for version in (1, 5, 11):
        partitions = [
            {"partitionIndex": 0, "currentLeaderEpoch": epoch, "timestamp": when}
            for epoch, when in ((-1, -1), (7, -9), (-1, -9))
        ]
        topics = [{"name": hidden.name, "partitions": partitions}, {"name": "..", "partitions": partitions[:1]}]
        asked = {"replicaId": -1, "isolationLevel": 0, "timeoutMs": 1000}
        story.ask("doubled", "ListOffsets", version, {**asked, "topics": topics}, on=EVE)
        topics = [{"name": one.name, "partitions": []} for one in (hidden, seen)]
        story.ask("no partitions", "ListOffsets", version, {**asked, "topics": topics}, on=EVE)
    only = own(story)
    for step, limit, names, cursor in (
        ("all, one of them", 1, (), None),
        ("named, one of them", 1, (hidden, seen), None),
        ("the cursor is hidden", 5, (hidden, seen), hidden),
        ("behind what is hidden", 5, (hidden, seen), seen),
        ("a cursor not named", 5, (hidden,), seen),
    ):
        at = None if cursor is None else {"topicName": cursor.name, "partitionIndex": 0}
        asked = {"topics": [{"name": one.name} for one in names], "responsePartitionLimit": limit, "cursor": at}
        story.ask(step, "DescribeTopicPartitions", 0, asked, on=EVE, only=with_cursor(only))
    for version in (10, 12, 13):
        named_too = [{"topicId": hidden.id, "name": seen.name}, {"topicId": UNKNOWN, "name": hidden.name}]
        for step, more in (("ids and names", []), ("ids, names and nothing", [{"topicId": NO_ID, "name": None}])):
            asked = {"topics": [*named_too, {"topicId": NO_ID, "name": hidden.name}, *more]}
            if version > 10 or not more:
                story.ask(step, "Metadata", version, {**asked, "allowAutoTopicCreation": False}, on=EVE, only=only)
    story.ask("doubled", "Metadata", 4, {"topics": [{"name": hidden.name}] * 2}, on=EVE, only=own_names(story))
    nameless = {"name": "", "numPartitions": 1, "replicationFactor": 1, "assignments": []}
    story.ask("no name", "CreateTopics", 7, {"topics": [nameless], "timeoutMs": 5000}, on=EVE, only=created_codes)
    doubled = [{"name": hidden.name, "count": count, "assignments": None} for count in (2, 3)]
    story.ask("doubled", "CreatePartitions", 3, {"topics": doubled, "timeoutMs": 5000}, on=EVE)
    topics = [{"name": "__cluster_metadata", "numPartitions": 1, "replicationFactor": 1, "assignments": []}]
    story.ask("the metadata log", "CreateTopics", 7, {"topics": topics, "timeoutMs": 5000}, on=EVE, only=created_codes)
    for kinds in ((77,), (77, 2), (2, 2)):
        resources = [{"resourceType": kind, "resourceName": hidden.name, "configs": []} for kind in kinds]
        step = ", ".join(map(str, kinds))
        for api, version in (("DescribeConfigs", 4), ("IncrementalAlterConfigs", 1)):
            story.ask(step, api, version, {"resources": resources, "validateOnly": True}, on=EVE)
    changes = {
        "without a value": [("flush.ms", None, 0)],
        "to be deleted": [("flush.ms", None, 1)],
        "doubled": [("flush.ms", "1", 0)] * 2,
        "of no operation": [("flush.ms", "1", 9)],
        "of no name": [("no.such.config", "1", 0)],
    }
    for step, configs in changes.items():
        changed = [{"name": name, "value": value, "configOperation": what} for name, value, what in configs]
        for kind, name in ((2, hidden.name), (4, "0"), (32, "g")):
            resources = [{"resourceType": kind, "resourceName": name, "configs": changed}]
            for api, version in (("AlterConfigs", 2), ("IncrementalAlterConfigs", 1)):
                story.ask(f"{step}, of {kind}", api, version, {"resources": resources, "validateOnly": True}, on=EVE)
    broker = {"resourceType": 4, "resourceName": "x", "configs": []}
    for count in (1, 2):
        asked = {"resources": [broker] * count, "validateOnly": True}
        story.ask(f"{count} wrong brokers", "IncrementalAlterConfigs", 1, asked, on=EVE)
    asked = {"topics": [{"name": name, "partitionIndexes": [0]} for name in ("", "..", hidden.name)]}
    story.ask("wrong names", "DescribeProducers", 0, asked, on=EVE)
    asked = {"topics": [{"name": hidden.name}], "topicNames": [hidden.name], "timeoutMs": 0}
    for version in (1, 3, 6):
        story.ask("no time", "DeleteTopics", version, asked, on=EVE)


def with_cursor(only: Any) -> Any:
    return lambda answer: {**only(answer), "nextCursor": answer["nextCursor"]}
