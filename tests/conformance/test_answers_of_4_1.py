"""A cluster that emulates Kafka 4.1 answers as one of 4.1 did."""

from __future__ import annotations

import json

import protocol
from mockbroker.core.simulation import Simulation
from protocol.registry import message_class
from protocol.uuids import uuid_to_text
from tests.answers.excuses import excuse_of
from tests.answers.kafka_4_1 import differences_from_4_1, differing, recorded_by_4_1
from tests.answers.recorded import recorded_families, told_by_ours
from tests.answers.scenarios import Scenario, scenarios_of
from tests.cases import for_each

OTHER_REQUESTS = {"DeleteRecords v2, unknown partition", "DeleteRecords v2, unknown topic"}
"""Steps in which 4.1 was asked about other names."""
SHARE_APIS = {
    "ShareGroupHeartbeat": 76,
    "ShareGroupDescribe": 77,
    "ShareFetch": 78,
    "DescribeShareGroupOffsets": 90,
    "AlterShareGroupOffsets": 91,
    "DeleteShareGroupOffsets": 92,
}


def scenarios() -> list[tuple[str, tuple[Scenario]]]:
    return [
        (f"{family}: {scenario.name}", (scenario,))
        for family in recorded_families()
        for scenario in scenarios_of(family)
        if scenario.name in recorded_by_4_1()
    ]


@for_each(scenarios)
def test_a_scenario_is_answered_as_by_4_1(scenario: Scenario):
    told = told_by_ours(scenario, "4.1")
    assert told
    found = [
        one
        for one in differences_from_4_1(scenario.name, told)
        if excuse_of(one) is None and one.step not in OTHER_REQUESTS
    ]
    assert not found, "\n".join(map(str, found[:20]))


@for_each(lambda: [(api, (api,)) for api in SHARE_APIS])
def test_share_groups_are_off_as_in_a_fresh_4_1(api):
    (line,) = (line for line in recorded_by_4_1()["share groups"].values() if line["api"] == api)
    sim = Simulation(release="4.1")
    topic = sim.cluster.create_topic("share-groups.t", assignment=[[0]])
    request = json.loads(line["request"].replace("<id of share-groups.t>", uuid_to_text(topic.id)))
    asked = protocol.from_json(f"{api}Request", line["version"], with_defaults(api, line["version"], request))
    answer = sim.replies[sim.send(asked, version=line["version"])]
    found = list(differing(line["answer"], protocol.to_json(answer, line["version"])))
    assert not [one for one in found if not one[0].endswith("errorMessage")], found


def with_defaults(api, version, request):
    """A request's fields, with those at their defaults that its recorder left out."""
    return protocol.to_json(message_class(SHARE_APIS[api], "request")(), version) | request
