"""Captures to workloads in this process, with the same pass over their frames as ``locality``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafka_rack.locality.captures import capture_flows, ledgers_of
from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.what_if.gathering import Gathering, ObservedClusters
from kafka_rack.what_if.workload import Workload
from kafka_rack.wire_capture.captures import Options, joined_captures
from kafka_rack.wire_capture.files import CaptureFile


class Nothing(Exception):
    """A capture without any produce, fetch or answer about partitions."""


class Workloads(NamedTuple):
    """A workload of each cluster, their completeness, and the paths of captures with a frame."""

    clusters: list[Workload]
    completeness: Completeness
    read: list[str]


def read_workloads(
    files: Sequence[CaptureFile],
    options: Options,
    rules: RackRules | None = None,
    captured_with: bool | None = None,
) -> Workloads:
    """The workloads of some capture files; those of a rotation are one capture. Raises Nothing.

    Args:
        captured_with: the user's statement whether brokers had the rack-aware replica selector.
    """
    files = joined_captures(files)
    gatherings = {file.path: Gathering() for file in files}
    captures = [
        capture_flows(
            file, options, on_rows=lambda file, rows: gatherings[file.path].add(rows), is_alone=len(files) == 1
        )
        for file in files
    ]
    clusters, completeness = ObservedClusters(rules), Completeness()
    for capture, gathering, ledger in zip(captures, gatherings.values(), ledgers_of(captures, rules), strict=True):
        evidence = capture.flows.evidence
        completeness.merge(ledger.completeness)
        if evidence.frames:
            clusters.add(ledger, gathering, evidence.conclude(rules), evidence.last, capture.flows.step_us)
    found = clusters.finish(captured_with)
    if not any(one.flows or one.topics for one in found):
        raise Nothing("no frame of clients that write or read")
    with_frames = (file for file, capture in zip(files, captures, strict=True) if capture.flows.evidence.frames)
    read = [path for file in with_frames for path in file.parts]
    return Workloads(found, completeness, read)
