"""Groups of the consumer protocol as Kafka 4.1 had them: all that it was asked, in order, of ours as that release."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.answers.comparison import differing_fields
from tests.answers.drivers import SimulatedCluster
from tests.answers.kafka_4_1 import recorded_by_4_1
from tests.answers.scenarios import BASE
from tests.answers.story import Story, mine

PARTITIONS = {"consumer group v1": 2, "consumer group/static v0": 1}


def client_of(request: dict[str, Any]) -> str:
    """The client id that a member had when it was recorded."""
    member = str(request.get("memberId", ""))
    return member.replace("member-", "m") if member.startswith("member-") else "client"


@pytest.mark.parametrize("name", PARTITIONS)
def test_each_answer_is_what_4_1_answered(name):
    lines = recorded_by_4_1()[name]
    story = Story(name, SimulatedCluster(BASE, "4.1"))
    topic = story.topic("t", partitions=PARTITIONS[name])
    right = story.coordinator(story.named("g"))
    for step, line in lines.items():
        request = json.loads(line["request"].replace(f"<id of {topic.name}>", topic.id))
        only = mine(story, "groups") if line["api"] == "ListGroups" else None
        short = step.partition(", ")[2]
        client = client_of(request)
        story.ask(short, line["api"], line["version"], request, to=right, client_id=client, only=only)
    told = {one.step: json.loads(json.dumps(one.answer)) for one in story.kept}
    assert told.keys() == lines.keys()
    found = [
        (step, field, kafka, ours)
        for step, line in lines.items()
        for field, kafka, ours in differing_fields(line["answer"], told[step])
    ]
    assert found == []
