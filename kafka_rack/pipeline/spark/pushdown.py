"""What a `where` asks of the columns ``api``, ``api_key``, ``client_id`` and ``ts``, as filters of frames.

Spark hands these to a Python data source from 4.1 on, where ``spark.sql.python.filterPushdown.enabled`` is set. They
leave out frames that cannot give a wanted row; Spark asks every row again, so that nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kafka_rack.pipeline.spark.source import KafkaWire, WireReader, kafka_wire
from kafka_rack.wire_capture.filters import FrameFilters
from kafka_rack.wire_capture.frames import name_of_api
from kafka_rack.wire_tables.tables import ANSWERED_TS, TABLES

SETTING = "spark.sql.python.filterPushdown.enabled"
HANDED_OVER = hasattr(DataSourceReader, "pushFilters")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
US = 1_000_000
HOUR_US = 3_600 * US
EQUAL = ("EqualTo", "EqualNullSafe")


class FilteringReader(WireReader):
    """Reads what may be wanted."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Note what can be used; all of them stay with Spark."""
        self.request.filters = narrowed(self.request.filters, self.request.table, filters)
        return filters

    def partitions(self) -> list[InputPartition]:
        """Rows of calls have their request's time, and a block may have the answer alone."""
        reading = self.request.filters
        if reading.by_request:
            since = None if reading.since is None else reading.since - HOUR_US  # clocks may be set back
            self.request.filters = msgspec.structs.replace(reading, since=since, until=None)
        try:
            return super().partitions()
        finally:
            self.request.filters = reading


class FilteringKafkaWire(KafkaWire):
    """The source ``kafka-wire`` where Spark hands filters over."""

    def reader(self, schema: Any) -> DataSourceReader:
        return FilteringReader(self.request())


def source_for(spark: Any) -> type[KafkaWire]:
    """The source that a session can take: Spark refuses to read from one with filters where they are off."""
    on = HANDED_OVER and spark.conf.get(SETTING, "false") == "true"
    return kafka_wire(spark, FilteringKafkaWire if on else KafkaWire)


def narrowed(filters: FrameFilters, table: str, pushed: Sequence[Any]) -> FrameFilters:
    """Filters that also leave out what Spark's own do, as far as frames tell it.

    Args:
        pushed: Spark's filters; a row has to pass them all.
    """
    columns = {column.name for column in TABLES[table].columns} if table in TABLES else set()
    if "frame" not in columns:  # rows that are about no frame
        return filters
    by_request = ANSWERED_TS in TABLES[table].columns
    if by_request and (filters.since is not None or filters.until is not None):
        columns.discard("ts")  # the options count by the answer's time
    for one in pushed:
        name, kind = ".".join(getattr(one, "attribute", ())), type(one).__name__
        value = getattr(one, "value", None)
        if name == "ts" and name in columns:
            filters = in_time(filters, kind, value, by_request=by_request)
        wanted = values_of(kind, value)
        if wanted is None:
            continue
        if name in {"api", "api_name"}:
            filters = msgspec.structs.replace(filters, apis=both(filters.apis, wanted))
        elif name == "api_key":
            apis = frozenset(name_of_api(key) for key in wanted)
            filters = msgspec.structs.replace(filters, apis=both(filters.apis, apis))
        elif name == "client_id" and name in columns:
            filters = msgspec.structs.replace(filters, clients=both(filters.clients, wanted))
    return filters


def values_of(kind: str, value: Any) -> frozenset[Any] | None:
    """The values that a column may have; None where a filter does not count them."""
    if kind in EQUAL and value is not None:
        return frozenset([value])
    if kind == "In" and value is not None:
        return frozenset(one for one in value if one is not None)
    return None


def both(first: frozenset[Any] | None, second: frozenset[Any]) -> frozenset[Any]:
    return second if first is None else first & second


def in_time(filters: FrameFilters, kind: str, value: Any, *, by_request: bool) -> FrameFilters:
    """Filters with a limit of time; what is no time with a zone says nothing."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        return filters
    passed = value - EPOCH
    at = (passed.days * 86_400 + passed.seconds) * US + passed.microseconds
    since, until = filters.since, filters.until
    if kind in {*EQUAL, "GreaterThan", "GreaterThanOrEqual"}:
        least = at + 1 if kind == "GreaterThan" else at
        since = least if since is None else max(since, least)
    if kind in {*EQUAL, "LessThan", "LessThanOrEqual"}:
        end = at if kind == "LessThan" else at + 1
        until = end if until is None else min(until, end)
    return msgspec.structs.replace(filters, since=since, until=until, by_request=by_request)
