"""KIP-660's scenarios: new brokers, brokers on their way out, brokers near capacity."""

from __future__ import annotations

import json
import os

import pytest

from kafka_rack.errors import PlacerSettingsError, ReplicaPlacementError
from kafka_rack.placement import (
    STATE_FILE_SETTING,
    BrokerState,
    CapacityPlacer,
    DecommissionedBrokersPlacer,
    NewBrokersPlacer,
    UsableBroker,
    load_placer,
    place_checked,
)
from kafka_rack.placement.scenarios import parse_state

SIX = [UsableBroker(number, "abc"[number % 3]) for number in range(6)]


def used(rows):
    return {broker for row in rows for broker in row}


def test_new_brokers_take_what_their_racks_get():
    placer = NewBrokersPlacer(BrokerState(new=frozenset({3, 4})))
    assert used(placer.place(0, 12, 3, SIX)) == {3, 4, 2, 5}


def test_racks_stay_spread_while_new_brokers_are_preferred():
    rows = NewBrokersPlacer(BrokerState(new=frozenset({3}))).place(0, 12, 3, SIX)
    assert all(len({broker % 3 for broker in row}) == 3 and 3 in row for row in rows)


def test_too_few_new_brokers_are_filled_up_with_others_evenly():
    brokers = [UsableBroker(number) for number in range(5)]
    rows = NewBrokersPlacer(BrokerState(new=frozenset({4}))).place(0, 4, 2, brokers)
    assert rows == [[4, 0], [4, 1], [4, 2], [4, 3]]


def test_without_new_brokers_all_are_used():
    assert used(NewBrokersPlacer(BrokerState(new=frozenset({99}))).place(0, 12, 3, SIX)) == set(range(6))


def test_decommissioned_brokers_get_nothing_new():
    assert used(DecommissionedBrokersPlacer(BrokerState(decommissioned=frozenset({1, 5}))).place(0, 12, 3, SIX)) == {
        *(0, 2, 3, 4)
    }


def test_too_few_brokers_that_stay_is_an_error_that_names_those_that_leave():
    placer = DecommissionedBrokersPlacer(BrokerState(decommissioned=frozenset({0, 1, 2, 3})))
    with pytest.raises(ReplicaPlacementError, match="2 of 6 brokers stay: 0, 1, 2, 3 are being decommissioned"):
        placer.place(0, 1, 3, SIX)


def test_brokers_near_capacity_are_avoided():
    state = BrokerState(used_capacity={0: 0.9, 1: 0.84, 2: 0.85}, capacity_limit=0.85)
    assert used(CapacityPlacer(state).place(0, 12, 3, SIX)) == {1, 3, 4, 5}


def test_the_least_full_of_the_full_are_taken_where_there_is_no_other():
    state = BrokerState(used_capacity={0: 0.97, 1: 0.9, 2: 0.95, 3: 0.9, 4: 0.99}, capacity_limit=0.85)
    assert used(CapacityPlacer(state).place(0, 12, 3, SIX)) == {1, 3, 5}


def test_a_changed_state_file_counts_from_the_next_placement_on(tmp_path):
    file = tmp_path / "brokers.json"
    file.write_text('{"decommissioned": [0]}')
    placer = load_placer({"replica.placer.class.name": "decommissioned-brokers", STATE_FILE_SETTING: str(file)})
    before = used(placer.place(0, 12, 3, SIX))
    file.write_text('{"decommissioned": [1]}')
    os.utime(file, ns=(1, 1))  # the file has the same size, and clocks may be coarse
    assert (before, used(placer.place(0, 12, 3, SIX))) == ({1, 2, 3, 4, 5}, {0, 2, 3, 4, 5})


def test_a_state_file_broken_while_running_fails_the_placement_and_says_where(tmp_path):
    file = tmp_path / "brokers.json"
    file.write_text("{}")
    placer = load_placer({"replica.placer.class.name": "capacity", STATE_FILE_SETTING: str(file)})
    file.write_text('{"new":\n [1,}')
    with pytest.raises(ReplicaPlacementError, match=r"brokers\.json, line 2 column 5"):
        place_checked(placer, 0, 1, 1, SIX)


def test_a_missing_state_file_is_found_out_at_once(tmp_path):
    settings = {"replica.placer.class.name": "capacity", STATE_FILE_SETTING: str(tmp_path / "absent.json")}
    with pytest.raises(PlacerSettingsError, match=r"absent\.json: cannot be read"):
        load_placer(settings)


def test_a_scenario_without_a_state_file_is_refused():
    with pytest.raises(PlacerSettingsError, match=r"NewBrokersPlacer needs replica\.placer\.state\.file"):
        load_placer({"replica.placer.class.name": "new-brokers"})


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ([], "expected an object with .*, got \\[\\]"),
        ({"old": []}, "unknown key 'old'"),
        ({"new": [1, "2"]}, "new: expected a list of broker ids"),
        ({"new": [True]}, "new: expected a list of broker ids"),
        ({"used_capacity": [0.5]}, "used_capacity: expected an object"),
        ({"used_capacity": {"one": 0.5}}, "expected a broker id as key, got 'one'"),
        ({"used_capacity": {"1": 93}}, "used_capacity of broker 1: expected a share from 0 to 1, got 93"),
        ({"capacity_limit": "high"}, "capacity_limit: expected a share"),
        ({"new": [1, 2], "decommissioned": [2]}, "broker 2 is both new and decommissioned"),
    ],
)
def test_a_state_file_that_makes_no_sense_is_refused_with_the_reason(said, complaint):
    with pytest.raises(PlacerSettingsError, match=complaint) as caught:
        parse_state(json.dumps(said), "brokers.json")
    assert str(caught.value).startswith("brokers.json: ")
