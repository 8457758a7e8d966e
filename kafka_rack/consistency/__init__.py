"""Records that were lost, duplicated, reordered, or read though they were aborted, in a history of sends and polls.

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

docs/journal.md says what each anomaly means. A history from requests and responses: kafka_rack.consistency.wire.
"""

from __future__ import annotations

from kafka_rack.consistency.checker import Checker, check
from kafka_rack.consistency.history import LogStart, Operation, Outcome, Poll, Read, Send, Transaction
from kafka_rack.consistency.report import KINDS, Anomaly, Kind, Report

__all__ = [
    "KINDS",
    "Anomaly",
    "Checker",
    "Kind",
    "LogStart",
    "Operation",
    "Outcome",
    "Poll",
    "Read",
    "Report",
    "Send",
    "Transaction",
    "check",
]
