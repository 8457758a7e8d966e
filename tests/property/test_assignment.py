"""What every assignor promises for every group, and what ours promise beyond Kafka's."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.assignment import assign, in_hash_order
from kafka_rack.assignment.faultless import assign_faultless, solve_faultless
from kafka_rack.assignment.members import members_from_plain
from kafka_rack.assignment.sticky import cooperative_data
from kafka_rack.assignment.topology import Topology

RACKS = st.sampled_from(["a", "b", "c"])
MAYBE_RACKS = RACKS | st.none()
TOPICS = ["t1", "t2", "t3"]
CONSUMER_SIDE = ["range", "roundrobin", "sticky", "cooperative-sticky"]


@st.composite
def clusters(draw):
    brokers = draw(st.integers(1, 6))
    racks = draw(st.lists(MAYBE_RACKS, min_size=brokers, max_size=brokers))
    replicas = st.lists(st.integers(0, brokers), min_size=1, max_size=3, unique=True)
    topics = {topic: draw(st.lists(replicas, max_size=12)) for topic in TOPICS}
    return {"nodes": [list(pair) for pair in enumerate(racks)], "topics": topics}


@st.composite
def groups(draw, *, equal=False, racks=MAYBE_RACKS):
    names = draw(st.lists(st.text("abcxyz-0123456789", min_size=1, max_size=12), min_size=1, max_size=8, unique=True))
    all_topics = draw(st.lists(st.sampled_from(TOPICS), min_size=1, unique=True))
    subscriptions = st.just(all_topics) if equal else st.lists(st.sampled_from(TOPICS), unique=True)
    owned = st.lists(
        st.tuples(st.sampled_from(TOPICS), st.lists(st.integers(0, 14), unique=True, max_size=8)), max_size=3
    )
    return {
        name: {
            "topics": draw(subscriptions),
            "rack": draw(racks),
            "owned": draw(owned),
            "generation": draw(st.none() | st.integers(-1, 3)),
        }
        for name in names
    }


def loads(assignment):
    return {member: len(pairs) for member, pairs in assignment.items()}


def every_partition(cluster, members):
    subscribed = {topic for member in members.values() for topic in member["topics"]}
    return Counter((topic, number) for topic in subscribed for number in range(len(cluster["topics"][topic])))


def handed_out(assignment):
    return Counter(pair for pairs in assignment.values() for pair in pairs)


def out_of_rack(cluster, members, assignment):
    rack_of = dict(map(tuple, cluster["nodes"]))
    return [
        (member, topic, number)
        for member, pairs in assignment.items()
        if members[member]["rack"]
        for topic, number in pairs
        if members[member]["rack"] not in {rack_of.get(broker) for broker in cluster["topics"][topic][number]}
    ]


@given(clusters(), groups(), st.sampled_from(["range", "roundrobin", "server-range"]))
def test_every_partition_of_a_subscribed_topic_has_one_owner_that_subscribes(cluster, members, assignor):
    answer = assign(assignor, cluster, members)
    assert handed_out(answer) == every_partition(cluster, members)
    assert all(topic in members[member]["topics"] for member, pairs in answer.items() for topic, _ in pairs)


@given(clusters(), groups(equal=True), st.sampled_from(["sticky", "cooperative-sticky"]))
def test_equal_sticky_members_differ_by_one_partition_at_most(cluster, members, assignor):
    for member in members.values():
        member["owned"] = []
    sizes = loads(assign(assignor, cluster, members)).values()
    assert max(sizes) - min(sizes) <= 1


@given(clusters(), groups(), st.sampled_from(CONSUMER_SIDE))
def test_the_same_group_in_the_same_order_gets_the_same_answer(cluster, members, assignor):
    assert assign(assignor, cluster, members) == assign(assignor, cluster, members)


@given(clusters(), groups(equal=True, racks=RACKS))
def test_a_sticky_group_that_owns_its_assignment_keeps_it(cluster, members):
    for member in members.values():
        member |= {"owned": [], "generation": 1}
    first = assign("cooperative-sticky", cluster, members)
    for name, pairs in first.items():
        members[name]["owned"] = [[topic, [number]] for topic, number in pairs]
    moved = [
        pair
        for name, pairs in assign("cooperative-sticky", cluster, members).items()
        for pair in pairs
        if pair not in first[name]
    ]
    # Only what is out of its owner's rack may move, and it is given up before somebody else gets it.
    lost = out_of_rack(cluster, members, first)
    assert not set(moved) - {(topic, number) for _, topic, number in lost}


@given(clusters(), groups(), st.sampled_from(["sticky", "cooperative-sticky"]))
def test_ours_hands_every_partition_to_one_subscriber(cluster, members, kind):
    answer = assign_faultless(kind, Topology.from_plain(cluster), members_from_plain(members))
    owned = handed_out(answer)
    assert not owned - every_partition(cluster, members)
    if kind != "cooperative-sticky":
        assert owned == every_partition(cluster, members)
    assert all(topic in members[member]["topics"] for member, pairs in answer.items() for topic, _ in pairs)


@given(clusters(), groups())
def test_ours_leaves_no_member_two_partitions_behind_one_that_could_give_it_some(cluster, members):
    answer = whole(cluster, members)
    sizes = loads(answer)
    for giver, pairs in answer.items():
        reachable = chain(giver, answer, members)
        assert all(sizes[giver] - sizes[taker] <= 1 for taker in reachable), (giver, pairs)


@given(clusters(), groups(racks=RACKS))
def test_ours_leaves_no_swap_that_would_bring_more_partitions_into_their_racks(cluster, members):
    answer = whole(cluster, members)
    if len({frozenset(member["topics"]) for member in members.values()}) == 1:
        return  # Kafka's own algorithm does these
    before = len(out_of_rack(cluster, members, answer))
    for one, other in combinations(answer, 2):
        for mine in answer[one]:
            for theirs in answer[other]:
                if mine[0] in members[other]["topics"] and theirs[0] in members[one]["topics"]:
                    swapped = answer | {
                        one: [pair for pair in answer[one] if pair != mine] + [theirs],
                        other: [pair for pair in answer[other] if pair != theirs] + [mine],
                    }
                    assert len(out_of_rack(cluster, members, swapped)) >= before


def whole(cluster, members):
    """The assignment in which a cooperative group ends, once its members have given up what others are to get."""
    group, shares = solve_faultless(Topology.from_plain(cluster), members_from_plain(members), cooperative_data)
    return group.to_assignment(shares.owned)


def chain(start, answer, members):
    """Everybody to whom a partition could be passed on from ``start``, over any number of members."""
    found, waiting = set(), [start]
    while waiting:
        giver = waiting.pop()
        topics = {topic for topic, _ in answer[giver]}
        for taker in members:
            if taker not in found and topics & set(members[taker]["topics"]):
                found.add(taker)
                waiting.append(taker)
    return found


@given(groups())
def test_hash_order_loses_nobody(members):
    typed = members_from_plain(members)
    assert sorted(member.member_id for member in in_hash_order(typed)) == sorted(members)
