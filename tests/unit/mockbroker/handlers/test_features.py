"""UpdateFeatures, and what ApiVersions says of features. The answers are those of a fresh Apache Kafka 4.4.0."""

from __future__ import annotations

from itertools import chain

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.features import FeatureUpdate, feature_level, update_features
from mockbroker.state.image import Image
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.cluster import UpdateFeaturesRequest
from protocol.error_codes import ErrorCode

FRESH = {
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "metadata.version": 33,
    "share.version": 2,
    "streams.version": 1,
    "transaction.version": 2,
}
UPGRADE, SAFE, UNSAFE = 1, 2, 3


def finalized(sim, version=4):
    answer = sim.ask(ApiVersionsRequest(client_software_name="test", client_software_version="1"), version=version)
    return {one.name: one.max_version_level for one in answer.finalized_features}


def updating(*updates, validate_only=False):
    return UpdateFeaturesRequest(
        feature_updates=[
            UpdateFeaturesRequest.FeatureUpdate(feature=name, max_version_level=level, upgrade_type=upgrade_type)
            for name, level, upgrade_type in updates
        ],
        validate_only=validate_only,
    )


def test_a_fresh_cluster_goes_by_the_levels_of_a_fresh_kafka(sim):
    assert finalized(sim) == FRESH


def test_the_levels_that_are_supported_are_kafkas(sim):
    answer = sim.ask(ApiVersionsRequest(client_software_name="test", client_software_version="1"), version=4)
    assert {one.name: (one.min_version, one.max_version) for one in answer.supported_features} == {
        "eligible.leader.replicas.version": (0, 1),
        "group.version": (0, 1),
        "kraft.version": (0, 1),
        "metadata.version": (7, 33),
        "share.version": (0, 2),
        "streams.version": (0, 1),
        "transaction.version": (0, 2),
    }


@pytest.mark.parametrize(
    ("name", "level", "upgrade_type", "code"),
    [
        ("kraft.version", 1, UPGRADE, 0),
        ("kraft.version", 0, UPGRADE, 0),
        ("kraft.version", 0, SAFE, 0),
        ("kraft.version", 1, SAFE, 95),
        ("kraft.version", 2, UPGRADE, 95),
        ("group.version", 0, UPGRADE, 95),
        ("group.version", 0, SAFE, 0),
        ("group.version", 0, UNSAFE, 0),
        ("group.version", 0, 0, 95),
        ("group.version", 1, SAFE, 0),
        ("group.version", 1, 4, 95),
        ("group.version", -1, UPGRADE, 95),
        ("group.version", 99, UPGRADE, 95),
        ("metadata.version", 32, UPGRADE, 95),
        ("metadata.version", 32, SAFE, 95),
        ("metadata.version", 32, UNSAFE, 95),
        ("metadata.version", 22, SAFE, 95),
        ("metadata.version", 33, UPGRADE, 0),
        ("metadata.version", 34, UPGRADE, 95),
        ("metadata.version", 6, SAFE, 95),
        ("no.such", 0, UPGRADE, 95),
        ("no.such", 0, SAFE, 95),
        ("no.such", 1, UPGRADE, 95),
        ("", 1, UPGRADE, 95),
        ("eligible.leader.replicas.version", 0, SAFE, 0),
    ],
)
def test_a_level_is_judged_as_kafka_judges_it(sim, name, level, upgrade_type, code):
    response = sim.ask(updating((name, level, upgrade_type), validate_only=True), version=2)
    assert response.error_code == code
    assert bool(response.error_message) is bool(code)
    assert finalized(sim) == FRESH


def test_up_to_version_1_each_feature_has_a_result_unless_one_cannot_be(sim):
    response = sim.ask(updating(("group.version", 1, UPGRADE)), version=1)
    assert [(one.feature, one.error_code, one.error_message) for one in response.results] == [
        ("group.version", 0, "NONE")
    ]
    response = sim.ask(updating(("group.version", 1, UPGRADE), ("no.such", 1, UPGRADE)), version=1)
    assert (response.error_code, response.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])


def test_a_feature_at_level_0_is_no_longer_finalized_and_all_others_stay(sim):
    sim.ask(updating(("group.version", 0, SAFE)))
    assert finalized(sim) == {name: level for name, level in FRESH.items() if name != "group.version"}
    sim.ask(updating(("group.version", 1, UPGRADE)))
    assert finalized(sim) == FRESH


def test_one_feature_that_cannot_be_updated_stops_all(sim):
    sim.ask(updating(("streams.version", 0, SAFE), ("share.version", 9, UPGRADE)))
    assert finalized(sim) == FRESH


def test_levels_are_found_again_in_the_records_of_a_run():
    commits: list[list[object]] = []
    sim = Simulation(record_log=commits)
    update_features(sim.cluster, [FeatureUpdate("transaction.version", 1, SAFE)], validate_only=False)
    again = Image()
    for record in chain.from_iterable(commits):
        again.apply(record)
    assert again.features == sim.cluster.image.features
    assert feature_level(sim.cluster, "transaction.version") == 1
    assert feature_level(sim.cluster, "share.version") == 2
