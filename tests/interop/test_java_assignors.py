"""Assignments beside Apache Kafka's own classes, on fresh groups, larger than those that were recorded."""

from __future__ import annotations

import json
from random import Random

import pytest

from kafka_rack.assignment import ASSIGNORS, PROPOSED, assign
from kafka_rack.errors import PartitionAssignorError
from tests.interop.fetched import skipped_without_tools
from tests.interop.group_cases import GroupMaker
from tests.interop.java_assignors import java_assignments

SIZES = [(12, 200), (60, 60), (240, 12)]  # the most partitions of a topic, groups
KAFKA_FAILS = {"NullPointerException", "IllegalStateException", "NoSuchElementException", "Endless"}


def ours(group):
    cluster = {**group["cluster"], "topic_ids": group["topic_ids"]}
    try:
        return assign(group["assignor"], cluster, group["members"])
    except PartitionAssignorError:
        return "PartitionAssignorException"


@pytest.mark.parametrize("nasty", [0.02, 0.2], ids=["sane", "nasty"])
@pytest.mark.parametrize("assignor", [name for name in ASSIGNORS if name not in PROPOSED])
def test_kafkas_own_classes_assign_the_same(assignor, nasty):
    random = Random(f"{assignor} beside Java, {nasty}")
    groups = [
        group
        for largest, count in SIZES
        for group in GroupMaker(assignor, random, largest=largest, nasty=nasty).groups(count)
    ]
    with skipped_without_tools():
        answers = java_assignments(groups)
    compared = 0
    for group, answer in zip(groups, answers, strict=True):
        found = ours(group)
        error = answer.get("error")
        if error in KAFKA_FAILS:
            continue  # ours answers all the same
        if error is None:
            found = {member: sorted(pairs) for member, pairs in found.items()}
            expected = {
                member: sorted((topic, number) for topic, numbers in owned for number in numbers)
                for member, owned in answer["assignment"].items()
            }
        else:
            expected = error
        assert found == expected, json.dumps(group)
        compared += 1
    assert compared > len(groups) * 0.7
