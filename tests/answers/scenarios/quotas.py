"""DescribeClientQuotas and AlterClientQuotas: limits set, changed, removed, found by each kind of filter, refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Fields, Story

Entity = dict[str, str | None]
EXACT, DEFAULT, SPECIFIED = 0, 1, 2


def entry(entity: Entity | list[tuple[str, str | None]], **limits: float | None) -> Fields:
    """What to change of an entity; None removes a limit."""
    parts = entity.items() if isinstance(entity, dict) else entity
    return {
        "entity": [{"entityType": kind, "entityName": name} for kind, name in parts],
        "ops": [
            {"key": key, "value": 0.0 if limit is None else limit, "remove": limit is None}
            for key, limit in limits.items()
        ],
    }


def alter(story: Story, version: int, step: str, *entries: Fields, validate_only: bool = False) -> None:
    story.ask(step, "AlterClientQuotas", version, {"entries": list(entries), "validateOnly": validate_only})
    story.settle()


def describe(
    story: Story, version: int, step: str, *components: tuple[str, int, str | None], strict: bool = False
) -> None:
    wanted = [{"entityType": kind, "matchType": how, "match": name} for kind, how, name in components]
    request = {"components": wanted, "strict": strict}
    story.ask(step, "DescribeClientQuotas", version, request, only=lambda answer: known(answer, story))


def known(answer: Any, story: Story) -> Any:
    """An answer with the limits by key, and those entities alone that the scenario made."""
    for one in answer.get("entries") or ():
        one["values"].sort(key=lambda value: value["key"])
        one["entity"].sort(key=lambda part: part["entityType"])
    if answer.get("entries"):
        answer["entries"] = [one for one in answer["entries"] if belongs(one["entity"], story)]
    return answer


def belongs(entity: Iterable[Fields], story: Story) -> bool:
    return any(part["entityName"] is None or story.prefix in part["entityName"] for part in entity)


@scenario("quotas v{version}", versions="AlterClientQuotas")
def quotas(story: Story, version: int) -> None:
    user, client, other = story.named("user"), story.named("client"), story.named("other")
    describe(story, version, "nothing", ("user", EXACT, user))
    alter(story, version, "validate only", entry({"user": user}, producer_byte_rate=1e6), validate_only=True)
    describe(story, version, "still nothing", ("user", EXACT, user))
    alter(story, version, "a user", entry({"user": user}, producer_byte_rate=1e9, consumer_byte_rate=2e9))
    alter(story, version, "a client", entry({"client-id": client}, request_percentage=150.5))
    both = {"user": user, "client-id": client}
    alter(story, version, "both", entry(both, producer_byte_rate=3e9, controller_mutation_rate=9.5))
    alter(story, version, "the same again", entry({"user": user}, producer_byte_rate=1e9))
    alter(story, version, "several", entry({"user": other}, producer_byte_rate=1e9), entry({"client-id": other}))
    describe(story, version, "the user", ("user", EXACT, user))
    describe(story, version, "the user alone", ("user", EXACT, user), strict=True)
    describe(story, version, "the client", ("client-id", EXACT, client))
    describe(story, version, "the client alone", ("client-id", EXACT, client), strict=True)
    describe(story, version, "both by name", ("user", EXACT, user), ("client-id", EXACT, client))
    describe(story, version, "both, strict", ("user", EXACT, user), ("client-id", EXACT, client), strict=True)
    describe(story, version, "any user", ("user", SPECIFIED, None))
    describe(story, version, "any user alone", ("user", SPECIFIED, None), strict=True)
    describe(story, version, "any user of the client", ("user", SPECIFIED, None), ("client-id", EXACT, client))
    describe(story, version, "any of both", ("user", SPECIFIED, None), ("client-id", SPECIFIED, None))
    describe(story, version, "all")
    describe(story, version, "all, strict", strict=True)
    alter(story, version, "remove one", entry({"user": user}, producer_byte_rate=None))
    alter(story, version, "remove it again", entry({"user": user}, producer_byte_rate=None))
    alter(story, version, "remove an unknown key", entry({"user": user}, no_such_rate=None))
    describe(story, version, "one is left", ("user", EXACT, user), strict=True)
    alter(story, version, "remove the last", entry({"user": user}, consumer_byte_rate=None))
    describe(story, version, "none is left", ("user", EXACT, user), strict=True)
    alter(story, version, "no operations", entry({"user": user}))
    alter(story, version, "no entries")


@scenario("quotas/defaults v{version}", versions="AlterClientQuotas")
def defaults(story: Story, version: int) -> None:
    user = story.named("user")
    alter(story, version, "any user", entry({"user": None}, producer_byte_rate=5e9))
    mixed: Entity = {"user": user, "client-id": None}
    alter(story, version, "any client of a user", entry(mixed, producer_byte_rate=6e9))
    describe(story, version, "the default", ("user", DEFAULT, None), strict=True)
    describe(story, version, "any name", ("user", SPECIFIED, None))
    describe(story, version, "any client", ("client-id", SPECIFIED, None), ("user", EXACT, user))
    describe(story, version, "the default client", ("client-id", DEFAULT, None), ("user", EXACT, user))
    alter(story, version, "no default any more", entry({"user": None}, producer_byte_rate=None))
    alter(story, version, "and none for the user", entry(mixed, producer_byte_rate=None))
    describe(story, version, "gone", ("user", DEFAULT, None), strict=True)


@scenario("quotas/refused v{version}", versions="AlterClientQuotas")
def refused(story: Story, version: int) -> None:
    user, client = story.named("user"), story.named("client")
    alter(story, version, "unknown key", entry({"user": user}, no_such_rate=1.0))
    alter(story, version, "a key of addresses", entry({"user": user}, connection_creation_rate=1.0))
    for name, limit in {
        "negative": -1.0,
        "zero": 0.0,
        "a fraction": 1.5,
        "hardly a fraction": 5.0000001,
        "huge": 1e19,
        "infinite": "Infinity",
        "not a number": "NaN",
        "largest": 9.2e18,
    }.items():
        if isinstance(limit, str):
            continue  # JSON has no such numbers
        alter(story, version, f"{name} rate", entry({"user": user}, producer_byte_rate=limit))
        alter(story, version, f"{name} percentage", entry({"user": user}, request_percentage=limit))
    alter(story, version, "one key of two", entry({"user": user}, producer_byte_rate=7.0, no_such_rate=1.0))
    describe(story, version, "what is set", ("user", EXACT, user), strict=True)
    alter(story, version, "unknown kind", entry({"no-such": user}, producer_byte_rate=1.0))
    alter(story, version, "empty kind", entry({"": user}, producer_byte_rate=1.0))
    alter(story, version, "no entity", entry({}, producer_byte_rate=1.0))
    alter(story, version, "empty user", entry({"user": ""}, producer_byte_rate=1.0))
    alter(story, version, "empty client", entry({"client-id": ""}, producer_byte_rate=1.0))
    alter(story, version, "empty address", entry({"ip": ""}, connection_creation_rate=1.0))
    twice = entry([("client-id", client), ("client-id", story.named("b"))], producer_byte_rate=1.0)
    alter(story, version, "a part twice", twice)
    one = entry({"user": user}, consumer_byte_rate=8.0)
    alter(story, version, "an entity twice", one, entry({"user": user}, consumer_byte_rate=9.0))
    describe(story, version, "what came first", ("user", EXACT, user), strict=True)
    double = entry({"user": story.named("double")}, producer_byte_rate=1.0)
    double["ops"].append({"key": "producer_byte_rate", "value": 2.0, "remove": False})
    alter(story, version, "a key twice", double)
    wrong, right = entry({"user": user}, no_such_rate=1.0), entry({"client-id": client}, producer_byte_rate=4.0)
    alter(story, version, "one entity of two", wrong, right)
    describe(story, version, "the right one", ("client-id", EXACT, client), strict=True)


@scenario("quotas/addresses v{version}", versions="AlterClientQuotas")
def addresses(story: Story, version: int) -> None:
    for name, address in {"4": "10.1.2.3", "6": "2001:db8::1", "bad": "not an address", "local": "localhost"}.items():
        alter(story, version, f"address {name}", entry({"ip": address}, connection_creation_rate=1e6))
        alter(story, version, f"address {name} again", entry({"ip": address}, connection_creation_rate=None))
    alter(story, version, "default address", entry({"ip": None}, connection_creation_rate=1e6))
    describe(story, version, "default address", ("ip", DEFAULT, None))
    describe(story, version, "any address", ("ip", SPECIFIED, None), strict=True)
    alter(story, version, "no default address", entry({"ip": None}, connection_creation_rate=None))
    alter(story, version, "another's key", entry({"ip": "10.1.2.3"}, producer_byte_rate=1.0))
    alter(story, version, "too many", entry({"ip": "10.1.2.3"}, connection_creation_rate=3e9))
    alter(story, version, "a fraction", entry({"ip": "10.1.2.3"}, connection_creation_rate=1.5))
    for kind in ("user", "client-id"):
        mixed: Entity = {"ip": "10.1.2.3", kind: story.named("x")}
        alter(story, version, f"and a {kind}", entry(mixed, connection_creation_rate=1.0))
        describe(story, version, f"and a {kind}", ("ip", EXACT, "10.1.2.3"), (kind, EXACT, "x"))
        describe(story, version, f"and any {kind}", ("ip", SPECIFIED, None), (kind, SPECIFIED, None))


@scenario("quotas/filters v{version}", versions="DescribeClientQuotas")
def filters(story: Story, version: int) -> None:
    name = story.named("x")
    describe(story, version, "the same kind twice", ("user", EXACT, name), ("user", SPECIFIED, None))
    describe(story, version, "unknown kind", ("no-such", EXACT, name))
    describe(story, version, "empty kind", ("", EXACT, name))
    describe(story, version, "unknown match", ("user", 9, name))
    describe(story, version, "unknown match without a name", ("user", 3, None))
    describe(story, version, "negative match", ("user", -1, name))
    describe(story, version, "exact without a name", ("user", EXACT, None))
    describe(story, version, "exact with an empty name", ("user", EXACT, ""))
    describe(story, version, "default with a name", ("user", DEFAULT, name))
    describe(story, version, "any with a name", ("user", SPECIFIED, name))
    describe(story, version, "unknown kind and match", ("no-such", 9, name))
    describe(story, version, "empty and unknown match", ("", 9, None))
    describe(story, version, "twice and unknown", ("user", EXACT, name), ("user", 9, None))
