"""How a cluster was set while it was captured: by what brokers answer, and by the user."""

from __future__ import annotations

import pytest

from kafka_rack.what_if import WhatIfChange, compare
from kafka_rack.what_if.reading import read_workloads
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.pipeline.written_capture import Written, batch_of

TOPIC, BROKER = 2, 4
SELECTOR = "replica.selector.class"
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
CLASSIC, CONSUMER = 11, 68
"""JoinGroup, ConsumerGroupHeartbeat."""


@pytest.fixture
def written():
    """A capture of a reader in az-b that names its rack, and reads from the leader in az-a."""
    found = Written()
    found.metadata(found.open(0), 0, "orders", [0], in_sync=[0, 1, 2])
    found.fetch(found.open(0, "10.0.1.1:5000"), 20_000, "reader", "orders", 0, batch_of(500), rack="az-b")
    return found


@pytest.fixture
def workload(written, tmp_path):
    """Returns the workload of what was written."""

    def read(captured_with=None):
        written.save(tmp_path)
        (found,) = read_workloads(find_files([str(tmp_path)])[0], Options(), None, captured_with).clusters
        return found

    return read


def served(written, **versions):
    """ApiVersions returns these: API's key -> its newest version."""
    version = ApiVersionsResponse.ApiVersion
    keys = [version(api_key=int(key[1:]), min_version=0, max_version=newest) for key, newest in versions.items()]
    response = ApiVersionsResponse(error_code=0, api_keys=keys)
    written.call(written.open(0), 5_000, "admin", ApiVersionsRequest(), response, 1)


def test_nothing_is_assumed_of_a_selector_that_nobody_mentions(workload):
    found = workload()
    assert not found.reads_from_followers
    assert any(note.startswith("nothing says whether brokers have a replica selector") for note in found.notes)


@pytest.mark.parametrize(("value", "is_so"), [(RACK_AWARE, True), (None, False)])
def test_describe_configs_says_which_selector_brokers_have(written, workload, value, is_so):
    written.configs(10_000, BROKER, "0", replica_selector_class=value)
    assert (workload().reads_from_followers, workload().notes) == (is_so, [])


def test_brokers_that_serve_no_fetch_with_a_rack_have_no_selector(written, workload):
    served(written, k1=10)
    assert (workload().reads_from_followers, workload().notes) == (False, [])


def test_the_user_is_believed_before_the_capture_and_told_where_they_differ(written, workload):
    written.configs(10_000, BROKER, "0", replica_selector_class=RACK_AWARE)
    found = workload(captured_with=False)
    assert not found.reads_from_followers
    reported = f"DescribeConfigs ({SELECTOR}={RACK_AWARE})"
    assert found.notes == [
        f"a rack-aware replica selector: no by --captured-with, but yes by {reported}; the first one counts"
    ]


def test_a_selector_of_ones_own_is_named(written, workload):
    written.configs(10_000, BROKER, "0", replica_selector_class="com.example.Nearest")
    assert f"{SELECTOR}=com.example.Nearest is not one of Kafka's" in workload().notes[0]


@pytest.mark.parametrize("value", ["true", "false"])
def test_describe_configs_says_which_topics_are_diskless(written, workload, value):
    written.configs(10_000, TOPIC, "orders", diskless_enable=value)
    assert workload().diskless == (frozenset({"orders"}) if value == "true" else frozenset())


def test_metadata_that_contradicts_describe_configs_is_named(written, workload):
    """Two brokers lead the only replica of a partition in one leader epoch, as of diskless topics."""
    written.configs(10_000, TOPIC, "orders", diskless_enable="false")
    for broker in (0, 1):
        written.metadata(written.open(broker), 30_000 + broker, "logs", [broker], in_sync=[broker], replicas=[broker])
        written.metadata(written.open(broker), 30_000 + broker, "orders", [broker], in_sync=[broker], replicas=[broker])
    found = workload()
    assert found.diskless == {"logs"}
    assert (
        "topic orders is diskless: no by DescribeConfigs (diskless.enable), but yes by Metadata; the first one counts"
        in found.notes
    )


@pytest.mark.parametrize(("api", "is_so"), [(CLASSIC, False), (CONSUMER, True)])
def test_api_versions_say_whether_brokers_serve_the_consumer_protocol(written, workload, api, is_so):
    served(written, k1=17, **{f"k{api}": 1})
    assert workload().serves_consumer_protocol is is_so


def test_settings_of_brokers_decide_about_the_consumer_protocol_before_api_versions(written, workload):
    served(written, k1=17, k68=1)
    written.configs(
        10_000,
        BROKER,
        "0",
        group_coordinator_rebalance_protocols="classic",
        group_consumer_assignors="org.apache.kafka.coordinator.group.assignor.RangeAssignor,uniform",
    )
    found = workload()
    assert (found.serves_consumer_protocol, found.assignor) == (False, "range")
    assert (
        "the consumer protocol: no by DescribeConfigs (classic), but yes by ApiVersions; the first one counts"
        in found.notes
    )
    assert not any("KIP-848" in note for note in compare([found], WhatIfChange(protocol="classic")).notes)
