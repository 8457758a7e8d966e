"""DescribeUserScramCredentials and AlterUserScramCredentials: passwords set, changed, removed, shown, and refused."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Fields, Story

SHA_256, SHA_512 = 1, 2
Deletions = list[tuple[str, int]]


def upsertion(user: str, mechanism: int = SHA_256, iterations: int = 4096, password: bytes = b"salted") -> Fields:
    return {
        "name": user,
        "mechanism": mechanism,
        "iterations": iterations,
        "salt": b"salt",
        "saltedPassword": password,
    }


def alter(story: Story, step: str, upsertions: list[Fields], deletions: Deletions | None = None) -> None:
    gone = [{"name": user, "mechanism": mechanism} for user, mechanism in deletions or ()]
    request = {"deletions": gone, "upsertions": upsertions}
    story.ask(step, "AlterUserScramCredentials", 0, request)
    story.settle()


def describe(story: Story, step: str, *users: str, at: int = 0) -> None:
    request = {"users": [{"name": user} for user in users]}
    story.ask(step, "DescribeUserScramCredentials", 0, request, to=at)


def everybody(story: Story, step: str, users: Any) -> None:
    def own(answer: Any) -> Any:
        answer["results"] = [one for one in answer["results"] if story.prefix in one["user"]]
        return answer

    story.ask(step, "DescribeUserScramCredentials", 0, {"users": users}, only=own)


@scenario("scram")
def scram(story: Story) -> None:
    ann, bob, none = (story.named(name) for name in ("ann", "bob", "none"))
    describe(story, "nobody", none)
    alter(story, "one", [upsertion(ann)])
    alter(story, "two mechanisms in turn", [upsertion(ann, SHA_512, 8192)])
    alter(story, "two users", [upsertion(bob, SHA_512, 16384), upsertion(story.named("cid"))])
    describe(story, "one", ann)
    describe(story, "several, one unknown", ann, none, bob)
    describe(story, "twice", ann, ann)
    describe(story, "twice and another", bob, ann, ann)
    describe(story, "unknown twice", none, none)
    describe(story, "an empty name", "")
    describe(story, "elsewhere", ann, at=2)
    everybody(story, "all", None)
    everybody(story, "all, by no name", [])
    alter(story, "changed", [upsertion(ann, SHA_256, 5000)])
    describe(story, "changed", ann)
    alter(story, "remove one", [], [(ann, SHA_256)])
    describe(story, "one is left", ann)
    alter(story, "remove it again", [], [(ann, SHA_256)])
    alter(story, "remove and set", [upsertion(ann, SHA_256)], [(bob, SHA_512)])
    describe(story, "removed and set", ann, bob)
    alter(story, "nothing", [])


@scenario("scram/refused")
def refused(story: Story) -> None:
    ann, bob, cid = (story.named(name) for name in ("ann", "bob", "cid"))
    alter(story, "no name", [upsertion("")])
    alter(story, "unknown mechanism", [upsertion(ann, 3)])
    alter(story, "mechanism 0", [upsertion(ann, 0)])
    alter(story, "negative mechanism", [upsertion(ann, -1)])
    alter(story, "no name, unknown mechanism", [upsertion("", 9)])
    for iterations in (-1, 0, 4095, 4096, 16384, 16385):
        alter(story, f"{iterations} iterations", [upsertion(ann, SHA_256, iterations)])
        alter(story, f"{iterations} iterations of the other", [upsertion(ann, SHA_512, iterations)])
    alter(story, "an empty password", [upsertion(bob, password=b"")])
    alter(story, "remove unknown", [], [(cid, SHA_256)])
    alter(story, "remove without a name", [], [("", SHA_256)])
    alter(story, "remove an unknown mechanism", [], [(ann, 9)])
    alter(story, "remove another mechanism", [], [(cid, SHA_512)])
    alter(story, "set twice", [upsertion(bob), upsertion(bob, SHA_512)])
    alter(story, "set three times", [upsertion(bob), upsertion(bob, SHA_512), upsertion(bob)])
    alter(story, "remove twice", [], [(ann, SHA_256), (ann, SHA_512)])
    alter(story, "set and remove", [upsertion(ann)], [(ann, SHA_512)])
    alter(story, "remove unknown and set", [upsertion(cid)], [(cid, SHA_256)])
    alter(story, "one of two", [upsertion(bob, SHA_256, 1), upsertion(cid)])
    alter(story, "wrong, then right", [upsertion(bob, 7), upsertion(bob)])
    describe(story, "what there is", ann, bob, cid)
