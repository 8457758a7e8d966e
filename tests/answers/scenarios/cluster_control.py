"""UpdateFeatures, DescribeQuorum, UnregisterBroker, UnregisterController, delegation tokens, and ACLs without anybody
to mind them.
"""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Fields, Story

UPGRADE, SAFE, UNSAFE = 1, 2, 3
METADATA_LOG = "__cluster_metadata"


def update(story: Story, version: int, step: str, *updates: tuple[str, int, int], validate_only: bool = True) -> None:
    """Version 0 cannot only validate: there nothing that Kafka would do is asked for."""
    wanted = [
        {"feature": name, "maxVersionLevel": level, "upgradeType": how, "allowDowngrade": how != UPGRADE}
        for name, level, how in updates
    ]
    request = {"featureUpdates": wanted, "validateOnly": validate_only, "timeoutMs": 5000}
    story.ask(step, "UpdateFeatures", version, request)


@scenario("features v{version}", versions="UpdateFeatures")
def features(story: Story, version: int) -> None:
    for name, level in {
        "group.version": 1,
        "share.version": 2,
        "streams.version": 1,
        "transaction.version": 2,
        "eligible.leader.replicas.version": 1,
        "metadata.version": 33,
        "kraft.version": 0,
    }.items():
        update(story, version, f"{name} as it is", (name, level, UPGRADE))
        update(story, version, f"{name} down, as an upgrade", (name, level - 1, UPGRADE))
        update(story, version, f"{name} too high", (name, 99, UPGRADE))
        update(story, version, f"{name} negative", (name, -1, UPGRADE))
        if version:
            update(story, version, f"{name} down", (name, level - 1, SAFE))
            update(story, version, f"{name} down, unsafe", (name, level - 1, UNSAFE))
            update(story, version, f"{name} away", (name, 0, SAFE))
            update(story, version, f"{name} as it is, as a downgrade", (name, level, SAFE))
            update(story, version, f"{name} up, as a downgrade", (name, level + 1, SAFE))
            update(story, version, f"{name} up", (name, level + 1, UPGRADE))
    update(story, version, "unknown feature", ("no.such.feature", 1, UPGRADE))
    update(story, version, "unknown feature at 0", ("no.such.feature", 0, UPGRADE))
    update(story, version, "empty name", ("", 1, UPGRADE))
    update(story, version, "nothing")
    update(story, version, "right and wrong", ("group.version", 1, UPGRADE), ("no.such.feature", 1, UPGRADE))
    update(story, version, "two", ("group.version", 1, UPGRADE), ("share.version", 2, UPGRADE))
    if version:
        for how in (0, 4, -1):
            update(story, version, f"upgrade type {how}", ("group.version", 1, how))
        update(story, version, "below all metadata versions", ("metadata.version", 6, SAFE))
        update(story, version, "far down", ("metadata.version", 22, SAFE))


@scenario("quorum v{version}", versions="DescribeQuorum")
def quorum(story: Story, version: int) -> None:
    def shape(answer: Any) -> Any:
        for topic in answer["topics"]:
            for partition in topic["partitions"]:
                for name in ("leaderEpoch", "highWatermark"):
                    partition[name] = partition[name] > 0
                for replica in (*partition["currentVoters"], *partition["observers"]):
                    for name in ("logEndOffset", "lastFetchTimestamp", "lastCaughtUpTimestamp"):
                        if name in replica:
                            replica[name] = replica[name] > 0
                    if "replicaDirectoryId" in replica:
                        replica["replicaDirectoryId"] = not replica["replicaDirectoryId"].startswith("AAAA")
        return answer

    def ask(step: str, *topics: tuple[str, list[int]], to: int = 0) -> None:
        wanted = [
            {"topicName": name, "partitions": [{"partitionIndex": i} for i in indexes]} for name, indexes in topics
        ]
        story.ask(step, "DescribeQuorum", version, {"topics": wanted}, only=shape, to=to)

    ask("the metadata log", (METADATA_LOG, [0]))
    ask("elsewhere", (METADATA_LOG, [0]), to=2)
    ask("nothing")
    ask("another topic", ("other", [0]))
    ask("another partition", (METADATA_LOG, [1]))
    ask("two partitions", (METADATA_LOG, [0, 1]))
    ask("the same twice", (METADATA_LOG, [0, 0]))
    ask("and another topic", (METADATA_LOG, [0]), ("other", [0, 4]))
    ask("no partition", (METADATA_LOG, []))
    ask("an empty name", ("", [0]))


@scenario("unregister")
def unregister(story: Story) -> None:
    for name, broker_id in {"unknown": 77, "negative": -1, "huge": 2**31 - 1}.items():
        story.ask(name, "UnregisterBroker", 0, {"brokerId": broker_id})
        story.ask(f"{name}, elsewhere", "UnregisterBroker", 0, {"brokerId": broker_id}, to=1)
    for name, controller_id in {"unknown": 77, "negative": -1, "the active one": 0, "a broker": 1}.items():
        story.ask(name, "UnregisterController", 0, {"controllerId": controller_id}, to=1)


@scenario("delegation tokens v{version}", versions="CreateDelegationToken")
def tokens(story: Story, version: int) -> None:
    renewer = {"principalType": "User", "principalName": "ann"}

    def create(step: str, **fields: Any) -> None:
        story.ask(step, "CreateDelegationToken", version, {"renewers": [renewer], "maxLifetimeMs": -1, **fields})

    create("plain")
    create("of somebody", ownerPrincipalType="User", ownerPrincipalName="bob")
    create("of an empty name", ownerPrincipalType="User", ownerPrincipalName="")
    create("of nobody", ownerPrincipalType=None, ownerPrincipalName=None)
    create("no renewers", renewers=[])
    create("a negative time", maxLifetimeMs=-5)
    create("a renewer without a type", renewers=[{"principalType": "", "principalName": ""}])
    older = min(version, 2)
    for hmac in (b"", b"\1\2"):
        story.ask(f"{len(hmac)} bytes", "RenewDelegationToken", older, {"hmac": hmac, "renewPeriodMs": 1000})
        story.ask(f"{len(hmac)} bytes", "ExpireDelegationToken", older, {"hmac": hmac, "expiryTimePeriodMs": -1})
    owners: dict[str, list[Fields] | None] = {"all": None, "none": [], "one": [renewer]}
    for step, wanted in owners.items():
        story.ask(step, "DescribeDelegationToken", version, {"owners": wanted})


@scenario("acls/nobody minds v{version}", versions="CreateAcls")
def nobody_minds(story: Story, version: int) -> None:
    acl = {
        "resourceType": 2,
        "resourceName": "t",
        "resourcePatternType": 3,
        "principal": "User:a",
        "host": "*",
        "operation": 3,
        "permissionType": 3,
    }
    any_of_them = {
        "resourceTypeFilter": 1,
        "resourceNameFilter": None,
        "patternTypeFilter": 3,
        "principalFilter": None,
        "hostFilter": None,
        "operation": 1,
        "permissionType": 1,
    }
    story.ask("one", "CreateAcls", version, {"creations": [acl]})
    story.ask("two", "CreateAcls", version, {"creations": [acl, acl]})
    story.ask("none", "CreateAcls", version, {"creations": []})
    story.ask("wrong", "CreateAcls", version, {"creations": [{**acl, "resourceType": 1, "host": ""}]})
    story.ask("unknown type", "CreateAcls", version, {"creations": [{**acl, "resourceType": 0}]})
    story.ask("all", "DescribeAcls", version, any_of_them)
    story.ask("unknown operation", "DescribeAcls", version, {**any_of_them, "operation": 0})
    story.ask("all", "DeleteAcls", version, {"filters": [any_of_them]})
    story.ask("none", "DeleteAcls", version, {"filters": []})
    story.ask("unknown permission", "DeleteAcls", version, {"filters": [{**any_of_them, "permissionType": 0}]})
