"""Answers of the control API as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from kafka_rack.cli.output.tables import TableLines, table
from kafka_rack.locality.amounts import bytes_text
from kafka_rack.locality.reasons import AVOIDABLE_WORDS
from kafka_rack.plurals import counted
from kafka_rack.printable import printable

ANONYMOUS = "User:ANONYMOUS"
MAX_CROSSINGS = 10
"""Rows of clients and topics that crossed racks; `--format json` has them all."""
REQUEST_WIDTHS = {
    "time": 12, "client": 22, "rack": 6, "API": 20, "broker": 7, "bytes": 8, "about": 24, "verdict": 0,
}  # fmt: skip
"""Columns of a terminal that calls have, which come one by one."""


def status(cluster: dict[str, Any], faults: Sequence[dict[str, Any]], moved: dict[str, Any]) -> str:
    """Brokers by rack, and below whatever is not as it should be, and how much has crossed racks."""
    rows = [
        [one["id"], one["rack"], state_of(one), address_of(one), led(cluster, one["id"]), one["follower_lag"] or None]
        for one in cluster["brokers"]
    ]
    partitions = [(topic, one) for topic in cluster["topics"] for one in topic["partitions"]]
    classic = [(topic, one) for topic, one in partitions if not topic["diskless"]]
    short = [one for _, one in classic if len(one["isr"]) < len(one["replicas"])]
    orphans = [one for _, one in classic if one["leader"] == -1]
    partitions_line = (
        f"{counted(len(cluster['topics']), 'topic')}, {counted(len(partitions), 'partition')}: "
        f"{len(orphans)} without leader, {len(short)} with replicas out of sync"
    )
    lines = [
        f"cluster {cluster['cluster_id']}, {mode_of(cluster)}",
        "",
        table(["broker", "rack", "state", "address", "leads", "lag"], rows),
        "",
        partitions_line,
    ]
    if cluster["cut_links"]:
        lines.append(f"cut links: {', '.join(f'{a} to {b}' for a, b in cluster['cut_links'])}")
    if cluster["clock_ms"]:
        lines.append(f"the wall clock is {cluster['clock_ms']} ms ahead")
    if faults:
        lines.append(f"faults: {', '.join(printable(one['id']) for one in faults)}")
    if moved["calls"]:
        lines.append(f"{counted(moved['calls'], 'call')}; {'; '.join(moved['summary']['lines'].values())}")
    return "\n".join(lines)


def mode_of(cluster: dict[str, Any]) -> str:
    """The kind of cluster: one of ours, or a proxy before a real one."""
    if cluster["mode"] == "proxy":
        return "a real one behind a proxy"
    return f"{cluster['mode']} mode, controller {cluster['controller']}"


def state_of(broker: dict[str, Any]) -> str:
    """In a word: up, down, fenced, cut off."""
    if not broker["running"]:
        return "down"
    words = "fenced" if broker["fenced"] else "up" if broker["online"] else "cut off"
    return f"{words}, disk full" if broker["disk_full"] else words


def address_of(broker: dict[str, Any]) -> str:
    first = broker["listeners"][0]
    return f"{first['host']}:{first['port']}"


def led(cluster: dict[str, Any], broker_id: int) -> int:
    return sum(one["leader"] == broker_id for topic in cluster["topics"] for one in topic["partitions"])


def topics(found: Sequence[dict[str, Any]]) -> str:
    rows = [
        [
            one["name"],
            len(one["partitions"]),
            "diskless" if one["diskless"] else len(one["partitions"][0]["replicas"]),
            summed(
                None if partition["end_offset"] is None else partition["end_offset"] - partition["start_offset"]
                for partition in one["partitions"]
            ),
            sized(summed(partition["size_bytes"] for partition in one["partitions"])),
            sum(len(partition["isr"]) < len(partition["replicas"]) for partition in one["partitions"]),
        ]
        for one in found
    ]
    return table(["topic", "partitions", "replicas", "records", "bytes", "out of sync"], rows) if rows else "no topics"


def topic(found: dict[str, Any]) -> str:
    settings = "".join(f", {name}={printable(str(value))}" for name, value in (found["configs"] or {}).items())
    kind = ", diskless" if found["diskless"] else ""
    return f"{found['name']}, id {found['id']}{kind}{settings}\n\n{partitions(found['partitions'])}"


def partitions(found: Sequence[dict[str, Any]]) -> str:
    fields = ["partition", "leader", "leader_epoch", "replicas", "isr", "start_offset", "high_watermark", "end_offset"]
    values = ([one[field] for field in fields] for one in found)
    rows = [[joined(value) if isinstance(value, list) else value for value in row] for row in values]
    return table(["partition", "leader", "epoch", "replicas", "in sync", "start", "high watermark", "end"], rows)


def summed(values: Iterable[int | None]) -> int | None:
    """A sum; None where a proxy is not told what there is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def sized(size: int | None) -> str | None:
    return None if size is None else bytes_text(size)


def joined(values: Sequence[object]) -> str | None:
    return ",".join(map(str, values)) or None


def groups(found: Sequence[dict[str, Any]]) -> str:
    rows = [
        [one["id"], one["type"], one["state"], one["coordinator"], len(one["members"]), one["lag"]] for one in found
    ]
    return table(["group", "type", "state", "coordinator", "members", "lag"], rows) if rows else "no groups"


def group(found: dict[str, Any]) -> str:
    first = (
        f"{printable(found['id'])}, {found['type']}, {found['state']}, generation {found['generation']}, "
        f"coordinator {found['coordinator']}, lag {found['lag']}"
    )
    lines = [first]
    if found["members"]:
        rows = [
            [one["id"], one["client_id"], one["client_host"], one["rack"], assigned(one["assignment"])]
            for one in found["members"]
        ]
        lines += ["", table(["member", "client", "host", "rack", "reads"], rows)]
    if found["offsets"]:
        rows = [[one["topic"], one["partition"], one["offset"], one["lag"]] for one in found["offsets"]]
        lines += ["", table(["topic", "partition", "committed", "lag"], rows)]
    return "\n".join(lines)


def assigned(assignment: dict[str, list[int]]) -> str | None:
    return " ".join(f"{name}:{joined(numbers)}" for name, numbers in assignment.items()) or None


def filled(text: str, answer: dict[str, Any]) -> str:
    """A sentence with the values of an answer.

    >>> filled("stop: {brokers}", {"brokers": [0, 3]})
    'stop: brokers 0, 3'
    """
    return text.format_map({**answer, **({"brokers": brokers(answer["brokers"])} if "brokers" in answer else {})})


def brokers(ids: Sequence[int]) -> str:
    """Brokers in a sentence.

    >>> brokers([1]), brokers([0, 3])
    ('broker 1', 'brokers 0, 3')
    """
    return f"broker{'s' if len(ids) != 1 else ''} {', '.join(map(str, ids))}"


def faults(found: Sequence[dict[str, Any]]) -> str:
    rows = [
        [one["id"], short(one.get("link") or one.get("match")), short(one["effect"]), short(one.get("when")),
         one["matched"], one["fired"]]
        for one in found
    ]  # fmt: skip
    return table(["fault", "meets", "effect", "when", "matched", "fired"], rows) if rows else "no faults"


def fault(found: dict[str, Any]) -> str:
    lines = [faults([found])]
    if "explanation" in found:
        lines += ["", found["explanation"]]
    return "\n".join(lines)


def short(value: dict[str, Any] | None) -> str | None:
    """A small object in words.

    >>> short({"api": ["Fetch", "Produce"], "rack": "a"})
    'api=Fetch|Produce rack=a'
    """
    if not value:
        return None
    shown = {
        name: "|".join(map(str, one)) if isinstance(one, list) else str(one).lower() if one is True else one
        for name, one in value.items()
    }
    return " ".join(f"{name}={one}" for name, one in shown.items())


class RequestLines:
    """Calls one by one, under a head that is printed with the first."""

    def __init__(self) -> None:
        self._has_head = False
        self._table = TableLines(REQUEST_WIDTHS, right=["bytes"])

    def line(self, entry: dict[str, Any]) -> str:
        verdict = entry["locality"]
        if entry["avoidable"]:
            verdict += f", {AVOIDABLE_WORDS[entry['avoidable']]}"
        shown = self._table.line(
            (
                f"{datetime.fromtimestamp(entry['at_ms'] / 1000, UTC):%H:%M:%S.%f}"[:-3],
                caller(entry),
                entry["client_rack"] or None,
                entry["api"] or f"key {entry['api_key']}",
                f"{entry['broker']}/{entry['rack'] or '-'}",
                bytes_text(entry["request_bytes"] + entry["response_bytes"]),
                ",".join(entry["topics"]) or ",".join(entry["groups"]) or None,
                " ".join([verdict, *entry["errors"], *entry["faults"]]),
            )
        )
        if self._has_head:
            return shown
        self._has_head = True
        return f"{self._table.heading()}\n{shown}"


def caller(entry: dict[str, Any]) -> str:
    """The client of a call, with the user that it has logged in as."""
    name, principal = entry["client_id"] or entry["client_address"], entry.get("principal", ANONYMOUS)
    return f"{name}" if principal == ANONYMOUS else f"{name} as {principal.removeprefix('User:')}"


def traffic(found: dict[str, Any]) -> str:
    """The headline and what to do, which clients and topics crossed, bytes between racks, and each client's batches."""
    if not found["calls"]:
        return "no calls yet"
    summary = found["summary"]

    def racks_of(one: dict[str, Any]) -> list[str]:
        return [one[name] or "unknown" for name in ("client_rack", "broker_rack")]

    def what_of(one: dict[str, Any]) -> list[Any]:
        return [one["category"], one["locality"], AVOIDABLE_WORDS.get(one["avoidable"]), bytes_text(one["bytes"])]

    actions = [[one["action"], one["who"], one["avoidable"], one["saving"]] for one in summary["actions"]]
    crossings = [
        [one["client_id"], one["topic"], *racks_of(one), *what_of(one), one["cost_text"]]
        for one in found["crossings"][:MAX_CROSSINGS]
    ]
    flows = [[*racks_of(one), one["broker"], *what_of(one), one["cost_text"]] for one in found["flows"] if one["bytes"]]
    clients = [
        [
            "(others)" if one["is_other"] else one["client_id"],
            one["client_rack"] or "unknown",
            *(bytes_text(one[f"{name}_bytes"]) for name in ("local", "cross", "unknown")),
        ]
        for one in found["clients"]
    ]
    parts = [*summary["lines"].values(), found["completeness"], ""]
    racks, what = ["client rack", "broker rack"], ["kind", "locality", "", "bytes", summary["period"]]
    if actions:
        parts += [table(["what to do", "who", "", "saves"], actions), ""]
    if crossings:
        parts += [table(["client", "topic", *racks, *what], crossings), ""]
    clients_heads = ["client", "client rack", "local", "across racks", "unknown"]
    return "\n".join([*parts, table([*racks, "broker", *what], flows), "", table(clients_heads, clients)])
