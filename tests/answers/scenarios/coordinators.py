"""FindCoordinator: groups, transactional ids, share partitions; kinds that do not exist; several keys at once."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Story


@scenario("find coordinator v{version}", versions="FindCoordinator")
def find_coordinator(story: Story, version: int) -> None:
    group = story.named("g")
    story.coordinator(group)
    story.coordinator(group, 1)
    story.coordinator("g:EREREREREREREREREREREQ:0", 2)

    def ask(step: str, key: str = group, kind: int = 0, to: int = 0, keys: list[str] | None = None) -> None:
        wanted: dict[str, Any] = {"key": key, "keyType": kind}
        wanted["coordinatorKeys"] = [key] if keys is None else keys
        story.ask(step, "FindCoordinator", version, wanted, to=to, only=anywhere)

    ask("group")
    ask("at another broker", to=1)
    ask("empty group", key="")
    ask("odd group", key="a b/ü")
    ask("long group", key="g" * 1000)
    if version >= 1:
        ask("kind 5", kind=5)
        ask("kind -1", kind=-1)
        ask("kind 3", kind=3)
        ask("transaction", kind=1)
        ask("empty transaction", key="", kind=1)
        ask("share, no such key", kind=2)
        ask("share, empty key", key="", kind=2)
        ask("share, two colons but no id", key="g:t:0", kind=2)
        ask("share, empty parts", key="::", kind=2)
        ask("share, no partition", key="g:EREREREREREREREREREREQ:x", kind=2)
        ask("share, partition -1", key="g:EREREREREREREREREREREQ:-1", kind=2)
        ask("share, four parts", key="g:EREREREREREREREREREREQ:0:1", kind=2)
    if version >= 4:
        ask("two groups", keys=[group, story.named("h")])
        ask("a group twice", keys=[group, group])
        ask("none", keys=[])
        ask("two of kind 5", keys=[group, story.named("h")], kind=5)
        ask("share, good and bad", keys=["g", "g:EREREREREREREREREREREQ:0"], kind=2)


def anywhere(answer: Any) -> Any:
    """An answer, in which it does not matter which broker coordinates."""
    kept = dict(answer)
    for one in (kept, *kept.get("coordinators", ())):
        if one.get("nodeId", -1) >= 0:
            one["nodeId"] = "<broker>"
    return kept


@scenario("init producer id v{version}", versions="InitProducerId")
def init_producer_id(story: Story, version: int) -> None:
    name = story.named("x")
    right = story.coordinator(name, 1)
    none = {"transactionalId": None, "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}

    def ask(step: str, to: int = 0, **fields: Any) -> Any:
        return story.ask(step, "InitProducerId", version, none | fields, to=to)

    for broker in range(3):  # each asks the controller for a block of ids first
        story.producer_id(broker)
    ask("idempotent")
    ask("idempotent, another")
    ask("idempotent, at another broker", to=1)
    ask("idempotent, time-out 0", transactionTimeoutMs=0)
    ask("idempotent, time-out -1", transactionTimeoutMs=-1)
    ask("empty id", transactionalId="")
    first = ask("transactional", to=right, transactionalId=name)
    ask("again", to=right, transactionalId=name)
    ask("not the coordinator", to=(right + 1) % 3, transactionalId=name)
    ask("time-out 0", to=right, transactionalId=name, transactionTimeoutMs=0)
    ask("time-out -1", to=right, transactionalId=name, transactionTimeoutMs=-1)
    ask("time-out too long", to=right, transactionalId=name, transactionTimeoutMs=900_001)
    ask("time-out as long as may be", to=right, transactionalId=name, transactionTimeoutMs=900_000)
    if version >= 3:
        pid = first["producerId"]
        ask("idempotent with an id", producerId=pid, producerEpoch=0)
        ask("idempotent with an unknown id", producerId=99_999, producerEpoch=0)
        ask("half an id", producerId=pid)
        ask("half an epoch", producerEpoch=0)
        ask("half an id, transactional", to=right, transactionalId=name, producerId=pid)
        ask("half an epoch, transactional", to=right, transactionalId=name, producerEpoch=0)
        ask("the epoch that is", to=right, transactionalId=name, producerId=pid, producerEpoch=2)
        ask("the epoch before", to=right, transactionalId=name, producerId=pid, producerEpoch=2)
        ask("an old epoch", to=right, transactionalId=name, producerId=pid, producerEpoch=0)
        ask("a later epoch", to=right, transactionalId=name, producerId=pid, producerEpoch=99)
        ask("another's id", to=right, transactionalId=name, producerId=pid + 999, producerEpoch=0)
        new = story.named("new")
        at = story.coordinator(new, 1)
        ask("a new transaction with an id", to=at, transactionalId=new, producerId=pid, producerEpoch=0)
        ask("id -2", producerId=-2, producerEpoch=0)
        ask("epoch -2", producerId=pid, producerEpoch=-2)
