"""Broker registrations in Zookeeper, versions 1 to 5 (KIP-36, KIP-103, KIP-584)."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol import DecodeError, EncodeError, ProtocolError, UnsupportedVersionError
from protocol.embedded.broker_json import BrokerRegistration, Endpoint, read_registration, write_registration

PLAIN = Endpoint("PLAINTEXT", "PLAINTEXT", "host1", 9092)
SSL = Endpoint("SSL", "SSL", "host1", 9093)
CLIENT = Endpoint("CLIENT", "SSL", "host1", 9092)
REPLICATION = Endpoint("REPLICATION", "PLAINTEXT", "::1", 9093)
FULL = BrokerRegistration((PLAIN, SSL), rack="dc1", jmx_port=9999, timestamp_ms=2233345666, features={"f": (1, 3)})


def written(registration: BrokerRegistration, version: int) -> dict[str, object]:
    return json.loads(write_registration(registration, version))


def registered(version: int, **fields: object) -> bytes:
    common = {"version": version, "host": "localhost", "port": 9092, "jmx_port": 9999, "timestamp": "2233345666"}
    return json.dumps(common | fields).encode()


# -- writing -----------------------------------------------------------------------------------------------------------


def test_version_1_has_one_plaintext_host_and_port_alone():
    assert written(FULL, 1) == {
        "version": 1,
        "host": "host1",
        "port": 9092,
        "jmx_port": 9999,
        "timestamp": "2233345666",
    }


def test_version_2_adds_endpoints_and_has_no_rack():
    first, second = written(FULL, 1), written(FULL, 2)
    assert second == first | {"version": 2, "endpoints": ["PLAINTEXT://host1:9092", "SSL://host1:9093"]}


def test_version_3_adds_the_rack():
    assert written(FULL, 3) == written(FULL, 2) | {"version": 3, "rack": "dc1"}


@pytest.mark.parametrize("version", [3, 4, 5])
def test_the_rack_is_left_out_not_null_when_there_is_none(version):
    assert "rack" not in written(BrokerRegistration((PLAIN,)), version)


def test_version_4_adds_the_security_protocols_of_listeners():
    protocols = {"PLAINTEXT": "PLAINTEXT", "SSL": "SSL"}
    assert written(FULL, 4) == written(FULL, 3) | {"version": 4, "listener_security_protocol_map": protocols}


def test_version_5_adds_features_even_when_there_are_none():
    features = {"f": {"min_version": 1, "max_version": 3}}
    assert written(FULL, 5) == written(FULL, 4) | {"version": 5, "features": features}
    assert written(BrokerRegistration((PLAIN,)), 5)["features"] == {}


def test_host_and_port_are_null_and_minus_1_without_a_plaintext_endpoint():
    fields = written(BrokerRegistration((SSL,)), 2)
    assert (fields["host"], fields["port"]) == (None, -1)


def test_an_ipv6_address_stands_in_brackets():
    assert written(BrokerRegistration((REPLICATION,)), 4)["endpoints"] == ["REPLICATION://[::1]:9093"]


@pytest.mark.parametrize("version", [0, 6, -1])
def test_a_version_that_kafka_never_wrote_is_refused(version):
    with pytest.raises(UnsupportedVersionError, match=f"has versions 1-5, not {version}"):
        write_registration(FULL, version)


@pytest.mark.parametrize(
    ("endpoint", "version", "reason"),
    [
        (SSL, 1, "version 1 needs a PLAINTEXT endpoint with a host"),
        (CLIENT, 3, "listener 'CLIENT' has a name of its own, which needs version 4"),
        (Endpoint("client", "SSL", "h", 1), 4, "is not of the form LISTENER://host:port"),
        (Endpoint("CLIENT", "SSL", "a b", 1), 4, "is not of the form LISTENER://host:port"),
        (Endpoint("CLIENT", "TLS", "h", 1), 4, "security protocol 'TLS' of listener 'CLIENT'"),
    ],
)
def test_endpoints_that_could_not_be_read_back_are_refused(endpoint, version, reason):
    with pytest.raises(EncodeError, match=reason):
        write_registration(BrokerRegistration((endpoint,)), version)


# -- reading -----------------------------------------------------------------------------------------------------------


def test_version_1_reads_as_a_plaintext_endpoint():
    read = read_registration(registered(1))
    assert read == BrokerRegistration(
        (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092),), jmx_port=9999, timestamp_ms=2233345666
    )


def test_version_2_reads_the_endpoints_not_the_host_beside_them():
    assert read_registration(registered(2, endpoints=["PLAINTEXT://host1:9092", "SSL://host1:9093"])).endpoints == (
        PLAIN,
        SSL,
    )


def test_version_3_reads_the_rack():
    assert read_registration(registered(3, endpoints=["PLAINTEXT://host1:9092"], rack="dc1")).rack == "dc1"


@pytest.mark.parametrize("fields", [{}, {"rack": None}])
def test_a_rack_that_is_missing_or_null_is_none(fields):
    assert read_registration(registered(4, endpoints=["SSL://host1:9093"], **fields)).rack is None


def test_version_4_reads_listeners_by_the_map():
    read = read_registration(
        registered(
            4,
            endpoints=["CLIENT://host1:9092", "REPLICATION://[::1]:9093"],
            listener_security_protocol_map={"CLIENT": "SSL", "REPLICATION": "PLAINTEXT"},
        )
    )
    assert read.endpoints == (CLIENT, REPLICATION)


def test_version_5_reads_features_and_ignores_the_first_active_version_of_kafka_2_7():
    feature = {"min_version": 1, "first_active_version": 2, "max_version": 3}
    assert read_registration(registered(5, endpoints=[], features={"f": feature})).features == {"f": (1, 3)}


def test_an_unknown_version_reads_as_the_highest_known_and_new_fields_are_ignored():
    future = registered(100, endpoints=["SSL://host1:9093"], rack="dc1", foo={"bar": [1, None]})
    assert read_registration(future) == BrokerRegistration((SSL,), rack="dc1", jmx_port=9999, timestamp_ms=2233345666)


@pytest.mark.parametrize("version", [3, 4, 5, 100])
def test_the_strict_reader_rejects_versions_above_2_as_kafka_0_9_0_0_does(version):
    data = registered(version, endpoints=["PLAINTEXT://host1:9092"])
    with pytest.raises(DecodeError, match=f"version {version}, but only 1 and 2 are supported"):
        read_registration(data, strict=True)
    assert read_registration(data).endpoints == (PLAIN,)


@pytest.mark.parametrize("version", [1, 2])
def test_the_strict_reader_reads_versions_1_and_2(version):
    data = registered(version, endpoints=["PLAINTEXT://localhost:9092"])
    assert read_registration(data, strict=True) == read_registration(data)


def test_kafkas_own_registrations_read():
    of_0_9 = b'{"jmx_port":-1,"timestamp":"1451927172000","endpoints":["PLAINTEXT://b:9092"],"host":"b","version":2,"port":9092}'
    assert read_registration(of_0_9, strict=True) == BrokerRegistration(
        (Endpoint("PLAINTEXT", "PLAINTEXT", "b", 9092),), timestamp_ms=1451927172000
    )


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"", ""),
        (b"[]", ""),
        (b"{", ""),
        (b"\xff", ""),
        (b"{}", ""),
        (b'{"version":"1"}', "version"),
        (registered(0), "version"),
        (b'{"version":1,"port":1}', "host"),
        (b'{"version":1,"host":"h"}', "port"),
        (b'{"version":2}', "endpoints"),
        (registered(2, endpoints=[1]), "endpoints[0]"),
        (registered(2, endpoints=["SSL://h:1", "h:1"]), "endpoints[1]"),
        (registered(2, endpoints=["CLIENT://h:1"]), "endpoints[0]"),
        (registered(4, endpoints=["SSL://h:1"], listener_security_protocol_map={}), "endpoints[0]"),
        (registered(4, endpoints=["SSL://h:1"], listener_security_protocol_map={"SSL": "TLS"}), "endpoints[0]"),
        (b'{"version":1,"x":' + b"[" * 100_000, ""),
    ],
)
def test_what_is_no_registration_is_refused_where_it_is_wrong(data, path):
    with pytest.raises(DecodeError) as refusal:
        read_registration(data)
    assert refusal.value.path == path


# -- both --------------------------------------------------------------------------------------------------------------

ENDPOINTS = st.builds(
    Endpoint,
    listener=st.shared(st.sampled_from(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]), key="protocol"),
    security_protocol=st.shared(st.sampled_from(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]), key="protocol"),
    host=st.sampled_from([None, "host1", "10.0.0.1", "::1", "fe80::1%en0"]),
    port=st.integers(-1, 65535),
)
REGISTRATIONS = st.builds(
    BrokerRegistration,
    endpoints=st.lists(ENDPOINTS, max_size=3).map(tuple),
    rack=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
    jmx_port=st.integers(-1, 65535),
    timestamp_ms=st.integers(0, 2**63 - 1),
    features=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.tuples(st.just(0), st.integers(0, 9))
    ),
)


@given(REGISTRATIONS)
@example(BrokerRegistration((CLIENT, REPLICATION), rack=""))
def test_version_5_reads_back_as_it_was_written(registration):
    assert read_registration(write_registration(registration, 5)) == registration


@given(st.binary() | st.builds(lambda data, cut: data[:cut], st.just(write_registration(FULL, 5)), st.integers(0, 200)))
def test_nothing_but_a_protocol_error_escapes_the_reader(data):
    for strict in (False, True):
        with contextlib.suppress(ProtocolError):
            assert isinstance(read_registration(data, strict=strict), BrokerRegistration)
