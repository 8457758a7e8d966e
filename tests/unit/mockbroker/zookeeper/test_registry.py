"""The nodes that brokers write into ZooKeeper, and the zxids by which a registration is told from the one before."""

from __future__ import annotations

import pytest

from mockbroker.zookeeper.registry import NOT_REGISTERED, Registry


def test_a_broker_that_registers_again_has_a_newer_epoch():
    registry = Registry()
    registry.register(1, b"first")
    before = registry.broker_epoch(1)
    registry.register(1, b"second")
    assert registry.broker_epoch(1) > before
    assert registry.registration(1) == b"second"


def test_a_node_that_is_changed_keeps_the_zxid_that_it_was_created_with():
    registry = Registry()
    registry.write("/controller_epoch", b"1")
    created = registry.created["/controller_epoch"]
    registry.write("/controller_epoch", b"2")
    assert (registry.created["/controller_epoch"], registry.zxid) == (created, created + 1)


def test_a_broker_that_is_gone_has_neither_registration_nor_epoch():
    registry = Registry()
    for broker in (10, 9):
        registry.register(broker, b"{}")
    assert registry.broker_ids() == [9, 10]
    registry.unregister(9)
    assert (registry.broker_ids(), registry.broker_epoch(9)) == ([10], NOT_REGISTERED)
    with pytest.raises(KeyError):
        registry.registration(9)


def test_removing_what_is_not_there_is_no_write():
    registry = Registry()
    registry.unregister(1)
    assert registry.zxid == 0
