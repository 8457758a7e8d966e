"""A live group is read from what brokers of any age tell of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kafka_rack.assignment import assign
from kafka_rack.assignment.user_data import read_sticky
from kafka_rack.cluster_layout import LayoutPartition, LayoutTopic
from mockbroker.adapters.real_cluster.connection import RealClusterError
from mockbroker.adapters.real_cluster.group import live_group
from protocol.apis.consumer_group import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from protocol.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.apis.groups import DescribeGroupsRequest, DescribeGroupsResponse
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import write_versioned
from protocol.error_codes import ErrorCode

Group, Member = DescribeGroupsResponse.Group, DescribeGroupsResponse.Group.Member
NewGroup, NewMember = ConsumerGroupDescribeResponse.Group, ConsumerGroupDescribeResponse.Group.Member
TOPIC_ID = bytes(range(16))


class FakeCluster:
    """Broker 0 in rack a and 1 in rack b; it answers what it is given, and serves nothing else."""

    def __init__(self, groups=None, new_groups=None, find_version=6, find_error=0):
        coordinator = FindCoordinatorResponse.Coordinator(key="g", node_id=1, host="h", port=1, error_code=find_error)
        self.answers = {
            FindCoordinatorRequest: FindCoordinatorResponse(
                coordinators=[coordinator], error_code=find_error, node_id=1, host="h", port=1
            ),
            MetadataRequest: MetadataResponse(topics=[MetadataResponse.Topic(name="t", topic_id=TOPIC_ID)]),
        }
        if groups is not None:
            self.answers[DescribeGroupsRequest] = DescribeGroupsResponse(groups=groups)
        if new_groups is not None:
            self.answers[ConsumerGroupDescribeRequest] = ConsumerGroupDescribeResponse(groups=new_groups)
        self.versions = {FindCoordinatorRequest: find_version, MetadataRequest: 13}
        self.first = SimpleNamespace(
            name="h:1", version_for=self.version_for, version_of=self.version_for, ask=self.ask
        )

    def version_for(self, message_class, *, least=0):
        version = self.versions.get(message_class, 1)
        return version if message_class in self.answers and version >= least else None

    def ask(self, request, version):
        return self.answers[type(request)]

    def metadata(self, names):
        return self.answers[MetadataRequest]

    def connection_to(self, broker):
        assert (broker.id, broker.host, broker.port) == (1, "h", 1)
        return self.first

    def snapshot(self, *, with_settings):
        brokers = {0: SimpleNamespace(id=0, rack="a", fenced=False), 1: SimpleNamespace(id=1, rack="b", fenced=True)}
        return SimpleNamespace(
            brokers=brokers, topics={"t": LayoutTopic((LayoutPartition((0, 1), 1), LayoutPartition((1, 0))))}
        )


def classic(assignor="range", state="Stable", kind="consumer", rack="a", version=3, topics=("t",)):
    subscription = ConsumerProtocolSubscription(topics=list(topics), rack_id=rack)
    part = ConsumerProtocolAssignment.TopicPartition(topic="t", partitions=[1, 0])
    member = Member(
        member_id="m",
        client_id="app",
        client_host="/10.0.0.1",
        member_metadata=write_versioned(subscription, version),
        member_assignment=write_versioned(ConsumerProtocolAssignment(assigned_partitions=[part]), 0),
    )
    return Group(group_id="g", group_state=state, protocol_type=kind, protocol_data=assignor, members=[member])


def test_a_classic_group_tells_topics_racks_and_what_members_have():
    found = live_group(FakeCluster([classic()]), "g")
    assert found["assignor"] == "range"
    assert found["members"]["m"] == {
        "topics": ["t"],
        "rack": "a",
        "owned": [["t", [0, 1]]],
        "client_id": "app",
        "host": "10.0.0.1",
        "generation": 1,
        "instance_id": None,
    }


def test_the_cluster_has_topic_ids_and_only_brokers_that_are_up():
    assert live_group(FakeCluster([classic(topics=("t", "gone"))]), "g")["cluster"] == {
        "nodes": [[0, "a"]],
        "topics": {"t": [[0, 1], [1, 0]]},
        "topic_ids": {"t": "AAECAwQFBgcICQoLDA0ODw"},
    }


def test_a_sticky_member_will_claim_what_it_has():
    found = live_group(FakeCluster([classic("sticky")]), "g")
    assert read_sticky(bytes.fromhex(found["members"]["m"]["user_data"])) == ([("t", 0), ("t", 1)], 1)
    assert assign("sticky", found["cluster"], found["members"]) == {"m": [("t", 0), ("t", 1)]}


def test_a_subscription_of_an_older_version_has_no_rack():
    assert live_group(FakeCluster([classic(version=1)]), "g")["members"]["m"]["rack"] is None


def test_a_coordinator_is_found_with_brokers_before_many_keys():
    assert live_group(FakeCluster([classic()], find_version=3), "g")["assignor"] == "range"


@pytest.mark.parametrize(("name", "ours"), [("uniform", "uniform"), ("range", "server-range")])
def test_a_group_of_the_newer_protocol_tells_its_targets(name, ours):
    target = NewMember.Assignment(
        topic_partitions=[NewMember.Assignment.TopicPartitions(topic_id=TOPIC_ID, topic_name="t", partitions=[1])]
    )
    member = NewMember(
        member_id="m",
        rack_id="b",
        client_id="app",
        client_host="/10.0.0.1",
        subscribed_topic_names=["t"],
        assignment=NewMember.Assignment(topic_partitions=[]),
        target_assignment=target,
    )
    group = NewGroup(group_id="g", group_state="Stable", assignor_name=name, members=[member])
    no_classic = Group(error_code=ErrorCode.GROUP_ID_NOT_FOUND, group_id="g")
    found = live_group(FakeCluster([no_classic], [group]), "g")
    assert found["assignor"] == ours
    assert (found["members"]["m"]["rack"], found["members"]["m"]["owned"]) == ("b", [["t", [1]]])


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (FakeCluster([classic(state="PreparingRebalance")]), "group g: is in state PreparingRebalance; ask again"),
        (FakeCluster([classic(kind="connect")]), "group g: expected a group of consumers, got one of type 'connect'"),
        (
            FakeCluster([Group(group_id="g", group_state="Dead")]),
            "group g: there is no such group, or it has no members",
        ),
        (FakeCluster([Group(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)]), "group g: GROUP_AUTHORIZATION_FAILED"),
        (FakeCluster([], find_error=ErrorCode.COORDINATOR_NOT_AVAILABLE), "its coordinator is not known: COORDINATOR"),
    ],
)
def test_a_group_that_cannot_be_told_of_is_an_error_in_one_line(cluster, message):
    with pytest.raises(RealClusterError, match=message):
        live_group(cluster, "g")


def test_a_members_bytes_that_are_no_subscription_are_named():
    group = classic()
    group.members[0].member_metadata = b"\x00\x00\x00"
    with pytest.raises(RealClusterError, match="group g, member m: "):
        live_group(FakeCluster([group]), "g")
