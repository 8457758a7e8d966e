"""Every API where all may do what no entry speaks of: before there are entries, and once there are somebody else's."""

from __future__ import annotations

from tests.answers.access_requests import Present
from tests.answers.access_requests_of_the_cluster import all_requests
from tests.answers.scenarios import scenario
from tests.answers.scenarios.authorization import ALL, NOBODY, SUPER, TYPES, entry, told
from tests.answers.scenarios.authorization import SETTINGS as CLOSED
from tests.answers.story import Story
from tests.answers.versions import VERSIONS

SETTINGS = {**CLOSED, "allow.everyone.if.no.acl.found": "true"}
USERS = [SUPER, NOBODY]
OTHER = "other"
FILTER = {
    "resourceTypeFilter": 1,
    "resourceNameFilter": None,
    "patternTypeFilter": 1,
    "principalFilter": f"User:{OTHER}",
    "hostFilter": None,
    "operation": 1,
    "permissionType": 1,
}


def asked(story: Story, api: str, what: str) -> None:
    there = Present.of(story)
    broker, fields = all_requests()[api, what](there)
    label = f"{what}, " if what else ""

    def ask(step: str) -> None:
        for user in USERS:
            where = {"to": broker, "on": f"as {user}"}
            story.ask(f"{label}{step}, {user}", api, VERSIONS[api][1], fields, only=told(story), **where)

    ask("without entries")
    story.quiet("CreateAcls", 3, {"creations": [entry(OTHER, kind, ALL) for kind in TYPES]})
    story.settle()
    ask("with another's")
    story.quiet("DeleteAcls", 3, {"filters": [FILTER]})
    story.settle()


for api_, what_ in all_requests():

    def run(story: Story, api: str = api_, what: str = what_) -> None:
        asked(story, api, what)

    run.__module__ = __name__
    scenario(f"open/{api_}{' ' if what_ else ''}{what_}")(run)
