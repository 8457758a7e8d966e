"""rack-uniform: balance, then racks, then few moves, each as far as can be."""

from __future__ import annotations

from itertools import permutations, product
from random import Random
from time import process_time

import pytest

from kafka_rack import InputError
from kafka_rack.assignment import Member, Topology, assign, assign_members, server_assignors
from kafka_rack.assignment.even_loads import even_bases
from tests.optimum import best_by_flow, best_by_trying, score
from tests.unit.kafka_rack.assignment.groups import cluster, consumers

NODES = [[0, "a"], [1, "b"]]
REPLICAS = [[0], [1], [0, 1]]


def group_of(racks, owners, topics=("t",)):
    """Members of these racks, each owning the partitions of topic t whose owner is its number."""
    return {
        f"m{number}": {
            "topics": list(topics),
            "rack": rack,
            "owned": [["t", [place for place, owner in enumerate(owners) if owner == number]]],
        }
        for number, rack in enumerate(racks)
    }


@pytest.mark.parametrize("racks", list(product(["a", "b", None], repeat=2)), ids=str)
def test_no_assignment_of_three_partitions_to_two_members_is_better(racks):
    for replicas, owners in product(product(REPLICAS, repeat=3), product([0, 1, None], repeat=3)):
        layout = {"nodes": NODES, "topics": {"t": [list(row) for row in replicas]}}
        members = group_of(racks, owners)
        found = score(layout, members, assign("rack-uniform", layout, members))
        assert found == best_by_trying(layout, members), (layout, members)


def random_group(random):
    """A group of up to 6 members and 3 topics, which may read different ones, and own some of them, some twice."""
    racks = [random.choice(["a", "b", "c", None]) for _ in range(random.randint(1, 5))]
    topics = {
        name: [random.sample(range(len(racks)), random.randint(1, min(3, len(racks)))) for _ in range(count)]
        for name in ("t1", "t2", "t3")
        if (count := random.randint(0, 6))
    }
    equal = random.random() < 0.4
    names = list(topics)
    members = {}
    for number in range(random.randint(1, 6)):
        read = names if equal else random.sample(names, random.randint(0, len(names)))
        members[f"m{number}"] = {"topics": read, "rack": random.choice(["a", "b", "c", "z", None])}
    claimed = random.choice([0, 0.5, 1])
    for name, partitions in topics.items():
        for number in range(len(partitions)):
            for _ in range(2 if random.random() < 0.05 else 1):
                if random.random() < claimed:
                    members[random.choice(list(members))].setdefault("owned", []).append([name, [number]])
    return {"nodes": [list(pair) for pair in enumerate(racks)], "topics": topics}, members


@pytest.mark.parametrize("seed", range(4))
def test_the_cheapest_flow_is_not_better_than_any_of_a_thousand_groups(seed):
    random = Random(f"rack-uniform {seed}")
    for _ in range(1000):
        layout, members = random_group(random)
        found = score(layout, members, assign("rack-uniform", layout, members))
        assert found == best_by_flow(layout, members), (layout, members)


@pytest.mark.parametrize("seed", range(60))
def test_the_flow_that_judges_finds_what_trying_everything_finds(seed):
    random = Random(f"judge {seed}")
    layout, members = random_group(random)
    while not 0 < sum(map(len, layout["topics"].values())) <= 5 or not any(one["topics"] for one in members.values()):
        layout, members = random_group(random)
    assert best_by_flow(layout, members) == best_by_trying(layout, members)


def test_every_partition_has_one_owner_that_subscribes():
    random = Random("owners")
    for _ in range(300):
        layout, members = random_group(random)
        answer = assign("rack-uniform", layout, members)
        given = [pair for pairs in answer.values() for pair in pairs]
        subscribed = {topic for member in members.values() for topic in member["topics"]}
        assert sorted(given) == sorted((topic, n) for topic in subscribed for n in range(len(layout["topics"][topic])))
        assert all(topic in members[name]["topics"] for name, pairs in answer.items() for topic, _ in pairs)
        assert all(pairs == sorted(pairs) for pairs in answer.values())


def test_the_order_of_members_does_not_matter():
    layout = cluster(["a", "b", "c"], 2, t1=7, t2=4)
    members = consumers([["t1", "t2"]] * 4, ["a", "b", "c", "a"])
    answers = [
        assign("rack-uniform", layout, {name: members[name] for name in names}) for names in permutations(members)
    ]
    assert all(answer == answers[0] for answer in answers)


def test_who_has_the_best_keeps_it():
    layout = cluster(["a", "b", "c"], 1, t1=12)
    members = consumers([["t1"]] * 3, ["a", "b", "c"])
    first = assign("rack-uniform", layout, members)
    for name, pairs in first.items():
        members[name]["owned"] = [["t1", [number for _, number in pairs]]]
    assert assign("rack-uniform", layout, members) == first


def test_balance_goes_before_racks_and_racks_before_moves():
    layout = {"nodes": NODES, "topics": {"t": [[0], [0], [0], [1]]}}
    members = group_of(["a", "b"], [0, 1, 1, 0])
    answer = assign("rack-uniform", layout, members)
    # Two each, although three are near m0; 3 goes to its rack, although m0 has it.
    assert ("t", 0) in answer["m0"]
    assert ("t", 3) in answer["m1"]
    assert len(answer["m0"]) == len(answer["m1"]) == 2


def test_a_rack_that_no_broker_has_is_near_to_nothing():
    layout = cluster(["a", "b"], 1, t1=4)
    members = consumers([["t1"]] * 2, ["z", "a"])
    assert assign("rack-uniform", layout, members)["consumer1"] == [("t1", 0), ("t1", 2)]


def test_ten_thousand_partitions_and_five_hundred_members_take_a_second_at_most():
    random = Random("large")
    brokers = {broker: f"rack{broker % 3}" for broker in range(12)}
    names = [f"t{number}" for number in range(20)]
    topology = Topology(brokers, {name: [random.sample(range(12), 2) for _ in range(500)] for name in names})
    owned = [{name: [] for name in names} for _ in range(500)]
    for name in names:
        for partition in range(500):
            random.choice(owned)[name].append(partition)
    members = [
        Member(f"m{place}", names, rack=f"rack{random.randrange(3)}", owned=list(have.items()))
        for place, have in enumerate(owned)
    ]
    took = []
    for _ in range(3):  # the best counts: others on this machine take its caches, and garbage may be collected
        began = process_time()
        answer = assign_members("rack-uniform", topology, members)
        took.append(process_time() - began)
    assert min(took) < 1
    assert {len(pairs) for pairs in answer.values()} == {20}


def test_the_even_bases_of_pools_that_overlap():
    # 9 partitions that one member alone may have, and 2 that it shares with two others.
    assert even_bases([1, 2], [[0], [0, 1]], [9, 2]) == ([9, 1], [9, 1])


def test_a_coordinator_takes_names_and_kafkas_classes():
    offered = server_assignors(["org.apache.kafka.coordinator.group.assignor.UniformAssignor", "rack-uniform"])
    assert list(offered) == ["uniform", "rack-uniform"]


@pytest.mark.parametrize("configured", [["uniform", "sticky"], ["range", "uniform", "range"]])
def test_a_coordinator_refuses_strangers_and_doubles(configured):
    with pytest.raises(InputError, match=f"got '{configured[-1]}'"):
        server_assignors(configured)
