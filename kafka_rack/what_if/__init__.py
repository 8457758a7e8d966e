"""What would have been: a capture's clients and topics under other settings, before and after side by side."""

from __future__ import annotations

from kafka_rack.what_if.change import Change, change_of
from kafka_rack.what_if.comparison import Comparison, Outcome, compare
from kafka_rack.what_if.workload import Workload

__all__ = ["Change", "Comparison", "Outcome", "Workload", "change_of", "compare"]
