"""Runs a family's scenarios against three real brokers, on two fresh clusters one after the other, and keeps what is
equal in both."""

from __future__ import annotations

import json
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from tests.answers.comparison import differing_fields
from tests.answers.drivers import RACKS, RealKafka, brokers_with_users
from tests.answers.recorded import write
from tests.answers.scenarios import scenarios_of, settings_of, users_of
from tests.answers.story import Exchange, Story


def record(family: str) -> bool:
    """Record a family and write its file. False if a scenario failed against Kafka, which is printed."""
    first, failed = told_by_kafka(family)
    second, failed_again = told_by_kafka(family)
    equal, dropped = equal_in_both(first, second)
    count = write(family, equal, settings_of(family))
    for line in dropped:
        print(f"dropped, it differs between two runs: {line}")
    for line in sorted(failed | failed_again):
        print(f"FAILED: {line}")
    print(f"{family}: {count} exchanges recorded, {len(dropped)} dropped")
    return not failed | failed_again


def told_by_kafka(family: str) -> tuple[list[Exchange], set[str]]:
    kept: list[Exchange] = []
    failed: set[str] = set()
    with (
        tempfile.TemporaryDirectory() as folder,
        brokers_with_users(RACKS, Path(folder), settings_of(family), users_of(family)) as running,
    ):
        for scenario in scenarios_of(family):
            driver = RealKafka(running)
            story = Story(scenario.name, driver)
            try:
                scenario.run(story)
            except Exception:  # noqa: BLE001 - the other scenarios go on, and this one is told of
                traceback.print_exc()
                failed.add(scenario.name)
            for broker, name in list(driver.sockets):
                driver.close(broker, name)
            kept += story.kept
    return kept, failed


def equal_in_both(first: Sequence[Exchange], second: Sequence[Exchange]) -> tuple[list[Exchange], list[str]]:
    """The exchanges that are the same in both, and what was dropped, one line each."""
    others = {(one.scenario, one.step): one for one in second}
    equal, dropped = [], []
    for one in first:
        other = others.get((one.scenario, one.step))
        if other is None:
            dropped.append(f"{one.scenario} | {one.step}: only in one")
            continue
        differing = list(differing_fields(json.loads(json.dumps(one.answer)), json.loads(json.dumps(other.answer))))
        if differing:
            dropped.append(f"{one.scenario} | {one.step}: {differing[:3]}")
        else:
            equal.append(one)
    return equal, dropped
