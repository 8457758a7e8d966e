"""The tables: their columns in order, each with its type and what it holds.

docs/tables.md is made from here.
"""

from __future__ import annotations

from typing import NamedTuple

SCHEMA_VERSION = 1


class Column(NamedTuple):
    """``type`` is Spark's; timestamps are UTC with microseconds.

    ``of``: the set of columns that rows share, as they have the same values again and again (``wire_tables.rows``).
    """

    name: str
    type: str
    meaning: str
    of: str | None = None


class Table(NamedTuple):
    """A table and its columns, without ``api``."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


CAPTURE = Column("capture", "string", "the capture: its file's name without .gz and .jsonl", "place")
TS = Column("ts", "timestamp", "when the frame's last byte passed")
ANSWERED_TS = Column("ts", "timestamp", "when the request's last byte passed")
CONN = Column("conn", "long", "the connection's number", "place")
BROKER = Column("broker", "int", "the broker at the other end, null where not known", "place")
BROKER_RACK = Column("broker_rack", "string", "that broker's rack", "place")
CLIENT_ADDR = Column("client_addr", "string", "the client's address, host:port", "place")
CLIENT_ID = Column("client_id", "string", "the request's client id", "kind")
FRAME = Column("frame", "long", "the frame's number, in the order of the capture")
REQUEST_FRAME = Column("frame", "long", "the number of the request's frame")
TOPIC = Column("topic", "string", "name; null where only its id is known", "part")
TOPIC_ID = Column("topic_id", "string", "id in Kafka's text form, null where the message has none", "part")
PARTITION = Column("partition", "int", "number", "part")
WHERE = (CAPTURE, TS, CONN, BROKER, BROKER_RACK, CLIENT_ADDR)
TRAFFIC = (
    CLIENT_ID,
    Column("client_rack", "string", "where the client is, null where nothing says it", "client"),
    Column("client_rack_from", "string", "how it is known: request, client_id or listener; else null", "client"),
    BROKER,
    BROKER_RACK,
    Column("leader_rack", "string", "rack of the partition's leader as last reported before", "serving"),
    TOPIC,
    PARTITION,
    Column("request_bytes", "long", "of the request's frame: record batches, and in the call's first row the rest"),
    Column("response_bytes", "long", "the same of the response's frame, 0 without one"),
    Column("record_bytes", "long", "bytes of the records field"),
    Column("records", "long", "records in it; null where they cannot be read"),
)
TRAFFIC_KEYS = (
    TOPIC_ID,
    Column("leader", "int", "the partition's leader as last reported before", "serving"),
    Column("isr", "array<int>", "its replicas in sync as last reported before; null where nothing did", "serving"),
    Column("error_code", "int", "the partition's error in the response, null without one"),
    Column("api_version", "int", "version of the request", "kind"),
    CONN,
    CLIENT_ADDR,
    REQUEST_FRAME,
    Column("first", "boolean", "whether this is the call's first row; their number is that of the calls"),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            "frames",
            "Every frame, whether its body could be read or not.",
            (
                *WHERE,
                Column("direction", "string", "request or response", "way"),
                Column("api_key", "int", "a response has its request's; null where that is not known", "kind"),
                Column("api_name", "string", "Kafka's name for it, unknown for a key without one", "kind"),
                Column("api_version", "int", "version of the request", "kind"),
                Column("correlation_id", "int", "as in the header"),
                Column("client_id", "string", "the request's, on its response too", "kind"),
                Column("frame_bytes", "long", "the frame with its length field"),
                Column("error", "string", "why the frame could not be read; null where it could"),
                FRAME,
                Column("listener", "string", "the broker's listener, where the capture names it", "place"),
                Column("left_over", "int", "bytes after the end of the body, which Kafka ignores", "way"),
                Column("body_version", "int", "version the body was read in: 0 for a refused ApiVersions", "way"),
                Column("header_version", "int", "version of the header", "way"),
                Column("offset", "long", "position of the frame in its file, decompressed"),
            ),
        ),
        Table(
            "calls",
            "Requests with their responses, joined by connection and correlation id; requests without are in frames.",
            (
                CAPTURE,
                ANSWERED_TS,
                *WHERE[2:],
                Column("api_key", "int", "number of the API", "kind"),
                Column("api_name", "string", "its name", "kind"),
                Column("api_version", "int", "version of the request", "kind"),
                Column("correlation_id", "int", "of both"),
                CLIENT_ID,
                Column("latency_us", "long", "from the request's last byte to the response's"),
                Column("request_bytes", "long", "the request's frame with its length field"),
                Column("response_bytes", "long", "the response's"),
                REQUEST_FRAME,
                Column("response_frame", "long", "the number of the response's frame"),
            ),
        ),
        Table(
            "batches",
            "Record batches (messages, before magic 2) in Produce requests, Fetch and ShareFetch responses.",
            (
                CAPTURE,
                TS,
                CONN,
                Column("side", "string", "request or response", "form"),
                TOPIC,
                PARTITION,
                Column("magic", "int", "0, 1 or 2; null where it is cut off", "form"),
                Column("codec", "string", "none, gzip, snappy, lz4 or zstd", "form"),
                Column("transactional", "boolean", "part of a transaction", "form"),
                Column("control", "boolean", "a transaction's marker", "form"),
                Column("records", "long", "records in it, null where they cannot be read"),
                Column("bytes", "long", "the whole batch; of a partial one what is there"),
                Column("key_bytes", "long", "keys, decompressed"),
                Column("value_bytes", "long", "values, decompressed"),
                Column("partial", "boolean", "cut off by the end of a fetch", "form"),
                Column("headers", "long", "record headers"),
                TOPIC_ID,
                Column("base_offset", "long", "as in the batch"),
                Column("producer_id", "long", "as in the batch, -1 without one"),
                CLIENT_ID,
                FRAME,
                Column("error", "string", "why its records cannot be read"),
            ),
        ),
        Table(
            "partitions",
            "What Metadata and DescribeTopicPartitions report about partitions.",
            (
                *WHERE,
                CLIENT_ID,
                TOPIC,
                TOPIC_ID,
                Column("partition", "int", "number; null where the topic has an error and no partitions", "part"),
                Column("leader", "int", "broker id, null without one", "leading"),
                Column("leader_rack", "string", "its rack", "leading"),
                Column("leader_epoch", "int", "as reported"),
                Column("replicas", "array<int>", "broker ids, preferred first", "layout"),
                Column("replica_racks", "array<string>", "their racks, in the same order", "layout"),
                Column("isr", "array<int>", "broker ids in sync", "layout"),
                Column("offline", "array<int>", "broker ids that are offline", "layout"),
                Column("error_code", "int", "the partition's, or the topic's"),
                FRAME,
            ),
        ),
        Table(
            "memberships",
            "Who is in which group: subscriptions, assignments and generations of all protocols.",
            (
                *WHERE,
                CLIENT_ID,
                Column("event", "string", "join, joined, member, assign, assigned, heartbeat, answered or leave"),
                Column("protocol", "string", "classic, consumer, share or streams"),
                Column("group_id", "string", "the group"),
                Column("member_id", "string", "the member, empty while it has no id"),
                Column("instance_id", "string", "group.instance.id of a static member"),
                Column("assignor", "string", "name of the classic protocol or of the server's assignor"),
                Column("generation", "int", "generation, or member epoch"),
                Column("rack_id", "string", "the rack that the member names, null where it names none"),
                Column("topics", "array<string>", "what it subscribes to; null where the message leaves it"),
                Column(
                    "assignment",
                    "array<struct<topic:string,topic_id:string,partitions:array<int>>>",
                    "what it has or gets; null where the message leaves it",
                ),
                Column("leader", "boolean", "whether the member leads its classic group"),
                Column("error_code", "int", "the response's, null in a request"),
                FRAME,
                Column("error", "string", "why the embedded subscription or assignment cannot be read"),
            ),
        ),
        Table(
            "fetches",
            "Fetches (and share fetches) by partition of the response; a call without partitions has one row.",
            (
                CAPTURE,
                ANSWERED_TS,
                *TRAFFIC,
                Column("redirected", "boolean", "redirected to the preferred read replica"),
                Column("who", "string", "consumer, follower or share; null where the request cannot be read", "client"),
                Column("replica_id", "int", "the follower's broker id, -1 for others; null where `who` is", "client"),
                Column("replica_rack", "string", "the follower's rack", "client"),
                Column("preferred_read_replica", "int", "where a redirected reader is sent"),
                Column("group_id", "string", "of a share fetch", "client"),
                *TRAFFIC_KEYS,
            ),
        ),
        Table(
            "produces",
            "Produced bytes by partition of the request.",
            (
                CAPTURE,
                ANSWERED_TS,
                *TRAFFIC,
                Column("redirected", "boolean", "refused by a broker that does not lead the partition"),
                Column("acks", "int", "0, 1 or -1", "client"),
                Column("keyed", "boolean", "whether any record has a key; null where they cannot be read"),
                *TRAFFIC_KEYS,
            ),
        ),
        Table(
            "brokers",
            "Brokers and their racks in UpdateMetadata, BrokerRegistration, Metadata and DescribeCluster.",
            (
                CAPTURE,
                TS,
                CONN,
                Column("broker_id", "int", "the broker that is described", "node"),
                Column("rack", "string", "its rack, as this message or one before named it", "node"),
                Column("host", "string", "where it listens", "node"),
                Column("port", "int", "where it listens", "node"),
                Column("listener", "string", "the listener's name, null where the message has none", "node"),
                Column("told_by", "int", "the broker whose connection it passed on"),
                Column("epoch", "long", "its broker epoch; null if the message has none", "node"),
                FRAME,
            ),
        ),
        Table(
            "settings",
            "Settings of brokers, topics and groups (DescribeConfigs); APIs, features, client software (ApiVersions).",
            (
                CAPTURE,
                TS,
                CONN,
                BROKER,
                Column("resource", "string", "topic, broker, group, ...; api, feature or client of ApiVersions"),
                Column("resource_name", "string", "whose setting it is, a client's id; empty for defaults and APIs"),
                Column("name", "string", "of the setting, the API, the finalized feature, or the client's software"),
                Column("value", "string", "as text, null for none or a secret; of an API its versions, as 4-17"),
                FRAME,
            ),
        ),
        Table(
            "problems",
            "What could not be read of the files themselves; everything around it is in the other tables.",
            (
                CAPTURE._replace(of=None),
                Column("file", "string", "path"),
                Column("offset", "long", "byte of the file, decompressed, where it was found"),
                Column("reason", "string", "what is wrong there"),
            ),
        ),
    )
}


PARTITIONED_BY = {name: ("capture", "day") if "ts" in table.names else ("capture",) for name, table in TABLES.items()}
"""The columns by whose values a table's files lie in folders; ``day`` is that of ``ts`` in UTC."""


def markdown() -> str:
    """The tables of docs/tables.md, below its introduction."""
    parts = [f"Schema version {SCHEMA_VERSION}."]
    for table in TABLES.values():
        parts += ["", f"## {table.name}", table.meaning, "", "| column | type | holds |", "|---|---|---|"]
        parts += [f"| {column.name} | {column.type} | {column.meaning} |" for column in table.columns]
    return "\n".join([*parts, ""])


if __name__ == "__main__":
    import sys

    sys.stdout.write(markdown())
