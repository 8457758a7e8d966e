"""Stores that change while brokers listen: by configs of a broker, and by other files in their place.

What is taken and what is refused was asked of a Kafka 4.4 first; tests/interop/test_tls_beside_kafka.py asks both.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest

from mockbroker import MockCluster
from mockbroker.adapters.tls.certificates import CertificateAuthority
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.configs import IncrementalAlterConfigsRequest
from tests.certificates import LOCAL, PASSWORD, client_context, key_store, trust_store
from tests.unit.mockbroker.wire_client import WireClient

SERVERS = {"listeners": "PLAINTEXT://127.0.0.1:0,TLS://127.0.0.1:0", "listener.security.protocol.map": "TLS:SSL"}
SERVERS["listener.security.protocol.map"] += ",PLAINTEXT:PLAINTEXT"
PREFIX = "listener.name.tls."
KEYS, TRUST = PREFIX + "ssl.keystore.location", PREFIX + "ssl.truststore.location"
BROKER, SET, DELETE = 4, 0, 1
INVALID_REQUEST = 42


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture
def settings(authority, tmp_path):
    return {
        **SERVERS,
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(key_store(tmp_path / "first.p12", authority.server(LOCAL))),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(trust_store(tmp_path / "trust.p12", authority)),
        "ssl.truststore.password": PASSWORD,
    }


def address(cluster: MockCluster, name: str) -> str:
    listener = cluster.state.brokers[0].listener(name)
    return f"{listener.host}:{listener.port}"


async def alter(cluster: MockCluster, configs: dict[str, str | None], broker: str = "0") -> int:
    """The error code of configs that are set, or with None taken back, on a broker."""
    resource = IncrementalAlterConfigsRequest.Resource(resource_type=BROKER, resource_name=broker)
    for name, value in configs.items():
        operation = DELETE if value is None else SET
        resource.configs.append(resource.Config(name=name, config_operation=operation, value=value))
    async with WireClient(address(cluster, "PLAINTEXT")) as client:
        answer = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    return answer.responses[0].error_code


async def certificate(cluster: MockCluster) -> bytes:
    """What a new connection is shown."""
    anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    async with WireClient(address(cluster, "TLS"), tls=anyone) as client:
        return client.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)


def replace_file(path: Path, by: Path | bytes) -> None:
    """Other bytes in a file's place, written at another time."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_bytes(by if isinstance(by, bytes) else by.read_bytes())
    os.utime(path, ns=(before + 1_000_000_000, before + 1_000_000_000))


async def test_new_connections_have_the_key_that_a_broker_is_given_and_old_ones_go_on(settings, authority, tmp_path):
    second = key_store(tmp_path / "second.p12", authority.server(LOCAL))
    async with MockCluster(1, settings=settings) as cluster:
        first = await certificate(cluster)
        async with WireClient(address(cluster, "TLS"), tls=client_context(authority)) as old:
            assert await alter(cluster, {KEYS: str(second)}) == 0
            shown = await certificate(cluster)
            assert shown != first
            assert (await old.ask(ApiVersionsRequest(), 0)).error_code == 0
        assert await alter(cluster, {KEYS: None}) == 0
        assert await certificate(cluster) == first


async def test_a_store_that_cannot_be_used_is_refused_and_the_old_one_stays(settings, authority, tmp_path):
    other = key_store(tmp_path / "other.p12", authority.server(["somewhere.example"]))
    (tmp_path / "garbage.p12").write_bytes(b"garbage")
    refused = [
        {KEYS: str(tmp_path / "missing.p12")},
        {KEYS: str(tmp_path / "garbage.p12")},
        {KEYS: ""},
        {KEYS: str(other)},
        {PREFIX + "ssl.keystore.password": "wrong"},
        {PREFIX + "ssl.keystore.type": "PEM"},
        {PREFIX + "ssl.keystore.type": "BAD"},
        {TRUST: str(tmp_path / "missing.p12")},
        {TRUST: ""},
    ]
    async with MockCluster(1, settings=settings) as cluster:
        first = await certificate(cluster)
        assert [await alter(cluster, configs) for configs in refused] == [INVALID_REQUEST] * len(refused)
        assert await certificate(cluster) == first
        assert cluster.state.configs.own("broker", "0") == {}


async def test_a_certificate_may_lose_names_only_where_the_settings_allow_it(settings, authority, tmp_path):
    other = str(key_store(tmp_path / "other.p12", authority.server(["somewhere.example"])))
    more = str(key_store(tmp_path / "more.p12", authority.server([*LOCAL, "somewhere.example"])))
    async with MockCluster(1, settings=settings) as cluster:
        assert await alter(cluster, {KEYS: more}) == 0
        assert await alter(cluster, {KEYS: other, PREFIX + "ssl.allow.dn.changes": "true"}) == INVALID_REQUEST
    allowed = {**settings, "ssl.allow.dn.changes": "true", "ssl.allow.san.changes": "true"}
    async with MockCluster(1, settings=allowed) as cluster:
        assert await alter(cluster, {KEYS: other}) == 0


async def test_a_file_that_was_replaced_is_read_again_when_any_config_of_its_broker_is_set(
    settings, authority, tmp_path
):
    moving = tmp_path / "moving.p12"
    replace_file(moving, tmp_path / "first.p12")
    second = key_store(tmp_path / "second.p12", authority.server(LOCAL))
    async with MockCluster(1, settings={**settings, "ssl.keystore.location": str(moving)}) as cluster:
        first = await certificate(cluster)
        replace_file(moving, second)
        assert await alter(cluster, {"message.max.bytes": "1000001"}, "") == 0
        assert await certificate(cluster) == first, "that is for all brokers"
        assert await alter(cluster, {"message.max.bytes": "1000001"}) == 0
        shown = await certificate(cluster)
        assert shown != first
        assert await alter(cluster, {KEYS: str(moving)}) == 0
        replace_file(moving, tmp_path / "first.p12")
        assert await alter(cluster, {KEYS: str(moving)}) == 0
        assert await certificate(cluster) == first


async def test_of_a_file_that_was_replaced_by_a_bad_one_the_log_tells_and_the_old_one_stays(
    settings, authority, tmp_path, caplog
):
    moving = tmp_path / "moving.p12"
    replace_file(moving, tmp_path / "first.p12")
    async with MockCluster(1, settings={**settings, "ssl.keystore.location": str(moving)}) as cluster:
        first = await certificate(cluster)
        for bad in (b"garbage", key_store(tmp_path / "other.p12", authority.server(["somewhere.example"]))):
            replace_file(moving, bad)
            caplog.clear()
            assert await alter(cluster, {KEYS: str(moving)}) == 0, "as Kafka answers"
            assert await certificate(cluster) == first
            assert "broker 0 keeps the stores that it has" in caplog.text


async def test_clients_of_another_authority_are_let_in_once_its_store_is_set(settings, authority, tmp_path):
    stranger = CertificateAuthority()
    own = client_context(authority, stranger.client("Stranger"), tmp_path)
    async with MockCluster(1, settings={**settings, "ssl.client.auth": "required"}) as cluster:
        async with WireClient(address(cluster, "TLS"), tls=own) as refused:
            with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
                await refused.ask(ApiVersionsRequest(), 0)
        assert await alter(cluster, {TRUST: str(trust_store(tmp_path / "stranger.p12", stranger))}) == 0
        async with WireClient(address(cluster, "TLS"), tls=own) as client:
            assert (await client.ask(ApiVersionsRequest(), 0)).error_code == 0


async def test_brokers_are_not_given_keys_by_which_they_would_not_reach_each_other(settings, tmp_path):
    stranger = CertificateAuthority()
    foreign = str(key_store(tmp_path / "foreign.p12", stranger.server(LOCAL)))
    async with MockCluster(1, settings=settings) as cluster:
        assert await alter(cluster, {KEYS: foreign}) == 0, "brokers reach each other by PLAINTEXT"
    async with MockCluster(1, settings={**settings, "inter.broker.listener.name": "TLS"}) as cluster:
        assert await alter(cluster, {KEYS: foreign}) == INVALID_REQUEST
        both = {KEYS: foreign, TRUST: str(trust_store(tmp_path / "foreign-trust.p12", stranger))}
        assert await alter(cluster, both) == INVALID_REQUEST, "brokers with the old stores would not trust it"


async def test_other_settings_of_tls_and_logins_are_taken_and_change_nothing_while_a_broker_listens(settings):
    names = {"ssl.client.auth": "required", "ssl.enabled.protocols": "TLSv1.2", "ssl.cipher.suites": "none"}
    async with MockCluster(1, settings=settings) as cluster:
        assert await alter(cluster, {PREFIX + name: value for name, value in names.items()}) == 0
        assert await alter(cluster, {"listener.name.tls.plain.sasl.jaas.config": "nonsense"}) == 0
        await certificate(cluster)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("listener.name.tls.ssl.client.auth", INVALID_REQUEST),
        ("listener.name.tls.plain.connections.max.reauth.ms", INVALID_REQUEST),
        ("listener.name.plaintext.sasl.server.max.receive.size", INVALID_REQUEST),
        ("listener.name.elsewhere.sasl.server.max.receive.size", 0),
        ("listener.name.plaintext.ssl.keystore.location", 0),
        ("listener.name.elsewhere.ssl.keystore.location", 0),
        ("ssl.keystore.location", INVALID_REQUEST),
    ],
)
async def test_what_cannot_be_read_is_refused_where_the_listener_is_there(settings, name, code):
    async with MockCluster(1, settings=settings) as cluster:
        assert await alter(cluster, {name: "perhaps"}) == code


async def test_a_reset_brings_the_first_stores_back_and_a_restart_keeps_the_new_ones(settings, authority, tmp_path):
    second = key_store(tmp_path / "second.p12", authority.server(LOCAL))
    async with MockCluster(1, settings=settings) as cluster:
        first = await certificate(cluster)
        assert await alter(cluster, {KEYS: str(second)}) == 0
        shown = await certificate(cluster)
        await cluster.stop_broker(0)
        await cluster.start_broker(0)
        assert await certificate(cluster) == shown
        await cluster.reset()
        assert await certificate(cluster) == first


async def test_a_cluster_that_keeps_its_data_begins_with_the_stores_that_were_set(settings, authority, tmp_path):
    second = key_store(tmp_path / "second.p12", authority.server(LOCAL))
    folder = tmp_path / "data"
    async with MockCluster(1, settings=settings, data_dir=folder) as cluster:
        assert await alter(cluster, {KEYS: str(second)}) == 0
        shown = await certificate(cluster)
    async with MockCluster(1, settings=settings, data_dir=folder) as cluster:
        assert await certificate(cluster) == shown
