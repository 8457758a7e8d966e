"""Links between nodes: both ways alike, and a node always reaches itself."""

from __future__ import annotations

from mockbroker.state.replicas.network import CONTROLLER, Reachability


def test_a_link_is_cut_and_restored_both_ways():
    network = Reachability()
    network.cut(1, 0)
    assert not network.connects(0, 1)
    assert not network.connects(1, 0)
    assert not network.is_whole
    network.restore(0, 1)
    assert network.connects(1, 0)
    assert network.is_whole


def test_a_node_reaches_itself_whatever_is_cut():
    network = Reachability()
    network.cut(0, 1)
    assert network.connects(0, 0)


def test_all_links_of_a_node_are_restored_and_no_others():
    network = Reachability()
    for node, other in [(0, 1), (0, CONTROLLER), (1, 2)]:
        network.cut(node, other)
    network.restore_all(0)
    assert network.connects(0, 1)
    assert network.connects(0, CONTROLLER)
    assert not network.connects(1, 2)
