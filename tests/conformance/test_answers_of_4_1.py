"""A cluster that emulates Kafka 4.1 has share groups off, as one of 4.1 did; test_answers.py compares all else."""

from __future__ import annotations

import json

import protocol
from mockbroker.core.simulation import Simulation
from protocol.registry import message_class
from protocol.uuids import uuid_to_text
from tests.answers.kafka_4_1 import differing, recorded_by_4_1
from tests.cases import for_each

SHARE_APIS = {
    "ShareGroupHeartbeat": 76,
    "ShareGroupDescribe": 77,
    "ShareFetch": 78,
    "DescribeShareGroupOffsets": 90,
    "AlterShareGroupOffsets": 91,
    "DeleteShareGroupOffsets": 92,
}


@for_each(lambda: [(api, (api,)) for api in SHARE_APIS])
def test_share_groups_are_off_as_in_a_fresh_4_1(api):
    (line,) = (line for line in recorded_by_4_1()["share groups"].values() if line["api"] == api)
    sim = Simulation(release="4.1")
    topic = sim.cluster.replication_control.create("share-groups.t", assignment=[[0]])
    request = json.loads(line["request"].replace("<id of share-groups.t>", uuid_to_text(topic.id)))
    asked = protocol.from_json(f"{api}Request", line["version"], with_defaults(api, line["version"], request))
    answer = sim.replies[sim.send(asked, version=line["version"])]
    found = list(differing(line["answer"], protocol.to_json(answer, line["version"])))
    assert not [one for one in found if not one[0].endswith("errorMessage")], found


def with_defaults(api, version, request):
    """A request's fields, with those at their defaults that its recorder left out."""
    return protocol.to_json(message_class(SHARE_APIS[api], "request")(), version) | request
