"""The checks that stand outside all placers, missing racks, and how a placer is found by its name."""

from __future__ import annotations

import gc
import pickle
import sys
from importlib.metadata import EntryPoint

import pytest

from kafka_rack.errors import (
    DuplicateBrokerError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    MissingRackError,
    PlacerSettingsError,
    ReplicaPlacementError,
)
from kafka_rack.placement import (
    BUILT_IN,
    DISABLED,
    ENFORCED,
    SAFE,
    RackAwarePlacer,
    ReplicaPlacer,
    StripedPlacer,
    UsableBroker,
    apply_rack_mode,
    close_placer,
    load_placer,
    loading,
    place,
    place_checked,
)

BROKERS = [UsableBroker(2, "b"), UsableBroker(0, "a"), UsableBroker(1, "a")]
PARTLY = [UsableBroker(2, "b"), UsableBroker(0), UsableBroker(1, "a")]


class OnlyPlaces:
    """No more than KIP-660's one decision."""

    def place(self, start_partition, num_partitions, num_replicas, usable_brokers):
        return [[broker.id for broker in usable_brokers[:num_replicas]]] * num_partitions


class Stuck(OnlyPlaces):
    def close(self):
        raise OSError("the lock is held")


class Scripted(ReplicaPlacer):
    """Answers what it was made with, or raises it."""

    def __init__(self, answer=None):
        self.answer = answer
        self.seen = None
        self.settings = None

    def configure(self, settings):
        self.settings = settings

    def place(self, start_partition, num_partitions, num_replicas, usable_brokers):
        self.seen = usable_brokers
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("placer", sorted(set(BUILT_IN) - {"capacity", "decommissioned-brokers", "new-brokers"}))
@pytest.mark.parametrize(
    ("partitions", "replicas", "brokers", "error", "text"),
    [
        (0, 1, BROKERS, InvalidPartitionsError, "0 partitions"),
        (1, 0, BROKERS, InvalidReplicationFactorError, "replication factor 0"),
        (1, 4, BROKERS, InvalidReplicationFactorError, "replication factor 4, but 3 brokers are available"),
        (1, 2, BROKERS[:1], InvalidReplicationFactorError, "replication factor 2, but 1 broker is available"),
        (1, 1, [], InvalidReplicationFactorError, "0 brokers are available"),
        (1, 1, [UsableBroker(1, None, fenced=True)], InvalidReplicationFactorError, "all brokers are fenced"),
        (1, 1, [*BROKERS, UsableBroker(1)], DuplicateBrokerError, "broker 1 is given twice"),
    ],
)
def test_every_placer_refuses_what_cannot_be_placed(placer, partitions, replicas, brokers, error, text):
    with pytest.raises(error, match=text):
        place(placer, brokers, 0, partitions, replicas)


def test_kip_36s_placer_forgets_all_racks_when_some_are_missing():
    placer = Scripted([[1]])
    placer.needs_all_racks = RackAwarePlacer.needs_all_racks
    place_checked(placer, 0, 1, 1, PARTLY, rack_mode=SAFE)
    assert placer.seen == [UsableBroker(0), UsableBroker(1), UsableBroker(2)]


def test_other_placers_see_each_brokers_rack_also_when_some_are_missing():
    placer = Scripted([[1]])
    place_checked(placer, 0, 1, 1, PARTLY, rack_mode=SAFE)
    assert placer.seen == [UsableBroker(0), UsableBroker(1, "a"), UsableBroker(2, "b")]


def test_tools_refuse_missing_racks_and_name_the_brokers():
    with pytest.raises(MissingRackError, match="broker 0 without a rack"):
        place_checked(RackAwarePlacer(), 0, 1, 1, PARTLY, rack_mode=ENFORCED)


def test_tools_told_to_ignore_racks_place_without_them():
    placer = Scripted([[1]])
    place_checked(placer, 0, 1, 1, BROKERS, rack_mode=DISABLED)
    assert {broker.rack for broker in placer.seen} == {None}


def test_no_racks_at_all_is_nothing_missing():
    assert apply_rack_mode([UsableBroker(0), UsableBroker(1)], ENFORCED) == [UsableBroker(0), UsableBroker(1)]


def test_the_striped_placer_sees_missing_racks_as_they_are():
    rows = place_checked(StripedPlacer(), 0, 8, 2, PARTLY[:2], rack_mode=SAFE)
    assert all(sorted(row) == [0, 2] for row in rows)


def test_an_unknown_rack_mode_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="rack mode 'off'"):
        apply_rack_mode(BROKERS, "off")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ([[0]], "expected 2 partitions, got 1"),
        ([[0], [0, 1]], r"expected 2 distinct brokers, got \[0\] in row 0"),
        ([[0, 0], [0, 1]], r"expected 2 distinct brokers, got \[0, 0\] in row 0"),
        ([[0, 1], [1, 9]], r"expected brokers of the cluster, got \[9\] in row 1"),
        ([[0, 1], [1, "2"]], r"expected brokers of the cluster, got \['2'\] in row 1"),
        ([[0, 1], [1, 2.0]], r"expected brokers of the cluster, got \[2\.0\] in row 1"),
        (None, "Scripted failed: TypeError: 'NoneType' object is not iterable"),
        ([0, 1], "Scripted failed: TypeError: 'int' object is not iterable"),
        (ReplicaPlacementError("no room in rack a"), "^no room in rack a$"),
        (PlacerSettingsError("file is gone"), "^file is gone$"),
        (ZeroDivisionError("division by zero"), "Scripted failed: ZeroDivisionError: division by zero"),
    ],
)
def test_whatever_a_placer_does_wrong_is_a_placement_error_with_its_words(answer, text):
    with pytest.raises(ReplicaPlacementError, match=text):
        place_checked(Scripted(answer), 0, 2, 2, BROKERS)


def test_a_placer_that_only_places_is_loaded_asked_and_closed():
    placer = load_placer({"replica.placer.class.name": f"{__name__}:OnlyPlaces"})
    assert place_checked(placer, 0, 2, 2, BROKERS) == [[0, 1], [0, 1]]
    close_placer(placer)


def test_a_placer_that_cannot_close_is_named():
    with pytest.raises(ReplicaPlacementError, match="Stuck failed to close: OSError: the lock is held"):
        close_placer(Stuck())


@pytest.mark.parametrize("name", ["striped", "org.apache.kafka.metadata.placement.StripedReplicaPlacer"])
def test_a_placer_is_found_by_its_own_and_by_its_java_name(name):
    assert isinstance(load_placer({"replica.placer.class.name": name}), StripedPlacer)


def test_no_name_is_the_default():
    assert isinstance(load_placer({}), RackAwarePlacer)


def test_a_placer_of_ones_own_is_found_by_module_and_class_and_gets_all_settings(monkeypatch):
    monkeypatch.setitem(sys.modules, "my_placers", sys.modules[__name__])
    settings = {"replica.placer.class.name": "my_placers:Scripted", "broker.rack": "a"}
    assert load_placer(settings).settings == settings


def test_a_placer_is_found_by_an_entry_point(monkeypatch):
    point = EntryPoint("mine", "kafka_rack.placement:StripedPlacer", loading.ENTRY_POINT_GROUP)
    monkeypatch.setattr(loading, "entry_points", lambda group, name=None: [point])
    assert isinstance(load_placer({"replica.placer.class.name": "mine"}), StripedPlacer)
    assert "mine" in loading.placer_names()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"replica.placer.class.name": "best"},
            "expected module:Class or one of .* rack-aware, striped, .*, got 'best'",
        ),
        ({"replica.placer.class.name": "no.such.module:Placer"}, "No module named"),
        ({"replica.placer.class.name": "kafka_rack.placement:Nothing"}, "no attribute 'Nothing'"),
        ({"replica.placer.class.name": "kafka_rack.placement:place"}, "is no class"),
        ({"replica.placer.class.name": "kafka_rack.placement:UsableBroker"}, "cannot be made"),
        ({"replica.placer.class.name": "collections:Counter"}, "no method place"),
        ({"replica.placer.seed": "x"}, r"replica\.placer\.seed: expected a whole number of at most \d+, got x"),
        ({"replica.placer.start.index": "-1"}, r"replica\.placer\.start\.index: expected at least 0, got -1"),
        (
            {"replica.placer.class.name": "broker-replica", "replica.placer.uneven.last.group": "maybe"},
            "expected true or false, got maybe",
        ),
    ],
)
def test_a_placer_that_cannot_be_had_is_refused_with_the_setting_and_the_reason(settings, text):
    with pytest.raises(PlacerSettingsError, match=text):
        load_placer(settings)


def test_place_knows_only_built_in_names():
    with pytest.raises(PlacerSettingsError, match=r"placer: expected one of .*, got 'best'"):
        place("best", BROKERS, 0, 1, 1)


def test_errors_survive_the_way_to_a_worker_and_back():
    error = pickle.loads(pickle.dumps(MissingRackError((1, 2))))
    assert (error.brokers, str(error)) == ((1, 2), str(MissingRackError((1, 2))))


def test_the_garbage_collector_is_paused_for_large_placements_only_and_comes_back_after_a_failure():
    seen = []

    class Watching(Scripted):
        def place(self, *request):
            seen.append(gc.isenabled())
            raise ReplicaPlacementError("no")

    for partitions in (1, 100_000):
        with pytest.raises(ReplicaPlacementError):
            place_checked(Watching(), 0, partitions, 1, BROKERS)
    assert (seen, gc.isenabled()) == ([True, False], True)
