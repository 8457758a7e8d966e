"""CreateTopics without settings, DeleteTopics, CreatePartitions: names, numbers, assignments by hand, time-outs."""

from __future__ import annotations

from typing import Any

from tests.answers.normal import ZERO_ID
from tests.answers.scenarios import scenario
from tests.answers.scenarios.metadata import ASKED_ID, placed_anywhere
from tests.answers.story import Story

NAMES = ("", ".", "..", "a b", "a/b", "x" * 250, "ü", "__cluster_metadata")


def by_hand(*brokers: list[int], first: int = 0, step: int = 1) -> list[dict[str, Any]]:
    return [{"partitionIndex": first + index * step, "brokerIds": one} for index, one in enumerate(brokers)]


@scenario("create topics v{version}", versions="CreateTopics")
def create_topics(story: Story, version: int) -> None:
    def topic(short: str, partitions: int = 1, replicas: int = 1, **fields: Any) -> dict[str, Any]:
        name = story.named(short)
        base = {"name": name, "numPartitions": partitions, "replicationFactor": replicas, "configs": []}
        return base | {"assignments": []} | fields

    def ask(step: str, *topics: dict[str, Any], timeout: int = 10_000, checks: bool = False, to: int = 0) -> None:
        request = {"topics": list(topics), "timeoutMs": timeout, "validateOnly": checks}
        story.ask(step, "CreateTopics", version, request, to=to, only=without_configs)

    ask("two partitions", topic("t", 2, 2))
    ask("it exists", topic("t", 2, 2))
    ask("at another broker", topic("other"), to=2)
    if version >= 4:
        ask("defaults", topic("def", -1, -1))
        ask("default partitions", topic("def1", -1, 1))
        ask("default replicas", topic("def2", 1, -1))
    ask("validate only", topic("val", 3, 3), checks=True)
    ask("validated again", topic("val", 3, 3), checks=True)
    ask("validate what exists", topic("t"), checks=True)
    ask("validate what cannot be", topic("val", 1, 9), checks=True)
    for replicas in (4, 0, -2):
        ask(f"replication factor {replicas}", topic("x", 1, replicas))
    for partitions in (0, -2):
        ask(f"partitions {partitions}", topic("x", partitions, 1))
    ask("both wrong", topic("x", 0, 0))
    for name in NAMES:
        ask(f"name {name[:20]!r}", topic("x") | {"name": name})
    ask("name of 249", topic("y" * (248 - len(story.prefix))))
    ask("a name twice", topic("tw"), topic("tw"))
    ask("a name twice, another", topic("tw"), topic("tw", 2), topic("alone"))
    ask("a.b", topic("a.b"))
    ask("a_b beside it", topic("a_b"))
    ask("a_b is refused with others", topic("a_b"), topic("c.d"))
    ask("c_d and c.d at once", topic("e_f"), topic("e.f"))
    ask("by hand", topic("hand", -1, -1, assignments=by_hand([2, 0], [1, 2])))
    wrong: dict[str, dict[str, Any]] = {
        "numbers too": topic("h", 2, 2, assignments=by_hand([2, 0], [1, 2])),
        "partitions too": topic("h", 2, -1, assignments=by_hand([2, 0], [1, 2])),
        "factor too": topic("h", -1, 2, assignments=by_hand([2, 0], [1, 2])),
        "a broker twice": topic("h", -1, -1, assignments=by_hand([1, 1])),
        "unknown broker": topic("h", -1, -1, assignments=by_hand([0, 7])),
        "uneven": topic("h", -1, -1, assignments=by_hand([0, 1], [2])),
        "none for a partition": topic("h", -1, -1, assignments=by_hand([0], [])),
        "from partition 1": topic("h", -1, -1, assignments=by_hand([0], [1], first=1)),
        "a hole": topic("h", -1, -1, assignments=by_hand([0], [1], step=2)),
        "negative partition": topic("h", -1, -1, assignments=by_hand([0], first=-1)),
        "a partition twice": topic("h", -1, -1, assignments=by_hand([0], [1], step=0)),
        "negative broker": topic("h", -1, -1, assignments=by_hand([-1])),
    }
    for step, one in wrong.items():
        ask(f"by hand, {step}", one)
    ask("good and bad", topic("good"), topic("t"), topic("x") | {"name": "a b"})
    ask("good and too many replicas", topic("fine"), topic("x", 1, 9))
    ask("too many partitions in all", topic("many", 9_999), topic("more", 2))
    ask("nothing")
    ask("nothing, validated", checks=True)
    ask("time-out 0", topic("quick"), timeout=0)
    ask("time-out -1", topic("quick2"), timeout=-1)
    for short in ("hand", "t"):
        story.known(story.named(short))
    wanted = {"topics": [{"name": story.named("hand")}], "allowAutoTopicCreation": False}
    story.ask("by hand", "Metadata", 9, wanted, only=lambda answer: {"topics": answer["topics"]})
    wanted = {"topics": [{"name": story.named("t")}, {"name": story.named("val")}], "allowAutoTopicCreation": False}
    story.ask("placed", "Metadata", 9, wanted, only=placed_anywhere)


def without_configs(answer: Any) -> Any:
    """An answer without the settings of what was created, which are a subject of their own."""
    for topic in answer["topics"]:
        topic.pop("configs", None)
    return answer


@scenario("delete topics v{version}", versions="DeleteTopics")
def delete_topics(story: Story, version: int) -> None:
    t, ids = story.topic("t"), {}
    for short in "uwxyzabcd":
        ids[story.named(short)] = story.topic(short).id
    story.names.know(ASKED_ID, "<asked id 1>")
    names = {short: story.named(short) for short in (*"uwxyzabcd", "none")}

    def ask(step: str, *topics: str | dict[str, Any], timeout: int = 10_000, to: int = 0) -> None:
        wanted = [{"name": one, "topicId": ZERO_ID} if isinstance(one, str) else one for one in topics]
        request = {"topicNames": [one["name"] for one in wanted], "topics": wanted, "timeoutMs": timeout}
        story.ask(step, "DeleteTopics", version, request, to=to)

    ask("one", t.name)
    story.settle()
    ask("it again", t.name)
    ask("unknown", names["none"])
    ask("two and an unknown one", names["u"], names["w"], names["none"])
    ask("bad name", "a b")
    ask("empty name", "")
    ask("nothing")
    ask("twice", names["x"], names["x"])
    ask("twice and another", names["x"], names["x"], names["a"])
    ask("unknown twice", names["none"], names["none"])
    ask("at another broker", names["y"], to=1)
    ask("time-out 0", names["z"], timeout=0)
    ask("after time-out 0", names["z"])
    ask("time-out -1", names["a"], timeout=-1)
    if version >= 6:

        def by_id(short: str, name: str | None = None) -> dict[str, Any]:
            return {"name": name, "topicId": ids[story.named(short)]}

        ask("by id", by_id("b"))
        story.settle()
        ask("by id again", by_id("b"))
        ask("by an unknown id", {"name": None, "topicId": ASKED_ID})
        ask("neither name nor id", {"name": None, "topicId": ZERO_ID})
        ask("id and name", by_id("c", names["c"]))
        ask("by id and by name", by_id("c"), names["c"])
        ask("an id twice", by_id("c"), by_id("c"))
        ask("unknown id and name", {"name": names["d"], "topicId": ASKED_ID})
        ask("good and bad ids", by_id("d"), {"name": None, "topicId": ASKED_ID}, names["none"])


@scenario("create partitions v{version}", versions="CreatePartitions")
def create_partitions(story: Story, version: int) -> None:
    t, u, w, x = story.topic("t"), story.topic("u"), story.topic("w", replicas=1, assignments=[[0]]), story.topic("x")

    def grown(name: str, count: int, hands: list[list[int]] | None = None) -> dict[str, Any]:
        assignments = None if hands is None else [{"brokerIds": one} for one in hands]
        return {"name": name, "count": count, "assignments": assignments}

    def ask(step: str, *topics: dict[str, Any], timeout: int = 10_000, checks: bool = False, to: int = 0) -> None:
        request = {"topics": list(topics), "timeoutMs": timeout, "validateOnly": checks}
        story.ask(step, "CreatePartitions", version, request, to=to)

    ask("to 3", grown(t.name, 3))
    ask("to 3 again", grown(t.name, 3))
    for count in (2, 0, -1):
        ask(f"to {count}", grown(t.name, count))
    ask("unknown topic", grown(story.named("none"), 3))
    ask("empty name", grown("", 3))
    ask("bad name", grown("a b", 3))
    ask("at another broker", grown(x.name, 2), to=1)
    ask("by hand", grown(u.name, 2, [[2, 1, 0]]))
    ask("by hand, too few", grown(u.name, 4, [[2, 1, 0]]))
    ask("by hand, too many", grown(u.name, 3, [[2, 1, 0], [0, 1, 2]]))
    ask("by hand, unknown broker", grown(u.name, 3, [[2, 1, 7]]))
    ask("by hand, a broker twice", grown(u.name, 3, [[2, 1, 1]]))
    ask("by hand, none", grown(u.name, 3, [[]]))
    ask("by hand, an empty list", grown(u.name, 3, []))
    ask("by hand, another factor", grown(u.name, 3, [[2]]))
    ask("by hand, uneven", grown(u.name, 4, [[2, 1, 0], [1]]))
    ask("by hand, a negative broker", grown(u.name, 3, [[2, 1, -1]]))
    ask("by hand, count too low", grown(u.name, 1, [[2, 1, 0]]))
    ask("validate only", grown(w.name, 5), checks=True)
    ask("validate what cannot be", grown(w.name, 1), checks=True)
    ask("good and bad", grown(w.name, 2, [[1]]), grown(t.name, 1))
    ask("nothing")
    ask("twice", grown(x.name, 3), grown(x.name, 4))
    ask("twice and another", grown(x.name, 3), grown(x.name, 3), grown(t.name, 4))
    ask("time-out 0", grown(w.name, 6), timeout=0)
    ask("too many partitions in all", grown(w.name, 9_000), grown(x.name, 1_100))
    story.settle()
    wanted = {"topics": [{"name": u.name}, {"name": w.name}], "allowAutoTopicCreation": False}
    story.ask("after", "Metadata", 7, wanted, only=lambda answer: {"topics": answer["topics"]})
