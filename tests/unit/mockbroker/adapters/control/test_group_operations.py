"""Groups as GET /groups shows them."""

from __future__ import annotations

import protocol
from mockbroker.adapters.control.group_operations import group_of
from tests.group_driver import GROUP, GroupDriver


def test_a_member_that_waits_for_the_first_generation_shows_what_it_subscribes_to():
    driver = GroupDriver({"group.initial.rebalance.delay.ms": 3000})
    message = protocol.named_class("ConsumerProtocolSubscription")(topics=["orders"], user_data=None)
    driver.enter(protocols=[("range", (1).to_bytes(2, "big") + protocol.encode(message, 1))])
    (member,) = group_of(driver.cluster, GROUP).members
    assert (member.topics, member.assignment) == (["orders"], {})
