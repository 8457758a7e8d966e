from __future__ import annotations

import pytest

from mockbroker.adapters.control.group_operations import GroupView, MemberView, OffsetView, group_of, groups_of
from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.share_groups.share import ACCEPT, GROUP, TOPIC, acknowledge, acquired, filled, share_fetch
from tests.unit.mockbroker.share_groups.test_share_group import beat, coordinator


@pytest.fixture
def sim() -> Simulation:
    """Brokers 0-2; the group's members read from the start."""
    sim = Simulation(racks="a,b,c")
    sim.cluster.configs.write("group", GROUP, {"share.auto.offset.reset": "earliest"})
    return sim


def test_a_share_group_is_shown_with_members_and_how_far_it_is(sim):
    topic = sim.cluster.replication_control.create(TOPIC, 2, 3)
    beat(sim, rack_id="b")
    beat(sim, 2)
    filled(sim, 10)
    assert acquired(share_fetch(sim, topic.id)) == [(0, 9, 1)]
    acknowledge(sim, topic.id, 1, (4, 6, [ACCEPT]))
    shown = group_of(sim.cluster, GROUP)
    host = shown.members[0].client_host
    member = MemberView("one", None, shown.members[0].client_id, host, "b", [TOPIC], {TOPIC: [0, 1]})
    assert shown == GroupView(
        id=GROUP,
        type="share",
        state="Stable",
        protocol_type="share",
        protocol="simple",
        generation=shown.generation,
        coordinator=coordinator(sim),
        members=[member],
        offsets=[OffsetView(TOPIC, 0, 0, 7)],
        lag=7,
    )
    assert groups_of(sim.cluster) == [shown]


def test_what_a_share_group_read_of_a_topic_that_is_gone_is_not_shown(sim):
    topic = sim.cluster.replication_control.create(TOPIC, 1, 3)
    beat(sim)
    beat(sim, 2)
    filled(sim, 1)
    share_fetch(sim, topic.id)
    sim.cluster.replication_control.delete(topic)
    shown = group_of(sim.cluster, GROUP)
    assert (shown.offsets, shown.lag, shown.members[0].assignment) == ([], 0, {})
