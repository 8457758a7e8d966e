"""A block's decoded rows to facts: every byte once, with who sent it where, as far as that is known, summed by that.

Three sources make up all bytes of the frames: rows of ``fetches``, rows of ``produces``, and the frames that neither
covers. Arrow sums what is alike; only the sums are looked at one by one, beside what the capture told elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_rack.locality.reasons import CONSUME, OTHER, PRODUCE, REPLICATION
from kafka_rack.pipeline.locality.files import Block
from kafka_rack.pipeline.locality.told import Told, host

WITH_RECORDS = ("Produce", "Fetch", "ShareFetch")
SUMS = ("calls", "request_bytes", "response_bytes", "record_bytes", "records", "redirects")
WHO = ("api", "api_version", "conn", "client_id", "client_addr", "broker", "broker_rack")
PARTITION = ("client_rack", "client_rack_from", "topic", "topic_id", "partition", "redirected")
OF_FETCHES = (*WHO, *PARTITION, "who", "replica_id", "replica_rack", "group_id")
OF_PRODUCES = (*WHO, *PARTITION, "keyed")
OF_FRAMES = (*WHO, "listener")
BYTES = ("request_bytes", "response_bytes", "record_bytes", "records")


class Fact(NamedTuple):
    """What bytes have in common. ``said`` is the rack that the client named, or the follower's; ``said_in`` is where.

    ``elsewhere`` is what the same client, by id and address, named on other connections. ``whole``: of a partition, not
    of a fetch without any. ``unread_fetch``: a consumer's or a follower's, which its request does not tell.
    """

    category: str
    api: str
    api_version: int | None
    client_id: str | None
    client_host: str | None
    broker: int | None
    broker_rack: str | None
    group_id: str | None = None
    topic: str | None = None
    said: str | None = None
    said_in: str | None = None
    elsewhere: str | None = None
    listener: str | None = None
    replica_id: int | None = None
    share: bool = False
    keyed: bool | None = None
    whole: bool = True
    redirected: bool = False
    diskless: bool = False
    racks_in_sync: frozenset[str] | None = None
    leader_racks: frozenset[str] | None = None
    unread_fetch: bool = False


class Amount(NamedTuple):
    """A fact's sums, as in ``SUMS``, and the begin of their window, microseconds since 1970."""

    window: int
    sums: tuple[int, ...]


def facts(block: Block, told: Told, window_us: int) -> Iterator[tuple[Fact, Amount]]:
    """All bytes of a block."""
    moments = np.array(told.moments, dtype=np.int64)
    fetches = block.read("fetches", ("ts", "frame", "first", *OF_FETCHES[1:], *BYTES))
    produces = block.read("produces", ("ts", "frame", "first", *OF_PRODUCES[1:], *BYTES))
    for row in alike(fetches, OF_FETCHES, window_us, moments):
        yield fetched(row, told), amount(row)
    for row in alike(produces, OF_PRODUCES, window_us, moments):
        yield produced(row, told), amount(row)
    covered = pa.chunked_array(
        [*fetches["frame"].chunks, *produces["frame"].chunks, pa.array(sorted(told.covered), pa.int64())]
    )
    for row in alike(left_over(block, covered), OF_FRAMES, window_us, moments[:0]):
        yield other(row, told), amount(row)


def left_over(block: Block, covered: pa.ChunkedArray) -> pa.Table:
    """The frames that have no row in ``fetches`` or ``produces``: other APIs, no answer, not to be read."""
    calls = block.read("calls", ("frame", "response_frame"))
    answers = calls.filter(pc.is_in(calls["frame"], covered))["response_frame"]
    frames = block.read("frames", ("ts", "frame", "direction", "frame_bytes", *OF_FRAMES[1:]))
    has_records = pc.is_in(frames["api"], pa.array(WITH_RECORDS))
    is_covered = pc.is_in(frames["frame"], pa.chunked_array([*covered.chunks, *answers.chunks], pa.int64()))
    rows = frames.filter(pc.invert(pc.and_(has_records, is_covered)))
    asks = pc.equal(rows["direction"], "request")
    nothing = pa.array(np.zeros(len(rows), dtype=np.int64))
    given = {
        "first": asks,
        "request_bytes": pc.if_else(asks, rows["frame_bytes"], 0),
        "response_bytes": pc.if_else(asks, 0, rows["frame_bytes"]),
        "record_bytes": nothing,
        "records": nothing,
    }
    for name, column in given.items():
        rows = rows.append_column(name, column)
    return rows


def alike(rows: pa.Table, columns: Sequence[str], window_us: int, moments: np.ndarray) -> list[dict[str, Any]]:
    """Rows with the same in some columns and the same window added up, with ``ts`` of one.

    Args:
        moments: rows before and after one of them are not alike.
    """
    if not len(rows):
        return []
    ts = rows["ts"].cast(pa.int64()).to_numpy()
    redirects = rows["redirected"].cast(pa.int64()) if "redirected" in columns else np.zeros(len(rows), dtype=np.int64)
    added = {
        "ts": pa.array(ts),
        "window": pa.array(ts // window_us * window_us),
        "era": pa.array(np.searchsorted(moments, ts, side="right")),
        "calls": rows["first"].cast(pa.int64()),
        "redirects": redirects,
    }
    table = pa.table({**{name: rows[name] for name in (*columns, *BYTES)}, **added})
    found = table.group_by([*columns, "window", "era"], use_threads=False)
    sums = found.aggregate([("ts", "min"), *((name, "sum") for name in SUMS)])
    listed: list[dict[str, Any]] = sums.to_pylist()
    return listed


def amount(row: Mapping[str, Any]) -> Amount:
    return Amount(row["window"], tuple(row[f"{name}_sum"] or 0 for name in SUMS))


def common(row: Mapping[str, Any], told: Told) -> dict[str, Any]:
    """What every fact has, with the broker that the connection leads to, and its rack where others told it."""
    conn, address = row["conn"], host(row["client_addr"])
    broker = row["broker"] if row["broker"] is not None else told.broker_of.get(conn)
    rack = row["broker_rack"] or (told.broker_racks.get(broker) if broker is not None else None)
    return {
        "api": row["api"],
        "api_version": row["api_version"],
        "client_id": row["client_id"],
        "client_host": address,
        "broker": broker,
        "broker_rack": rack,
        "elsewhere": told.client_racks.get((row["client_id"] or "", address or "")),
    }


def of_topic(row: Mapping[str, Any], told: Told) -> dict[str, Any]:
    topic = row["topic"] or told.topics.get(row["topic_id"], row["topic_id"])
    return {
        "topic": topic,
        "redirected": bool(row["redirected"]),
        "diskless": topic in told.diskless,
        "racks_in_sync": told.racks_in_sync(topic, row["partition"], row["ts_min"]),
        "leader_racks": told.leaders.get(topic),
    }


def fetched(row: Mapping[str, Any], told: Told) -> Fact:
    whole = row["partition"] is not None
    known = common(row, told)
    client = (known["client_id"] or "", known["client_host"] or "")
    replica = row["replica_id"] if row["who"] == "follower" else None
    if row["who"] is None:
        replica = told.follower(row["conn"], client)
    if replica is not None:
        return Fact(REPLICATION, **follower(row, told, replica), **of_topic(row, told), whole=whole)
    share = row["who"] == "share"
    group = row["group_id"] or told.groups.get(client)
    said, said_in = said_of(row, told)
    if said is None and share and (said := told.member_racks.get((*client, group or ""))) is not None:
        said_in = "membership"
    if row["who"] is None:
        return Fact(OTHER, **known, **of_topic(row, told), said=said, said_in=said_in, unread_fetch=True)
    return Fact(
        CONSUME, **known, **of_topic(row, told), group_id=group, said=said, said_in=said_in, share=share, whole=whole
    )


def follower(row: Mapping[str, Any], told: Told, replica: int) -> dict[str, Any]:
    """Of a follower's bytes: who it is and where."""
    rack = row.get("replica_rack") or told.broker_racks.get(replica)
    said, said_in = (rack, "replica") if rack else (told.rack_of.get(row["conn"]), "connection")
    return {**common(row, told), "replica_id": replica, "said": said, "said_in": said_in if said else None}


def produced(row: Mapping[str, Any], told: Told) -> Fact:
    said, said_in = said_of(row, told)
    topic = {**of_topic(row, told), "redirected": False, "racks_in_sync": None}
    return Fact(PRODUCE, **common(row, told), **topic, said=said, said_in=said_in, keyed=row["keyed"])


def other(row: Mapping[str, Any], told: Told) -> Fact:
    """A frame without rows; a follower's fetch that nobody answered is replication all the same."""
    known = common(row, told)
    if row["api"] == "Fetch":
        replica = told.follower(row["conn"], (known["client_id"] or "", known["client_host"] or ""))
        if replica is not None:
            return Fact(REPLICATION, **follower(row, told, replica))
    rack = told.rack_of.get(row["conn"])
    return Fact(OTHER, **known, said=rack, said_in="connection" if rack else None, listener=row["listener"])


def said_of(row: Mapping[str, Any], told: Told) -> tuple[str | None, str | None]:
    """The rack that the client named: here, or elsewhere on the same connection."""
    if row["client_rack"]:
        return row["client_rack"], row["client_rack_from"]
    rack = told.rack_of.get(row["conn"])
    return rack, "connection" if rack else None
