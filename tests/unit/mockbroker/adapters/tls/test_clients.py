"""TLS over real sockets: who gets in, who is kept out, and that nobody else notices."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from urllib.request import urlopen

import pytest

from mockbroker.adapters import sockets
from mockbroker.adapters.control import ControlServer
from mockbroker.adapters.server import MockCluster
from mockbroker.adapters.tls import clients
from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.state.brokers.broker import Broker, Listener
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.headers import request_frame
from tests.certificates import LOCAL, client_context, inline
from tests.progress import while_it_works
from tests.unit.mockbroker.handlers.records import TOPIC, batch, produce_request
from tests.unit.mockbroker.wire_client import WireClient

METADATA = MetadataRequest(topics=[])
LISTENERS = {"listeners": "SSL://127.0.0.1:0"}
PLAIN_TOO = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"}


@pytest.fixture(scope="module")
def authority():
    return CertificateAuthority()


@pytest.fixture(scope="module")
def settings(authority):
    return {**LISTENERS, **inline(authority.server(LOCAL), authority)}


def address(cluster: MockCluster, name: str = "SSL", broker: int = 0) -> str:
    listener = cluster.state.brokers[broker].listener(name)
    return f"{listener.host}:{listener.port}"


async def eventually(what: str, done: Callable[[], object]) -> None:
    async with while_it_works(what):
        while not done():  # noqa: ASYNC110 - a log line or a figure tells nobody that it is there
            await asyncio.sleep(0.01)


def principals(cluster: MockCluster) -> list[str]:
    """Who is connected to the first broker."""
    return [client.connection.session.principal for client in cluster._nodes[0].clients]


def shake_hands(where: str, tls: ssl.SSLContext) -> bytes:
    """What a client hears after the handshake. Raises ssl.SSLError: either side refuses, and has told the other."""
    host, port = where.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as plain, tls.wrap_socket(plain, server_hostname=host) as client:
        return client.recv(1)


def part_in_order(where: str, tls: ssl.SSLContext) -> bytes:
    """Connect and end TLS; what comes after the broker has ended it, too."""
    host, port = where.rsplit(":", 1)
    with (
        socket.create_connection((host, int(port))) as plain,
        tls.wrap_socket(plain, server_hostname=host) as client,
        client.unwrap() as after,
    ):
        return after.recv(1)


def read_url(url: str) -> str:
    with urlopen(url) as answer:
        return answer.read().decode()


async def brokers_told(cluster: MockCluster, tls: ssl.SSLContext, name: str = "SSL", broker: int = 0) -> int:
    async with WireClient(address(cluster, name, broker), tls=tls) as client:
        return len((await client.ask(METADATA, 9)).brokers)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_gets_in_by_either_version_of_tls(authority, settings, version):
    tls = client_context(authority)
    tls.minimum_version = tls.maximum_version = version
    async with MockCluster(2, settings=settings) as cluster:
        assert cluster.settings_without_effect == ()
        assert [await brokers_told(cluster, tls, broker=number) for number in (0, 1)] == [2, 2]


async def test_a_version_that_is_not_enabled_gets_nobody_in(authority, settings):
    tls = client_context(authority)
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    async with MockCluster(1, settings={**settings, "ssl.enabled.protocols": "TLSv1.3"}) as cluster:
        with pytest.raises(ssl.SSLError):
            await brokers_told(cluster, tls)
        assert await brokers_told(cluster, client_context(authority)) == 1


async def test_an_answer_larger_than_every_buffer_comes_whole(authority, settings):
    topics = [MetadataRequest.Topic(name="x" * 20_000 + str(number)) for number in range(200)]
    wanted = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    tls = client_context(authority)
    async with MockCluster(1, settings=settings) as cluster, WireClient(address(cluster), tls=tls) as client:
        answer = await client.ask(wanted, 9)
    assert len(answer.topics) == 200


@pytest.mark.parametrize("piece", [1, 1000])
async def test_a_request_in_small_pieces_is_read(authority, settings, piece):
    async with MockCluster(1, settings=settings) as cluster:
        here, there = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = client_context(authority).wrap_bio(here, there, server_hostname="127.0.0.1")
        host, port = address(cluster).split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                data = there.read()
                for at in range(0, len(data), piece):
                    writer.write(data[at : at + piece])
                    await asyncio.sleep(0)
                here.write(await reader.read(65536))
        writer.write(there.read())
        assert tls.version() == "TLSv1.3"
        writer.close()


async def test_plain_bytes_end_a_connection_and_the_log_says_what_was_expected(authority, settings, caplog):
    async with MockCluster(1, settings=settings) as cluster:
        async with WireClient(address(cluster)) as client:
            client.send(METADATA, 9)
            async with while_it_works("the end of the connection"):
                assert await client.reader.read() == bytes.fromhex("15030300020250")  # as Java does
        assert await brokers_told(cluster, client_context(authority)) == 1
    (line,) = [record.getMessage() for record in caplog.records]
    assert "does not speak TLS, which listener SSL expects" in line


async def test_tls_on_a_plain_listener_ends_a_connection_and_the_log_names_it(authority, settings, caplog):
    async with MockCluster(1, settings={**settings, **PLAIN_TOO}) as cluster:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await brokers_told(cluster, client_context(authority), "PLAINTEXT")
        assert await brokers_told(cluster, client_context(authority)) == 1
    (line,) = [record.getMessage() for record in caplog.records]
    assert "TLS" in line


async def test_a_client_that_does_not_trust_the_broker_leaves_one_line(settings, caplog):
    async with MockCluster(1, settings=settings) as cluster:
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.to_thread(shake_hands, address(cluster), client_context(CertificateAuthority()))
        await eventually("the log has a line", lambda: caplog.records)
    (line,) = [record.getMessage() for record in caplog.records]
    assert "unknown ca" in line


async def test_a_handshake_ends_when_its_time_is_over_and_counts_until_then(authority, settings, caplog, monkeypatch):
    monkeypatch.setattr(clients, "HANDSHAKE_S", 0.05)
    async with MockCluster(1, settings={**settings, "max.connections.per.ip": "1"}) as cluster:
        async with WireClient(address(cluster)) as silent:
            assert await silent.is_hung_up()
        assert "no TLS handshake within" in caplog.text
        monkeypatch.setattr(clients, "HANDSHAKE_S", 600)
        async with WireClient(address(cluster)):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await brokers_told(cluster, client_context(authority))
        assert "max.connections.per.ip is 1" in caplog.text


async def test_a_handshake_that_is_not_over_ends_with_its_broker(authority, settings):
    async with MockCluster(1, settings=settings) as cluster, WireClient(address(cluster)) as silent:
        await cluster.stop_broker(0)
        assert await silent.is_hung_up()


async def test_a_stopped_broker_ends_tls_in_order_and_comes_back(authority, settings):
    async with MockCluster(1, settings=settings) as cluster:
        async with WireClient(address(cluster), tls=client_context(authority)) as client:
            assert (await client.ask(METADATA, 9)).brokers
            await cluster.stop_broker(0)
            assert await client.is_hung_up()
        await cluster.start_broker(0)
        assert await brokers_told(cluster, client_context(authority)) == 1


async def test_whoever_does_not_read_is_sent_no_more_than_fits(authority, settings):
    async with (
        MockCluster(1, topics={"orders": 1}, settings=settings) as cluster,
        WireClient(address(cluster), tls=client_context(authority)) as client,
    ):
        assert (await client.ask(METADATA, 9)).brokers
        client.writer.transport.pause_reading()
        topics = [MetadataRequest.Topic(name="x" * 20_000 + str(number)) for number in range(200)]
        for _ in range(5):
            client.send(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)
        (there,) = cluster._nodes[0].clients
        await eventually("answers wait", lambda: there._is_unwritten)
        assert there.transport.get_write_buffer_size() < 2 * clients.PART_BYTES
        assert await brokers_told(cluster, client_context(authority)) == 1
        client.writer.transport.resume_reading()
        for _ in range(5):
            assert len((await client.answer(3, 9)).topics) == 200


async def test_a_stopped_broker_sends_the_rest_to_whoever_reads_it_then(authority, settings, monkeypatch):
    monkeypatch.setattr(sockets, "LINGER_S", 60)
    topics = [MetadataRequest.Topic(name="x" * 20_000 + str(number)) for number in range(1_000)]
    async with (
        MockCluster(1, settings=settings) as cluster,
        WireClient(address(cluster), tls=client_context(authority)) as client,
    ):
        assert (await client.ask(METADATA, 9)).brokers
        client.writer.transport.pause_reading()
        client.send(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)
        (there,) = cluster._nodes[0].clients
        await eventually("the answer waits", lambda: there._is_unwritten)
        await cluster.stop_broker(0)
        client.writer.transport.resume_reading()
        assert len((await client.answer(3, 9)).topics) == 1_000
        assert await client.is_hung_up()


async def test_sasl_goes_over_tls(authority, settings):
    own = {**settings, "listeners": "SASL_SSL://127.0.0.1:0", "ssl.client.auth": "required"}
    async with (
        MockCluster(1, settings=own, users={"alice": "secret"}) as cluster,
        WireClient(address(cluster, "SASL_SSL"), tls=client_context(authority)) as client,
    ):
        await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        answer = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 1)
        assert answer.error_code == 0
        assert (await client.ask(METADATA, 9)).brokers
        assert principals(cluster) == ["User:alice"]


async def test_captures_and_the_journal_show_what_was_said_within_tls(authority, settings, tmp_path):
    file = tmp_path / "frames.jsonl"
    async with MockCluster(1, settings=settings, capture=file) as cluster:
        assert await brokers_told(cluster, client_context(authority)) == 1
    frames = [json.loads(line) for line in file.read_text().splitlines()]
    sent = [b64decode(one["data"]) for one in frames if "data" in one]
    assert any(b"test" in one for one in sent)


async def test_a_fork_has_the_same_keys(authority, settings):
    async with MockCluster(1, settings=settings) as cluster, cluster.fork() as fork:
        assert await brokers_told(fork, client_context(authority)) == 1


async def test_each_rack_may_have_a_listener_with_tls(authority, settings):
    own = {**settings, "listeners": "PLAINTEXT://127.0.0.1:0", "listener.security.protocol.map": "RACK_A:SSL"}
    own["listener.security.protocol.map"] += ",PLAINTEXT:PLAINTEXT"
    async with MockCluster(2, ("a", "b"), listener_per_rack=True, settings=own) as cluster:
        async with WireClient(address(cluster, "RACK_a"), tls=client_context(authority)) as client:
            await client.ask(FetchRequest(max_wait_ms=0), 11)
            assert (await client.ask(METADATA, 9)).brokers
        async with WireClient(address(cluster, "RACK_b")) as client:
            assert (await client.ask(METADATA, 9)).brokers


async def test_a_client_is_called_as_its_certificate_says(authority, settings, tmp_path):
    tls = client_context(authority, authority.client("alice"), tmp_path)
    async with MockCluster(1, settings={**settings, "ssl.client.auth": "required"}) as cluster:
        async with WireClient(address(cluster), tls=tls) as client:
            assert (await client.ask(METADATA, 9)).brokers
            assert principals(cluster) == ["User:CN=alice"]
        with pytest.raises(ssl.SSLError, match="certificate required"):
            await asyncio.to_thread(shake_hands, address(cluster), client_context(authority))


async def test_a_certificate_that_is_requested_may_be_left_out_but_has_to_be_good(
    authority, settings, tmp_path, caplog
):
    stranger = client_context(authority, CertificateAuthority().client("alice"), tmp_path)
    async with MockCluster(1, settings={**settings, "ssl.client.auth": "requested"}) as cluster:
        async with WireClient(address(cluster), tls=client_context(authority)) as client:
            assert (await client.ask(METADATA, 9)).brokers
            assert principals(cluster) == ["User:ANONYMOUS"]
        with pytest.raises(ssl.SSLError, match="unknown ca"):
            await asyncio.to_thread(shake_hands, address(cluster), stranger)
    assert "certificate verify failed: unable to get local issuer certificate" in caplog.text


async def test_a_refused_client_that_leaves_its_socket_open_holds_no_connection(authority, settings, tmp_path):
    """By TLS 1.3 it takes the handshake for done, and may wait for an answer as long as it likes."""
    stranger = client_context(authority, CertificateAuthority().client("Mallory"), tmp_path)
    async with MockCluster(1, settings={**settings, "ssl.client.auth": "required"}) as cluster:
        host, port = address(cluster).rsplit(":", 1)
        with socket.create_connection((host, int(port))) as plain:
            refused = await asyncio.to_thread(stranger.wrap_socket, plain, server_hostname=host)
            node = cluster._nodes[0]
            await eventually(
                "the end of the connection", lambda: not node.handshakes and not node.quotas._by_listener.total()
            )
            assert not node.clients
            refused.close()


async def test_a_server_key_is_none_for_clients(authority, settings, tmp_path):
    own = client_context(authority, authority.server(LOCAL), tmp_path)
    async with MockCluster(1, settings={**settings, "ssl.client.auth": "required"}) as cluster:
        with pytest.raises(ssl.SSLError):
            await asyncio.to_thread(shake_hands, address(cluster), own)


async def test_whoever_no_rule_applies_to_stays_out(authority, settings, tmp_path, caplog):
    rules = {"ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=(a.*)$/$1/U"}
    async with MockCluster(1, settings={**settings, **rules}) as cluster:
        tls = client_context(authority, authority.client("alice"), tmp_path)
        async with WireClient(address(cluster), tls=tls) as client:
            assert (await client.ask(METADATA, 9)).brokers
            assert principals(cluster) == ["User:ALICE"]
        tls = client_context(authority, authority.client("bob"), tmp_path)
        assert await asyncio.to_thread(shake_hands, address(cluster), tls) == b""
    assert "ssl.principal.mapping.rules: none applies to CN=bob" in caplog.text


@pytest.mark.access_control
async def test_access_control_knows_clients_by_their_certificates(authority, settings, tmp_path):
    own = {
        **settings,
        "ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:CN=alice",
    }
    seen = []
    wanted = MetadataRequest(topics=[MetadataRequest.Topic(name="orders")])
    async with MockCluster(1, topics={"orders": 1}, settings=own) as cluster:
        for name in ("alice", "bob"):
            tls = client_context(authority, authority.client(name), tmp_path)
            async with WireClient(address(cluster), tls=tls) as client:
                (topic,) = (await client.ask(wanted, 9)).topics
                seen.append(topic.error_code)
    assert seen == [0, 29]


async def test_a_sasl_listener_asks_for_certificates_only_by_a_setting_of_its_own(authority, settings, tmp_path):
    listeners = "SASL_SSL://127.0.0.1:0"
    own = {**settings, "listeners": listeners, "listener.name.sasl_ssl.ssl.client.auth": "required"}
    async with MockCluster(1, settings=own, users={"alice": "secret"}) as cluster:
        with pytest.raises(ssl.SSLError, match="certificate required"):
            await asyncio.to_thread(shake_hands, address(cluster, "SASL_SSL"), client_context(authority))
        tls = client_context(authority, authority.client("bob"), tmp_path)
        async with WireClient(address(cluster, "SASL_SSL"), tls=tls) as client:
            await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 1)
            assert principals(cluster) == ["User:alice"]


async def test_brokers_may_have_keys_of_their_own_which_nobody_is_told(authority, tmp_path):
    other = CertificateAuthority()
    brokers = [
        Broker(number, None, [Listener("SSL", protocol="SSL")], settings=inline(signer.server(LOCAL), signer))
        for number, signer in enumerate((authority, other))
    ]
    shared = {"ssl.keystore.password": None, "listener.name.other.ssl.key.password": "tell-nobody"}
    async with MockCluster(brokers, settings=shared) as cluster:
        assert await brokers_told(cluster, client_context(authority), broker=0) == 2
        assert await brokers_told(cluster, client_context(other), broker=1) == 2
        async with WireClient(address(cluster, broker=1), tls=client_context(other)) as client:
            resource = DescribeConfigsRequest.Resource(resource_type=4, resource_name="1")
            (result,) = (await client.ask(DescribeConfigsRequest(resources=[resource]), 4)).results
        async with ControlServer(cluster, port=0) as control:
            shown = await asyncio.to_thread(read_url, control.url + "/cluster")
    found = {one.name: one.value for one in result.configs}
    assert found["ssl.keystore.type"] == "PEM"
    secrets = ("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates")
    assert [found[name] for name in secrets] == [None] * 3
    assert found["listener.name.other.ssl.key.password"] is None
    assert "[hidden]" in shown
    assert "tell-nobody" not in shown
    assert "PRIVATE KEY" not in repr(result) + shown


async def test_a_client_that_says_goodbye_is_answered(authority, settings):
    async with MockCluster(1, settings=settings) as cluster:
        async with while_it_works("the end of TLS"):
            rest = await asyncio.to_thread(part_in_order, address(cluster), client_context(authority))
        assert rest == b""
        await eventually("the broker forgets the client", lambda: not cluster._nodes[0].clients)


async def test_what_was_sent_before_the_end_of_tls_is_done(authority, settings):
    tls = client_context(authority)
    async with MockCluster(brokers=1, topics={TOPIC: 1}, settings=settings) as cluster:
        async with WireClient(address(cluster), tls=tls) as client:
            for _ in range(100):
                client.send(produce_request(batch(b"a"), acks=0), 12)
        log = cluster.state.topics[TOPIC].partitions[0].log
        await eventually("all records", lambda: log.end_offset == 100)
        await eventually("the end of the connection", lambda: not cluster.engine.path.connections)
        assert log.end_offset == 100


async def test_a_client_that_ends_tls_before_it_reads_still_gets_its_answer(authority, settings):
    topics = [MetadataRequest.Topic(name="x" * 20_000 + str(number)) for number in range(1_000)]
    request = request_frame(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9, correlation_id=1)
    tls = client_context(authority)
    async with MockCluster(1, settings=settings) as cluster:
        here, there = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = tls.wrap_bio(here, there, server_hostname="127.0.0.1")
        host, port = address(cluster).split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        async with while_it_works("the handshake"):
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    writer.write(there.read())
                    here.write(await reader.read(1 << 16))
        client.write(request)
        with suppress(ssl.SSLWantReadError):
            client.unwrap()
        writer.write(there.read())
        async with while_it_works("the answer and the end"):
            received = await reader.read()
        assert len(received) > 20_000_000
        writer.close()
