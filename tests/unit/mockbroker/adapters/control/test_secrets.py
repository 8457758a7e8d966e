"""No GET of the control API tells a secret, whatever was set and whoever has logged in or tried to."""

from __future__ import annotations

import base64
import re

import httpx
import pytest

from mockbroker import MockCluster
from mockbroker.adapters.control import ControlServer
from protocol.apis.configs import IncrementalAlterConfigsRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.apis.scram import AlterUserScramCredentialsRequest
from tests.plain_http import PLAIN_HTTP
from tests.progress import while_it_works
from tests.scram_client import final_token, first_token
from tests.unit.mockbroker.wire_client import WireClient

ALICE, BOB, CAROL, GUESS, STORE = "alices-own", "bobs-own", "carols-salted-own", "a-guess", "of-the-key-store"
SETTINGS = {
    "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:SASL_PLAINTEXT",
    "listener.name.outside.plain.sasl.jaas.config": f'x.PlainLoginModule required user_bob="{BOB}";',
}
STREAMED = {"/events": 5}
"""Answers without an end: how many events hold all there is."""


def address(cluster, name):
    listener = cluster.state.brokers[0].listener(name)
    return f"{listener.host}:{listener.port}"


class OwnLogin:
    """That of a proxy."""

    mechanism = "PLAIN"

    def exchange(self):
        yield f"\0alice\0{ALICE}".encode()


def where(cluster, name):
    host, port = address(cluster, name).split(":")
    return host, int(port)


async def use_secrets(cluster, addresses=None):
    """Log in, rightly and wrongly and in each way, and set what is secret; gives what was sent and kept."""
    addresses = addresses or {name: address(cluster, name) for name in ("INSIDE", "OUTSIDE")}
    setting = IncrementalAlterConfigsRequest.Resource.Config(name="ssl.keystore.password", value=STORE)
    broker = IncrementalAlterConfigsRequest.Resource(resource_type=4, resource_name="0", configs=[setting])
    upsertion = AlterUserScramCredentialsRequest.Upsertion(
        name="carol", mechanism=1, iterations=4096, salt=b"the-salt-of-carol", salted_password=CAROL.encode()
    )
    async with WireClient(addresses["INSIDE"]) as client:
        await client.ask(IncrementalAlterConfigsRequest(resources=[broker]), 1)
        answer = await client.ask(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0)
        assert answer.results[0].error_code == 0
    for version in (0, 1):
        for user, password in (("alice", ALICE), ("bob", BOB), ("alice", GUESS)):
            token = f"\0{user}\0{password}".encode()
            async with WireClient(addresses["OUTSIDE"]) as client:
                await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), version)
                if version:
                    await client.ask(SaslAuthenticateRequest(auth_bytes=token), 2)
                else:
                    client.writer.write(len(token).to_bytes(4, "big") + token)
                    await client.reader.read(4)
    async with WireClient(addresses["OUTSIDE"]) as client:
        await client.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-512"), 1)
        first = await client.ask(SaslAuthenticateRequest(auth_bytes=first_token("alice")), 2)
        token = final_token("alice", ALICE, first.auth_bytes, "sha512")
        last = await client.ask(SaslAuthenticateRequest(auth_bytes=token), 2)
        assert last.error_code == 0
    kept = [
        one
        for record in cluster.state.image.scram_credentials.values()
        for one in (record.stored_key, record.server_key)
    ]
    texts = [ALICE, BOB, CAROL, GUESS, STORE, "the-salt-of-carol"]
    return [*(text.encode() for text in texts), token, first.auth_bytes, last.auth_bytes, *kept]


def forms_of(secret):
    """A secret as an answer could have it."""
    return [secret, base64.b64encode(secret), secret.hex().encode(), repr(secret)[2:-1].encode()]


FILLED = {"id": "0", "rack": "a", "topic": "orders", "group": "g", "fault": "fault-1"}


@pytest.mark.parametrize("filled", [FILLED])
async def test_no_answer_to_a_get_holds_a_secret(filled):
    async with (
        MockCluster(1, ("a",), topics={"orders": 1}, settings=SETTINGS, users={"alice": ALICE}) as cluster,
        ControlServer(cluster) as control,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{control.port}", timeout=None, **PLAIN_HTTP) as http,
    ):
        cluster.faults.add({"id": "fault-1", "effect": {"delay_ms": 1}, "match": {"api": "Fetch"}})
        secrets = await use_secrets(cluster)
        assert len(secrets) == 6 + 3 + 2 * (2 + 1)
        said = await said_to_gets(http, filled)
        assert {"/cluster", "/requests", "/events", "/metrics", "/topics/{topic}"} <= {*said}
        assert b"User:alice" in said["/requests"]
        assert told(said, secrets) == []


@pytest.mark.proxy
async def test_no_answer_of_a_proxy_to_a_get_holds_a_secret():
    from mockbroker.proxy.adapters.server import KafkaProxy
    from mockbroker.proxy.adapters.upstream import UpstreamSettings

    async with (
        MockCluster(1, ("a",), topics={"orders": 1}, settings=SETTINGS, users={"alice": ALICE}) as cluster,
        KafkaProxy(address(cluster, "INSIDE")) as inside,
        KafkaProxy(UpstreamSettings(OwnLogin(), servers=[where(cluster, "OUTSIDE")])) as outside,
    ):
        secrets = await use_secrets(cluster, {"INSIDE": inside.bootstrap_servers, "OUTSIDE": outside.bootstrap_servers})
        for proxy in (inside, outside):
            async with (
                ControlServer(proxy) as control,
                httpx.AsyncClient(base_url=f"http://127.0.0.1:{control.port}", timeout=None, **PLAIN_HTTP) as http,
            ):
                said = await said_to_gets(http, FILLED)
                assert (b"User:alice" in said["/requests"]) is (proxy is outside)
                assert told(said, secrets) == []


async def said_to_gets(http, filled):
    """What each GET is answered, by its path."""
    described = (await http.get("/openapi.json")).json()["paths"]
    said = {}
    for path in ["/", *(path for path, methods in described.items() if "get" in methods)]:
        where = re.sub(r"{(\w+)}", lambda found: filled[found[1]], path)
        async with while_it_works(path), http.stream("GET", where, params={}) as response:
            assert response.status_code in (200, 404, 409), path
            lines = bytearray()
            async for line in response.aiter_lines():
                lines += line.encode() + b"\n"
                if path in STREAMED and lines.count(b"\ndata: ") == STREAMED[path]:
                    break
            said[path] = bytes(lines)
    return said


def told(said, secrets):
    """The secrets that answers hold, and where."""
    return [
        (path, secret) for path, text in said.items() for secret in secrets if any(f in text for f in forms_of(secret))
    ]
