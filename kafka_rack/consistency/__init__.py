"""Anomalies in a history of sends and polls: what went wrong with records, and whether Kafka permits it.

>>> from kafka_rack.consistency import Poll, Read, Send, check
>>> history = [
...     Send("producer", "orders", 0, "a", begun_at=1, ended_at=2, offset=0),
...     Send("producer", "orders", 0, "b", begun_at=3, ended_at=4, offset=1),
...     Send("producer", "orders", 0, "c", begun_at=5, ended_at=6, offset=2),
...     Poll("reader", [Read("orders", 0, 0, "a"), Read("orders", 0, 2, "c")], begun_at=7, ended_at=8),
... ]
>>> report = check(history)
>>> report.is_consistent, [anomaly.kind for anomaly in report.anomalies]
(False, ['lost-write'])
>>> print(report.anomalies[0].evidence)
orders-0: 'b' from producer was acknowledged at offset 1 at 4 ms; the poll of reader at 8 ms passed over offset 1

The names are those of Jepsen's Kafka workload, as its public analyses describe them; docs/consistency.md says what each
means and when Kafka permits it. A history from requests and responses: kafka_rack.consistency.wire.
"""

from __future__ import annotations

from kafka_rack.consistency.checker import Checker, check
from kafka_rack.consistency.history import (
    Assignment,
    LogStart,
    Operation,
    Outcome,
    Poll,
    Read,
    Seek,
    Send,
    Transaction,
)
from kafka_rack.consistency.kinds import KINDS, Kind
from kafka_rack.consistency.permission import HistorySettings
from kafka_rack.consistency.report import Anomaly, Report

__all__ = [
    "KINDS",
    "Anomaly",
    "Assignment",
    "Checker",
    "HistorySettings",
    "Kind",
    "LogStart",
    "Operation",
    "Outcome",
    "Poll",
    "Read",
    "Report",
    "Seek",
    "Send",
    "Transaction",
    "check",
]
