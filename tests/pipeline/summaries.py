"""The summary of a capture, counted out of the tables in the form of ``fixtures/captures/*.summary.json``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from kafka_rack.wire_tables.tables import TABLES

Row = dict[str, Any]
Tables = dict[str, list[Row]]

BATCH_KEYS = ("side", "api", "magic", "codec", "transactional", "control")
BATCH_SUMS = ("bytes", "records", "key_bytes", "value_bytes", "headers")
FETCH_KEYS = ("who", "client_id", "client_rack", "broker_rack")
FETCH_SUMS = ("request_bytes", "response_bytes", "record_bytes", "records")


def tables_by_capture(tables: Tables) -> dict[str, Tables]:
    """The rows of each capture, by table."""
    found: dict[str, Tables] = defaultdict(lambda: {table: [] for table in TABLES})
    for table, rows in tables.items():
        for row in rows:
            found[row["capture"]][table].append(row)
    return found


def by_side(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], Counter[str]]:
    """Frames and their bytes, of requests and of responses."""
    found: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        side = row["direction"]
        found[tuple(row[key] for key in keys)].update({side: 1, f"{side}_bytes": row["frame_bytes"]})
    return found


SIDES = ("request", "response", "request_bytes", "response_bytes")


def counts(tables: Tables) -> list[Row]:
    """For each API and version; ``answered_as_version`` only where it is another one than asked for."""
    frames = tables["frames"]
    told: dict[tuple[int, int, str], set[tuple[int, int]]] = defaultdict(set)
    for row in frames:
        kind = (row["api_key"], row["api_version"], row["direction"])
        told[kind].add((row["header_version"], row["body_version"]))
    lines = []
    for (key, api, version), found in sorted(by_side(frames, "api_key", "api_name", "api_version").items()):
        line = {"api_key": key, "api": api, "version": version, **{side: found[side] for side in SIDES}}
        for side in ("request", "response"):
            versions = told[key, version, side]
            if versions:
                ((header_version, body_version),) = versions
                if header_version is not None:
                    line[f"{side}_header"] = header_version
                if side == "response" and body_version != version:
                    line["answered_as_version"] = body_version
        lines.append(line)
    return lines


def by_broker(tables: Tables) -> list[Row]:
    found = by_side(tables["frames"], "broker", "broker_rack")
    return [
        {"broker": broker, "rack": rack, **{side: sums[side] for side in SIDES}}
        for (broker, rack), sums in sorted(found.items())
    ]


def client_ids(tables: Tables) -> dict[str, int]:
    return dict(Counter(row["client_id"] or "" for row in tables["frames"] if row["direction"] == "request"))


def frames(tables: Tables) -> dict[str, int]:
    return dict(Counter(row["direction"] for row in tables["frames"]))


def unanswered(tables: Tables) -> list[Row]:
    answered = {row["frame"] for row in tables["calls"]}
    found = Counter(
        (row["api_key"], row["api_version"])
        for row in tables["frames"]
        if row["direction"] == "request" and row["frame"] not in answered
    )
    return [
        {"api_key": key, "version": version, "requests": number} for (key, version), number in sorted(found.items())
    ]


def record_batches(tables: Tables) -> list[Row]:
    """Whole batches of Produce and Fetch; the summaries leave share groups out."""
    found: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for row in tables["batches"]:
        if row["api"] != "ShareFetch" and not row["partial"]:
            key = tuple(row[key] for key in BATCH_KEYS)
            found[key].update(batches=1, **{name: row[name] for name in BATCH_SUMS})
    names = ("batches", *BATCH_SUMS)
    return [
        dict(zip(BATCH_KEYS, key, strict=True)) | {name: sums[name] for name in names} for key, sums in found.items()
    ]


def fetch_locality(tables: Tables) -> list[Row]:
    """A client that names no rack has the empty one."""
    found: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for row in tables["fetches"]:
        if row["api"] == "Fetch":
            key = (row["who"], row["client_id"], row["client_rack"] or "", row["broker_rack"])
            sums = {name: row[name] for name in FETCH_SUMS}
            found[key].update(fetches=int(row["first"]), redirects=int(row["redirected"]), **sums)
    names = ("fetches", *FETCH_SUMS, "redirects")
    return [
        dict(zip(FETCH_KEYS, key, strict=True)) | {name: sums[name] for name in names} for key, sums in found.items()
    ]


def exceptions(tables: Tables) -> list[Row]:
    """Frames that are not read to their end, or not at all; without ``what``, which is a sentence."""
    lines = []
    for row in sorted(tables["frames"], key=lambda row: row["frame"]):
        if row["error"] is not None or row["left_over"]:
            line = {
                "frame": row["frame"],
                "kind": "req" if row["direction"] == "request" else "resp",
                "api_key": row["api_key"],
                "version": row["api_version"],
                "bytes": row["frame_bytes"] - 4,
            }
            lines.append(line | ({"left_over": row["left_over"]} if row["left_over"] else {}))
    return lines


def seconds(tables: Tables) -> float:
    times = [row["ts"] for row in tables["frames"]]
    return round((max(times) - min(times)).total_seconds(), 3)


def connections(tables: Tables) -> int:
    """Those that carried a frame."""
    return len({row["conn"] for row in tables["frames"]})


def listeners(tables: Tables) -> list[Row]:
    """Which broker was seen at which listener."""
    found = {(row["listener"], row["broker"], row["broker_rack"]) for row in tables["frames"]}
    return [{"listener": listener, "broker": broker, "rack": rack} for listener, broker, rack in sorted(found)]


COUNTED: dict[str, Callable[[Tables], Any]] = {
    "by_broker": by_broker,
    "client_ids": client_ids,
    "connections": connections,
    "counts": counts,
    "exceptions": exceptions,
    "fetch_locality": fetch_locality,
    "frames": frames,
    "listeners": listeners,
    "record_batches": record_batches,
    "seconds": seconds,
    "unanswered": unanswered,
}
TOLD = ("capture", "what", "kafka", "mode", "client_rack")
"""What a summary says of the recording itself."""
