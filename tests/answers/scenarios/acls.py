"""DescribeAcls, CreateAcls and DeleteAcls with an authorizer that lets everybody do what no entry speaks of."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Fields, Story

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}

ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
TOPIC, GROUP, CLUSTER = 2, 3, 4
READ, WRITE = 3, 4
DENY, ALLOW = 2, 3


def acl(story: Story, name: str = "t", **fields: Any) -> Fields:
    return {
        "resourceType": TOPIC,
        "resourceName": story.named(name) if name else name,
        "resourcePatternType": LITERAL,
        "principal": "User:ann",
        "host": "*",
        "operation": READ,
        "permissionType": ALLOW,
        **fields,
    }


def wanted(**fields: Any) -> Fields:
    return {
        "resourceTypeFilter": ANY,
        "resourceNameFilter": None,
        "patternTypeFilter": ANY,
        "principalFilter": None,
        "hostFilter": None,
        "operation": ANY,
        "permissionType": ANY,
        **fields,
    }


def create(story: Story, version: int, step: str, *acls: Fields) -> None:
    story.ask(step, "CreateAcls", version, {"creations": list(acls)})
    story.settle()


def describe(story: Story, version: int, step: str, at: int = 1, **fields: Any) -> None:
    def own(answer: Any) -> Any:
        if "resources" in answer:
            found = answer["resources"]
            answer["resources"] = [one for one in found if story.prefix in one["resourceName"]]
        return answer

    story.ask(step, "DescribeAcls", version, wanted(**fields), only=own, to=at)


def delete(story: Story, version: int, step: str, *filters: Fields) -> None:
    story.ask(step, "DeleteAcls", version, {"filters": list(filters)})
    story.settle()


@scenario("acls v{version}", versions="CreateAcls")
def acls(story: Story, version: int) -> None:
    topic, group = story.named("t"), story.named("g")
    describe(story, version, "none", resourceNameFilter=topic)
    create(story, version, "one", acl(story))
    create(story, version, "again", acl(story))
    create(story, version, "several", acl(story, operation=WRITE), acl(story, "g", resourceType=GROUP), acl(story))
    create(story, version, "denied", acl(story, permissionType=DENY, principal="User:bob", host="10.0.0.1"))
    create(story, version, "prefixed", acl(story, "", resourceName=topic[:-1], resourcePatternType=PREFIXED))
    describe(story, version, "by name", resourceNameFilter=topic)
    describe(story, version, "by name, elsewhere", at=2, resourceNameFilter=topic)
    describe(story, version, "literal", resourceNameFilter=topic, patternTypeFilter=LITERAL)
    describe(story, version, "prefixed", resourceNameFilter=topic[:-1], patternTypeFilter=PREFIXED)
    describe(story, version, "prefixed, by the whole name", resourceNameFilter=topic, patternTypeFilter=PREFIXED)
    describe(story, version, "whatever concerns it", resourceNameFilter=topic, patternTypeFilter=MATCH)
    describe(story, version, "whatever concerns another", resourceNameFilter=topic + "x", patternTypeFilter=MATCH)
    describe(story, version, "whatever concerns any", patternTypeFilter=MATCH)
    describe(story, version, "groups", resourceTypeFilter=GROUP)
    describe(story, version, "of a principal", principalFilter="User:bob")
    describe(story, version, "from a host", hostFilter="10.0.0.1")
    describe(story, version, "from anywhere", hostFilter="*", resourceNameFilter=topic)
    describe(story, version, "writing", operation=WRITE)
    describe(story, version, "denials", permissionType=DENY)
    describe(story, version, "all")
    for field in ("resourceTypeFilter", "patternTypeFilter", "operation", "permissionType"):
        describe(story, version, f"{field} 0", **{field: 0})
        describe(story, version, f"{field} 99", **{field: 99})
    delete(story, version, "unknown", wanted(resourceNameFilter=story.named("none")))
    delete(story, version, "one", wanted(resourceNameFilter=topic, operation=WRITE))
    both = wanted(resourceNameFilter=topic, permissionType=DENY)
    delete(story, version, "by two filters", both, wanted(resourceNameFilter=topic, principalFilter="User:bob"))
    describe(story, version, "what is left", resourceNameFilter=topic)
    for field in ("resourceTypeFilter", "patternTypeFilter", "operation", "permissionType"):
        delete(story, version, f"{field} 0", wanted(**{field: 0}))
        delete(story, version, f"{field} 99", wanted(**{field: 99}))
    delete(story, version, "right and wrong", wanted(resourceNameFilter=group), wanted(operation=99))
    delete(story, version, "none")
    delete(story, version, "all that concern it", wanted(resourceNameFilter=topic, patternTypeFilter=MATCH))
    describe(story, version, "nothing left")


@scenario("acls/refused v{version}", versions="CreateAcls")
def refused(story: Story, version: int) -> None:
    create(story, version, "none")
    create(story, version, "no name", acl(story, ""))
    create(story, version, "a cluster of another name", acl(story, resourceType=CLUSTER))
    create(story, version, "the cluster prefixed", acl(story, "", resourceType=CLUSTER, resourceName="kafka"))
    create(story, version, "no colon", acl(story, principal="ann"))
    create(story, version, "no principal", acl(story, principal=""))
    create(story, version, "another kind of principal", acl(story, "kind", principal="Group:ann"))
    create(story, version, "no host", acl(story, host=""))
    create(story, version, "a network", acl(story, "network", host="10.0.0.0/8"))
    create(story, version, "a network of 6", acl(story, "network", host="2001:db8::/32"))
    create(story, version, "no network", acl(story, host="10.0.0.0/99"))
    create(story, version, "half a network", acl(story, host="10.0/8"))
    create(story, version, "any host name", acl(story, "host", host="no such host"))
    for field in ("resourceType", "resourcePatternType", "operation", "permissionType"):
        for number in (0, 1, 99, -1):
            create(story, version, f"{field} {number}", acl(story, **{field: number}))
    create(story, version, "a pattern to match", acl(story, resourcePatternType=MATCH))
    create(story, version, "right and wrong", acl(story, "right"), acl(story, host=""))
    create(story, version, "right and any", acl(story, "any"), acl(story, operation=ANY))
    create(story, version, "the wildcard", acl(story, "", resourceName=story.named("*"), operation=2))
    create(story, version, "create a token", acl(story, "user", resourceType=7, operation=13))
    describe(story, version, "what there is")
    delete(story, version, "all of it", wanted(principalFilter="User:ann", resourceTypeFilter=TOPIC))
    delete(story, version, "all the rest", wanted(principalFilter="Group:ann"))
    delete(story, version, "users", wanted(resourceTypeFilter=7))
