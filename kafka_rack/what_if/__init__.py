"""A capture's clients and topics under other settings, before and after side by side."""

from __future__ import annotations

from kafka_rack.what_if.change import WhatIfChange, change_of
from kafka_rack.what_if.comparison import ComparedTraffic, Comparison, compare
from kafka_rack.what_if.workload import Workload

__all__ = ["ComparedTraffic", "Comparison", "WhatIfChange", "Workload", "change_of", "compare"]
