"""Brokers that behave as old or broken ones do, for tests of the client: a thread that plays a script on a socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import protocol

Answer = Callable[[int, int, int, object], bytes | None]
"""(api key, version, correlation id, request) -> what is sent; None hangs up."""


@contextmanager
def scripted_broker(answer: Answer, log: list[tuple[int, int]] | None = None) -> Iterator[str]:
    """A broker at the address that is given; each request's key and version go to ``log``."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, suppress(ConnectionError):  # a client that gives up resets what it has not read
                talk(client)

    def talk(client: socket.socket) -> None:
        while True:
            head = client.recv(4, socket.MSG_WAITALL)
            if len(head) < 4:
                return
            frame = client.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
            header, request = protocol.read_request(frame)
            if log is not None:
                log.append((header.request_api_key, header.request_api_version))
            said = answer(header.request_api_key, header.request_api_version, header.correlation_id, request)
            if said is None:
                return
            client.sendall(said)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    host, port = listener.getsockname()
    try:
        yield f"{host}:{port}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
