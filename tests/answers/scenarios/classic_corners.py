"""Corners of classic groups: members without time to rebalance, and with an instance id that comes too late."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.story import Story


@scenario("classic corners/rebalance timeout v{version}", versions=("JoinGroup", 1, 9))
def rebalance_timeout(story: Story, version: int) -> None:
    """A classic member that has no time to rebalance."""
    group = story.named("g")
    to = story.coordinator(group)
    for number, timeout_ms in enumerate((-1, 0, -2)):
        join = {
            "groupId": f"{group}{number}",
            "sessionTimeoutMs": 10_000,
            "rebalanceTimeoutMs": timeout_ms,
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        to = story.coordinator(f"{group}{number}")
        story.ask(f"{timeout_ms} ms, a stranger", "JoinGroup", version, join | {"memberId": "who"}, to=to)
        member = ""
        for step in ("first", "second", "third"):
            given = story.ask(f"{timeout_ms} ms, {step}", "JoinGroup", version, join | {"memberId": member}, to=to)
            member = given["memberId"] or member
            story.wait(300)
            described = {"groups": [f"{group}{number}"]}
            story.ask(f"{timeout_ms} ms, {step}, described", "DescribeGroups", 5, described, to=to)


@scenario("classic corners/late instance v{version}", versions=("JoinGroup", 5, 9))
def late_instance(story: Story, version: int) -> None:
    """A member that has been given its id, and says only then that it is a static one."""
    group = story.named("g")
    to = story.coordinator(group)
    join = {
        "groupId": group,
        "sessionTimeoutMs": 10_000,
        "rebalanceTimeoutMs": 10_000,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    described = {"groups": [group]}
    given = story.ask("is named", "JoinGroup", version, join | {"memberId": ""}, to=to)
    late = join | {"memberId": given["memberId"], "groupInstanceId": "i"}
    story.ask("says its instance", "JoinGroup", version, late, to=to)
    story.ask("says it again", "JoinGroup", version, late, to=to)
    story.ask("described", "DescribeGroups", 5, described, to=to)
    story.ask("without it", "JoinGroup", version, join | {"memberId": given["memberId"]}, to=to)
    story.ask("with it", "JoinGroup", version, late, to=to)
    story.ask("described again", "DescribeGroups", 5, described, to=to)
