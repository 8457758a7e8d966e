"""KRaft mode: one view that all brokers share, and a view of its own for each that is cut off."""

from __future__ import annotations

import pytest

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.metadata import KRaftMode
from mockbroker.state.replicas.network import CONTROLLER


@pytest.fixture
def cluster() -> Cluster:
    """Brokers 0-2; partition 0 of orders is led by broker 0."""
    cluster = Cluster.create([Broker(index, rack) for index, rack in enumerate("abc")])
    cluster.replication_control.create("orders", 1, assignment=[[0, 1, 2]])
    return cluster


@pytest.mark.parametrize("release", ["2.7", "4.5", "10.0.0"])
def test_a_release_without_kraft_mode_is_refused(cluster, release):
    with pytest.raises(ValueError, match=f"expected a release with KRaft mode, 2.8 to 4.4, got {release}"):
        KRaftMode(cluster.support.current, release)


def test_brokers_that_reach_the_controller_share_one_view(cluster):
    views = [cluster.support.view(broker) for broker in range(3)]
    assert views[0] is views[1] is views[2]
    assert views[0].is_shared


def test_a_broker_that_is_cut_off_keeps_the_view_that_it_had(cluster):
    cluster.cluster_control.cut_link(2, CONTROLLER, 0)
    cluster.replication_control.create("later", 1, 1)
    cluster.cluster_control.stop(0, 0)
    view = cluster.support.view(2)
    assert not view.is_shared
    assert (view.topic_names(), view.is_alive(0), view.controller_id) == (["orders"], True, 0)
    cluster.cluster_control.restore_link(2, CONTROLLER, 0)
    assert cluster.support.view(2) is cluster.support.view(1)
    assert (cluster.support.view(2).topic_names(), cluster.support.view(2).controller_id) == (["later", "orders"], 1)


def test_a_partition_is_led_by_whom_a_broker_that_is_cut_off_knew(cluster):
    partition = cluster.find_partition("orders", 0)
    cluster.cluster_control.cut_link(2, CONTROLLER, 0)
    cluster.cluster_control.stop(0, 0)
    assert (cluster.support.leadership(1, partition).leader, cluster.support.leadership(2, partition).leader) == (1, 0)


def test_a_topic_made_anew_under_its_name_is_another_to_a_broker_that_is_cut_off(cluster):
    cluster.cluster_control.cut_link(0, CONTROLLER, 0)
    cluster.replication_control.delete(cluster.topics["orders"])
    cluster.replication_control.create("orders", 1, assignment=[[1, 2]])
    known = cluster.support.leadership(0, cluster.find_partition("orders", 0))
    assert (known.leader, known.replicas) == (-1, ())


def test_a_leader_is_deposed_only_while_it_has_not_heard_of_its_successor(cluster):
    partition = cluster.find_partition("orders", 0)
    cluster.cluster_control.cut_link(0, CONTROLLER, 0)
    assert cluster.support.own_copy(0, partition) is partition
    cluster.replication_control.reassign("orders", 0, [1, 2])
    assert cluster.support.own_copy(0, partition) is not partition
    assert cluster.support.own_copy(1, partition) is partition
    cluster.cluster_control.restore_link(0, CONTROLLER, 0)
    assert cluster.support.own_copy(0, partition) is partition


def test_a_leader_that_hears_of_its_successor_is_never_deposed(cluster):
    partition = cluster.find_partition("orders", 0)
    cluster.replication_control.reassign("orders", 0, [1, 2])
    assert cluster.support.own_copy(0, partition) is partition
