"""Hostile handshakes and records at listeners with TLS, beside a good client that comes in by its certificate.

The note also has how many files the server had open before, at most, and once the attackers were gone.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from itertools import cycle

from mockbroker.adapters.tls.certificates import CertificateAuthority
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.fetch import FetchRequest
from tests.torture.hostile import LARGE, TOPIC, Load, beside_a_good_client, fill
from tests.torture.target import MB, Bound, Client, Target, request_bytes

OPTIONS = (
    *("--brokers", "3", "--racks", "a,b,c", "--topic", f"{TOPIC}:3:3", "--topic", f"{LARGE}:1:1", "--tls"),
    *("--control-port", "0"),
)
HANDSHAKE, CHANGE_CIPHER_SPEC, ALERT, APPLICATION_DATA = 22, 20, 21, 23
MAX_PER_RECORD = 1 << 14
FILES_OF_THE_GOOD = 1
"""The one client that asks all the time stays."""
GIVEN_BACK_S = 40.0
"""A handshake may take 30 s, and a little more."""


def record(kind: int, data: bytes) -> bytes:
    """A record of TLS as nobody has sealed it."""
    return struct.pack(">BHH", kind, 0x0303, len(data)) + data


def hello() -> bytes:
    """What a client begins with, by Python's own TLS."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(to_client, to_server, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return to_server.read()


def anyone(*, highest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """A client that trusts everybody and shows nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode, context.maximum_version = False, ssl.CERT_NONE, highest
    return context


def half_handshakes(target: Target) -> Generator[None, None, None]:
    """3,000 connections that send a hello, or half of one, and say nothing more."""
    whole = hello()
    for number in range(3_000):
        target.client().send(whole if number % 2 else whole[: len(whole) // 2])
        yield
    while True:
        time.sleep(0.1)
        yield


def slow_handshakes(target: Target) -> Generator[None, None, None]:
    """300 connections that send a hello a byte at a time."""
    whole = hello()
    clients = [target.client() for _ in range(300)]
    for byte in whole:
        for client in clients:
            client.send(bytes([byte]))
        time.sleep(0.05)
        yield


def plain_bytes(target: Target) -> Generator[None, None, None]:
    """Connections that send requests, or HTTP, without TLS."""
    for question in cycle((request_bytes(ApiVersionsRequest(), 3), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")):
        with Client(target.address) as client, suppress(OSError):
            client.send(question)
            client.socket.recv(1000)
        yield


def garbage_records(target: Target) -> Generator[None, None, None]:
    """Connections that send records of noise, at first, behind a hello, or behind a whole handshake."""
    rng, whole, tls = target.rng, hello(), anyone()
    for turn in cycle(range(3)):
        with Client(target.address) as client, suppress(OSError):
            noise = record(rng.choice((20, 21, 22, 23, 24, 255)), rng.randbytes(rng.randrange(1, MAX_PER_RECORD)))
            if turn == 2:
                with tls.wrap_socket(client.socket) as sealed:
                    sealed.do_handshake()
                    with socket.socket(fileno=sealed.detach()) as bare:
                        bare.settimeout(5)
                        bare.sendall(noise)
                        bare.recv(1000)
            else:
                client.socket.settimeout(5)
                client.send(whole * turn + noise)
                while client.socket.recv(10_000):
                    pass
        yield


def handshake_flood(target: Target) -> Generator[None, None, None]:
    """One whole handshake behind the other, by TLS 1.3 and 1.2 in turn, as fast as they go."""
    contexts = [anyone(), anyone(highest=ssl.TLSVersion.TLSv1_2)]
    for tls in cycle(contexts):
        with suppress(OSError), Client(target.address, tls=tls):
            pass
        yield


def foreign_certificates(target: Target) -> Generator[None, None, None]:
    """One handshake behind the other with a certificate of an authority that nobody here knows."""
    mallory = CertificateAuthority().client("Mallory")
    tls = anyone()
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(mallory.key + mallory.certificate)
        file.flush()
        tls.load_cert_chain(file.name)
    while True:
        with suppress(OSError), Client(target.address, tls=tls) as client:
            client.send(request_bytes(ApiVersionsRequest(), 0))
            client.receive()
            raise AssertionError("a stranger was let in")
        yield


def endless_handshakes(target: Target) -> Generator[None, None, None]:
    """Up to 2 GB of handshake bytes on 50 connections: messages of 16 MB, records that change nothing, alerts."""
    whole = hello()
    large = whole[:5] + b"\x01" + (2**24 - 1).to_bytes(3, "big") + bytes(len(whole) - 9)
    steps = [
        (large, record(HANDSHAKE, bytes(MAX_PER_RECORD))),
        (whole, record(CHANGE_CIPHER_SPEC, b"\x01")),
        (whole, record(ALERT, b"\x01\x5a")),
        (b"", record(HANDSHAKE, b"")),
    ]
    clients: list[tuple[Client, bytes]] = []
    for number in cycle(range(50)):
        if len(clients) <= number:
            begin, more = steps[number % len(steps)]
            clients.append((target.client(), more))
            if begin:
                clients[-1][0].send(begin)
        client, more = clients[number]
        client.socket.settimeout(0.05)
        try:
            client.send(more * (1 if len(more) > 1000 else 200))
        except TimeoutError:
            pass
        except OSError:  # the server has had enough of it: another one comes
            begin, more = steps[number % len(steps)]
            again = target.client()
            with suppress(OSError):
                again.send(begin)
            client.socket.close()
            clients[number] = again, more
        if target.sent_bytes > 2 << 30:
            return
        yield


def renegotiations(target: Target) -> Generator[None, None, None]:
    """20 clients of OpenSSL that ask to begin anew (TLS 1.2), or for new keys (TLS 1.3), again and again."""
    host, port = target.address.rsplit(":", 1)
    program = shutil.which("openssl")
    if program is None:
        raise OSError("openssl is not there")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    while True:
        running = []
        for version, asked in [("-tls1_2", b"R\n"), ("-tls1_3", b"K\n")] * 10:
            command = [program, "s_client", "-connect", f"{host}:{port}", version]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0, **quiet)  # type: ignore[call-overload]
            running.append((process, asked))
        try:
            for _ in range(200):
                for process, asked in running:
                    with suppress(OSError):
                        process.stdin.write(asked)
                time.sleep(0.005)
                yield
        finally:
            for process, _ in running:
                process.kill()
                process.stdin.close()
                process.wait()


def unread_answers(target: Target) -> Generator[None, None, None]:
    """50 connections that ask for 20 MB again and again, and read nothing."""
    wanted = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=20 * MB)
    topic = FetchRequest.Topic(topic=LARGE, partitions=[wanted])
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=20 * MB, session_epoch=-1, topics=[topic])
    for _ in range(50):
        with suppress(OSError):
            target.client(receive_bytes=4096, tls=target.tls).send(request_bytes(request, 11) * 10)
        yield
    while True:
        time.sleep(0.1)
        yield


def and_all_given_back(attack: Callable[[Target], None]) -> Callable[[Target], None]:
    """The same, and the server's open files are counted."""

    def counted(target: Target) -> None:
        before = target.open_files()
        attack(target)
        at_most = target.max_files
        ends_at = time.monotonic() + GIVEN_BACK_S
        while target.open_files() > before + FILES_OF_THE_GOOD and time.monotonic() < ends_at:
            time.sleep(0.5)
        target.note += f", files {before} -> {at_most} -> {target.open_files()}"

    return counted


def watched(load: Load) -> Load:
    """The same, with the server's open files looked at now and then."""

    def watching(target: Target) -> Generator[None, None, None]:
        looked_s = 0.0
        for _ in load(target):
            if time.monotonic() - looked_s > 0.5:
                target.max_files = max(target.max_files, target.open_files())
                looked_s = time.monotonic()
            yield

    watching.__name__ = load.__name__
    return watching


PREPARE, BOUND = fill, Bound(peak_mb=250, after_mb=200)
ATTACKS = {
    f"tls {load.__name__.replace('_', ' ')}": and_all_given_back(beside_a_good_client(watched(load), OPTIONS))
    for load in (
        half_handshakes,
        slow_handshakes,
        plain_bytes,
        garbage_records,
        handshake_flood,
        foreign_certificates,
        endless_handshakes,
        renegotiations,
        unread_answers,
    )
}
