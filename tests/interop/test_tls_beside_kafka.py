"""TLS at a real Kafka 4.4 and at ours, with the same keys: who gets in, as whom, and what others hear."""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

import protocol
from mockbroker.adapters.server import MockCluster
from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.adapters.tls.stores import Identity
from protocol.apis.metadata import MetadataRequest
from protocol.apis.topics import CreateTopicsRequest
from tests.certificates import LOCAL, broker_stores, client_context
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers

LISTENERS = {"TLS": "SSL", "MAPPED": "SSL"}
QUIET_S = 60
KEPT_OUT = "kept out"
SUBJECT = [
    (NameOID.COUNTRY_NAME, "SE"),
    (NameOID.ORGANIZATION_NAME, "Sun, Inc. + Söner"),
    (NameOID.ORGANIZATIONAL_UNIT_NAME, " orders "),
    (NameOID.EMAIL_ADDRESS, "duke@example.com"),
    (NameOID.COMMON_NAME, "Duke"),
]
DUKE = (
    r"User:CN=Duke,1.2.840.113549.1.9.1=#161064756b65406578616d706c652e636f6d,OU=\ orders\ ,O=Sun\, Inc. \+ Söner,C=SE"
)
HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(190)


def settings_in(folder: Path, authority: CertificateAuthority) -> dict[str, str]:
    return {
        **broker_stores(folder, authority),
        "listener.name.mapped.ssl.principal.mapping.rules": "RULE:^CN=(Al[^,]*)$/$1/L",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:alice;{DUKE}",
    }


def written(text: str) -> str:
    """A setting's value as a properties file has it."""
    return "".join(char if " " < char < "\x7f" and char != "\\" else f"\\u{ord(char):04x}" for char in text)


def ask(address: str, tls: ssl.SSLContext | None, request: object, version: int) -> object:
    """What a broker answers, ``KEPT_OUT`` where it does not."""
    host, port = address.split(":")
    with ExitStack() as stack:
        try:
            client = stack.enter_context(socket.create_connection((host, int(port)), timeout=QUIET_S))
            if tls is not None:
                client = stack.enter_context(tls.wrap_socket(client, server_hostname=host))
            client.sendall(protocol.request_frame(request, version, correlation_id=1, client_id="test"))
            stream = stack.enter_context(client.makefile("rb"))
            size = stream.read(4)
            if not size:
                return KEPT_OUT
            frame = stream.read(int.from_bytes(size, "big"))
        except (ssl.SSLError, ConnectionError):  # by TLS 1.3 the reason and the end may come in one moment
            return KEPT_OUT
    return protocol.read_response(frame, type(request).api_key, version)[1]


def said_of_topic(address: str, tls: ssl.SSLContext | None) -> object:
    wanted = MetadataRequest(topics=[MetadataRequest.Topic(name="orders")], allow_auto_topic_creation=False)
    answer = ask(address, tls, wanted, 9)
    return answer if isinstance(answer, str) else answer.topics[0].error_code


def heard_after(address: str, data: bytes) -> bytes:
    """All that is heard after some bytes, to the end."""
    host, port = address.split(":")
    heard = b""
    with socket.create_connection((host, int(port)), timeout=QUIET_S) as client:
        client.sendall(data)
        try:
            while piece := client.recv(1000):
                heard += piece
        except ConnectionError:
            pass
    return heard


def story(addresses: dict[str, str], authority: CertificateAuthority, folder: Path) -> dict[str, object]:
    """What becomes of each attempt."""
    ask(
        addresses["PLAINTEXT"],
        None,
        CreateTopicsRequest(topics=[CreateTopicsRequest.Topic(name="orders", num_partitions=1, replication_factor=1)]),
        5,
    )
    subject = x509.Name([x509.NameAttribute(*pair) for pair in SUBJECT])
    duke = authority.issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH)
    identities: dict[str, Identity | None] = {
        "a subject with everything": duke,
        "Alice": authority.client("Alice"),
        "nobody": None,
        "a stranger": CertificateAuthority().client("Alice"),
        "a server": authority.server(LOCAL),
    }
    found: dict[str, object] = {}
    for name, identity in identities.items():
        for listener in LISTENERS:
            tls = client_context(authority, identity, folder)
            found[f"{name} at {listener}"] = said_of_topic(addresses[listener], tls)
    request = protocol.request_frame(MetadataRequest(topics=[]), 9, correlation_id=1, client_id="test")
    found["a request at a port with TLS"] = heard_after(addresses["TLS"], request)
    found["text at a port with TLS"] = heard_after(addresses["TLS"], b"GET / HTTP/1.1\r\n\r\n")
    found["TLS at a port without"] = heard_after(addresses["PLAINTEXT"], HELLO)
    return found


def test_the_same_get_in_as_the_same_and_others_hear_the_same(tmp_path):
    authority = CertificateAuthority()
    settings = settings_in(tmp_path, authority)
    with skipped_without_tools():
        escaped = {name: written(value) for name, value in settings.items()}
        with kafka_brokers(["a"], tmp_path, escaped, listeners=LISTENERS) as running:
            addresses = {"PLAINTEXT": running.addresses[0], **{name: running.others[name][0] for name in LISTENERS}}
            kafkas = story(addresses, authority, tmp_path)
    ours = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in ("PLAINTEXT", *LISTENERS)),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL,MAPPED:SSL",
    }
    with MockCluster(1, settings={**settings, **ours}) as cluster:
        told = cluster.run(lambda one: {of.name: f"{of.host}:{of.port}" for of in one.state.brokers[0].listeners})
        assert story(told, authority, tmp_path) == kafkas
    assert kafkas["a subject with everything at TLS"] == 0
    assert kafkas["Alice at TLS"] == 29
    assert kafkas["Alice at MAPPED"] == 0
    assert kafkas["a subject with everything at MAPPED"] == KEPT_OUT
