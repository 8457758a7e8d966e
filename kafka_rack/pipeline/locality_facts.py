"""Decoded tables to facts: every byte once, with what is known of who sent it where, summed where that is the same.

Three sources make up all bytes of the frames: rows of ``fetches``, rows of ``produces``, and the frames that neither
covers. Beside each stands what the capture told elsewhere: the rack that the connection named, the member's group, the
racks with an in-sync replica when the fetch was sent, the racks that lead the topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.pipeline.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

WITH_RECORDS = ("Produce", "Fetch", "ShareFetch")
SUMS = ("calls", "request_bytes", "response_bytes", "record_bytes", "records", "redirects")
PORT = r":[0-9]+$"
BRACKETS = r"^\[|\]$"
FACT_KEYS = (
    "window_start",
    "capture",
    "category",
    "api",
    "client_id",
    "client_host",
    "group_id",
    "topic",
    "broker",
    "broker_rack",
    "replica_id",
    "said",
    "said_in",
    "listener",
    "api_version",
    "share",
    "keyed",
    "whole",
    "redirected",
    "diskless",
    "isr_racks",
    "leader_racks",
    "cluster_racks",
)
"""What makes bytes alike; all but the first tell something that the verdict may turn on."""


def load(spark: SparkSession, folders: Sequence[Path]) -> dict[str, DataFrame]:
    """The tables of one or several folders, by name."""

    def one(table: str) -> DataFrame:
        schema = TABLES[table].ddl
        return reduce(
            lambda first, other: first.unionByName(other),
            [spark.read.schema(schema).parquet(str(folder / table)) for folder in folders],
        )

    return {
        table: one(table)
        for table in ("frames", "calls", "fetches", "produces", "partitions", "memberships", "brokers")
    }


def facts(tables: dict[str, DataFrame], window_us: int) -> DataFrame:
    """All bytes, by ``FACT_KEYS``, with ``SUMS``."""
    from pyspark.sql import functions as f

    rows = fetched(tables).unionByName(produced(tables)).unionByName(others(tables))
    rows = rows.withColumn("client_host", host(f.col("client_addr")))
    rows = with_brokers(rows, tables)
    rows = with_clients(rows, tables)
    rows = with_topics(rows, tables)
    start = f.timestamp_micros((f.floor(f.unix_micros("ts") / f.lit(window_us)) * window_us).cast("long"))
    return (
        rows.withColumn("window_start", start)
        .groupBy(*FACT_KEYS)
        .agg(*[f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in SUMS])
    )


def host(address: Column) -> Column:
    """An address without its port."""
    from pyspark.sql import functions as f

    return f.regexp_replace(f.regexp_replace(address, PORT, ""), BRACKETS, "")


def fetched(tables: dict[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as f

    follower = f.col("who") == "follower"
    rows = tables["fetches"].withColumns(
        {
            "category": f.when(follower, "replication").otherwise("consume"),
            "share": f.col("who") == "share",
            "said": f.when(follower, f.col("replica_rack")).otherwise(f.col("client_rack")),
            "said_in": f.when(follower, f.when(f.col("replica_rack").isNotNull(), "replica")).otherwise(
                f.col("client_rack_from")
            ),
            "replica_id": f.when(follower, f.col("replica_id")),
            "keyed": f.lit(None).cast("boolean"),
            "whole": f.col("partition").isNotNull(),
            "calls": f.col("first").cast("long"),
            "redirects": f.col("redirected").cast("long"),
        }
    )
    return shaped(rows)


def produced(tables: dict[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as f

    rows = tables["produces"].withColumns(
        {
            "category": f.lit("produce"),
            "share": f.lit(False),
            "said": f.col("client_rack"),
            "said_in": f.col("client_rack_from"),
            "replica_id": f.lit(None).cast("int"),
            "group_id": f.lit(None).cast("string"),
            "whole": f.lit(True),
            "calls": f.col("first").cast("long"),
            "redirected": f.lit(False),
            "redirects": f.lit(0).cast("long"),
        }
    )
    return shaped(rows)


def others(tables: dict[str, DataFrame]) -> DataFrame:
    """The frames that have no row in ``fetches`` or ``produces``: other APIs, no answer, not to be read."""
    from pyspark.sql import functions as f

    key = ["capture", "conn", "frame"]
    covered = tables["fetches"].select(*key).unionByName(tables["produces"].select(*key)).distinct()
    answers = (
        tables["calls"]
        .where(f.col("api").isin(*WITH_RECORDS))
        .join(covered, key, "left_semi")
        .select("capture", "conn", f.col("response_frame").alias("frame"))
    )
    frames = tables["frames"]
    may_be_covered = f.col("api").isin(*WITH_RECORDS)
    left = (
        frames.where(may_be_covered)
        .join(covered.unionByName(answers), key, "left_anti")
        .unionByName(frames.where(~may_be_covered))
    )
    asks = f.col("direction") == "request"
    rows = left.withColumns(
        {
            "category": f.lit("other"),
            "share": f.lit(False),
            "said": f.lit(None).cast("string"),
            "said_in": f.lit(None).cast("string"),
            "replica_id": f.lit(None).cast("int"),
            "group_id": f.lit(None).cast("string"),
            "topic": f.lit(None).cast("string"),
            "partition": f.lit(None).cast("int"),
            "keyed": f.lit(None).cast("boolean"),
            "whole": f.lit(True),
            "redirected": f.lit(False),
            "request_bytes": f.when(asks, f.col("frame_bytes")).otherwise(0),
            "response_bytes": f.when(asks, 0).otherwise(f.col("frame_bytes")),
            "record_bytes": f.lit(0).cast("long"),
            "records": f.lit(0).cast("long"),
            "calls": asks.cast("long"),
            "redirects": f.lit(0).cast("long"),
        }
    )
    return shaped(rows, f.col("listener"))


ROW_COLUMNS = (
    *("capture", "ts", "conn", "category", "api", "api_version", "client_id", "client_addr", "group_id", "share"),
    *("topic", "partition", "broker", "broker_rack", "said", "said_in", "replica_id", "keyed", "whole", "redirected"),
    *SUMS,
)


def shaped(rows: DataFrame, listener: Any = None) -> DataFrame:
    """The columns that the three have in common. Decoding has looked at the listener of fetches and produces."""
    from pyspark.sql import functions as f

    given = f.lit(None).cast("string") if listener is None else listener
    return rows.select(*ROW_COLUMNS, given.alias("listener"))


def with_brokers(rows: DataFrame, tables: dict[str, DataFrame]) -> DataFrame:
    """The racks of brokers and followers where the capture told them at another place; the racks that there are."""
    from pyspark.sql import functions as f

    told = (
        tables["brokers"]
        .select("capture", f.col("broker_id").alias("id"), "rack")
        .unionByName(
            tables["frames"].select("capture", f.col("broker").alias("id"), f.col("broker_rack").alias("rack"))
        )
        .where(f.col("rack").isNotNull() & (f.col("rack") != "") & f.col("id").isNotNull())
        .distinct()
    )
    one_rack = told.groupBy("capture", "id").agg(f.max("rack").alias("its_rack"), f.count("rack").alias("racks"))
    one_rack = one_rack.where("racks = 1").drop("racks")
    cluster = told.groupBy("capture").agg(f.array_sort(f.collect_set("rack")).alias("cluster_racks"))
    as_broker = one_rack.withColumnsRenamed({"id": "broker", "its_rack": "told_broker_rack"})
    as_replica = one_rack.withColumnsRenamed({"id": "replica_id", "its_rack": "told_replica_rack"})
    rows = rows.join(f.broadcast(as_broker), ["capture", "broker"], "left")
    rows = rows.join(f.broadcast(as_replica), ["capture", "replica_id"], "left")
    rows = rows.join(f.broadcast(cluster), ["capture"], "left")
    later = f.col("said").isNull() & f.col("told_replica_rack").isNotNull()
    return rows.withColumns(
        {
            "broker_rack": f.coalesce("broker_rack", "told_broker_rack"),
            "said": f.when(later, f.col("told_replica_rack")).otherwise(f.col("said")),
            "said_in": f.when(later, "replica").otherwise(f.col("said_in")),
        }
    ).drop("told_broker_rack", "told_replica_rack")


def with_clients(rows: DataFrame, tables: dict[str, DataFrame]) -> DataFrame:
    """Racks that a client named elsewhere, and its group.

    The same connection is the same client, so what one request on it names holds for all. A share group's member names
    its rack when it joins, over another connection: it counts where all who joined that group from this address under
    this client id named the same. A group is the client's where it is the only one that it was in.
    """
    from pyspark.sql import functions as f

    fetches = tables["fetches"]
    members = tables["memberships"].withColumn("client_host", host(f.col("client_addr")))
    by_fetch = fetches.where("client_rack_from = 'request'").select(
        "capture", "conn", f.col("client_rack").alias("rack")
    )
    by_follower = fetches.where("who = 'follower' and replica_rack is not null").select(
        "capture", "conn", f.col("replica_rack").alias("rack")
    )
    by_member = members.where("rack_id is not null and rack_id != ''").select(
        "capture", "conn", f.col("rack_id").alias("rack")
    )
    by_connection = (
        by_fetch.unionByName(by_follower)
        .unionByName(by_member)
        .groupBy("capture", "conn")
        .agg(f.max("rack").alias("connection_rack"), f.min("rack").alias("least"))
        .where("connection_rack = least")
        .drop("least")
    )
    client = ["capture", "client_id", "client_host"]
    joined = members.where("protocol = 'share' and rack_id is not null and rack_id != ''")
    by_share_member = (
        joined.groupBy(*client, "group_id")
        .agg(f.max("rack_id").alias("member_rack"), f.min("rack_id").alias("least"))
        .where("member_rack = least")
        .drop("least")
        .withColumn("share", f.lit(True))
    )
    groups = (
        members.where("group_id is not null and group_id != ''")
        .groupBy(*client)
        .agg(f.max("group_id").alias("only_group"), f.min("group_id").alias("least"))
        .where("only_group = least")
        .drop("least")
        .withColumn("category", f.lit("consume"))
    )
    rows = rows.join(by_connection, ["capture", "conn"], "left")
    rows = rows.join(by_share_member, [*client, "group_id", "share"], "left")
    rows = rows.join(groups, [*client, "category"], "left")
    silent = f.col("said").isNull()
    source = f.when(f.col("connection_rack").isNotNull(), "connection").when(
        f.col("member_rack").isNotNull(), "membership"
    )
    return rows.withColumns(
        {
            "said_in": f.when(silent, source).otherwise(f.col("said_in")),
            "said": f.coalesce("said", "connection_rack", "member_rack"),
            "group_id": f.coalesce("group_id", "only_group"),
        }
    ).drop("connection_rack", "member_rack", "only_group")


def with_topics(rows: DataFrame, tables: dict[str, DataFrame]) -> DataFrame:
    """Where replicas in sync were as last told before each row, which racks lead the topic, and what is diskless.

    Diskless topics are told by what no other can be: one partition with two leaders in one epoch.
    """
    from pyspark.sql import functions as f
    from pyspark.sql.window import Window

    partitions = tables["partitions"].where("topic is not null and partition is not null and error_code = 0")
    racks = f.transform(
        f.col("isr"),  # get() gives null for a broker that is no replica
        lambda broker: f.get("replica_racks", (f.array_position("replicas", broker) - 1).cast("int")),
    )
    told = partitions.withColumn("isr_racks", f.array_sort(f.array_distinct(f.array_compact(racks))))
    one = ["capture", "topic", "partition"]
    in_order = Window.partitionBy(*one).orderBy("ts", "frame", "isr_racks")
    before = f.lag("isr_racks").over(in_order)
    changes = (
        told.withColumn("before", before)
        .where(f.col("before").isNull() | (f.col("before") != f.col("isr_racks")))
        .groupBy(*one)
        .agg(f.array_sort(f.collect_list(f.struct("ts", "frame", "isr_racks"))).alias("changes"))
    )
    leaders = (
        told.where("leader_rack is not null")
        .groupBy("capture", "topic")
        .agg(f.array_sort(f.collect_set("leader_rack")).alias("leader_racks"))
    )
    any_broker = (
        told.where("leader is not null and leader_epoch >= 0 and size(replicas) = 1")
        .groupBy(*one, "leader_epoch")
        .agg(f.min("leader").alias("least"), f.max("leader").alias("most"))
        .where("least != most")
        .select("capture", "topic")
        .distinct()
        .withColumn("any_broker", f.lit(True))
    )
    rows = rows.join(changes, one, "left")
    rows = rows.join(leaders, ["capture", "topic"], "left")
    rows = rows.join(any_broker, ["capture", "topic"], "left")
    known = f.filter("changes", lambda change: change["ts"] <= f.col("ts"))
    return rows.withColumns(
        {
            "isr_racks": f.when(f.size(known) > 0, f.element_at(known, -1)["isr_racks"]),
            "diskless": f.coalesce("any_broker", f.lit(False)),
        }
    )
