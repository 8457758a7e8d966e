"""A small blocking client over our own codec: one connection, and the versions that its broker speaks.

It negotiates versions as Kafka's clients do: ApiVersions in our newest version first; a broker that does not know it
answers in version 0 with the versions that it knows (since 2.4) or without them (0.10 to 2.3); one before 0.10 hangs
up, and gets requests of 0.9. Then the client logs in if the settings have a login. Errors name a listener of another
security protocol.
Source: KIP-35, KIP-43, KIP-152, KIP-511.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeGuard

import protocol
from kafka_rack.errors import KafkaRackError
from mockbroker.adapters.client_properties.login import LoginError, SaslLogin
from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.state.security.protocols import PLAINTEXT, SASL_PLAINTEXT
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.error_codes import ErrorCode, error_name
from protocol.framing import MAX_FRAME_BYTES
from protocol.headers import API_VERSIONS
from protocol.registry import APIS

if TYPE_CHECKING:
    import ssl

SOFTWARE = "kafka-rack"
SPOKEN_BY_0_9 = {0: (0, 1), 1: (0, 1), 2: (0, 0), 3: (0, 0), 10: (0, 0)}
"""Versions of the APIs that we call on a broker without ApiVersions: Produce, Fetch, ListOffsets, Metadata, ..."""
HTTP = b"HTTP"
TLS_ALERT, TLS_HANDSHAKE = 0x15, 0x16
"""The first byte of an answer that is TLS, where Kafka's is the high byte of a length."""


NO_SETTINGS = ClientSettings()


class RealClusterError(KafkaRackError):
    """A real cluster refuses a request, or what answers is no cluster of Kafka; one line."""


class Unreachable(RealClusterError):
    """No connection to an address, or it ended before the answer came."""


class HungUp(Unreachable):
    """The broker closed the connection without an answer."""


class BrokerConnection:
    """One connection to one broker; ``ask`` sends a request and waits for its answer.

    Args:
        address: host and port.
        settings: the login, TLS and the timeout.
    """

    def __init__(self, address: tuple[str, int], settings: ClientSettings = NO_SETTINGS) -> None:
        self.address, self.settings = address, settings
        self.name = address_text(*address)
        self._correlation_id = 0
        self._socket: socket.socket | None = None
        self.versions: Mapping[int, tuple[int, int]] = {}
        """API key -> lowest and highest version that the broker serves."""

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Connect, learn the broker's versions, and log in where the settings say so.

        Raises: Unreachable: nothing listens. RealClusterError: the listener does not speak Kafka, or refuses the login.
        """
        self._connect()
        try:
            self.versions = self._negotiated()
            if self.settings.login is not None:
                self._log_in(self.settings.login)
        except RealClusterError as error:
            self.close()
            if not isinstance(error, HungUp) or self.settings.login is not None:
                raise
            self._connect()
            self.versions = SPOKEN_BY_0_9

    def close(self) -> None:
        """End it, in whatever thread; a call that waits for an answer ends as well."""
        sock, self._socket = self._socket, None
        if sock is not None:
            with suppress(OSError):  # it has ended already
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def version_for(self, message_class: Any, *, least: int = 0, most: int | None = None) -> int | None:
        """The newest version of an API that both sides speak, within these bounds; None without one."""
        if message_class.api_key not in self.versions:
            return None
        lowest, highest = self.versions[message_class.api_key]
        ours = message_class.valid_versions
        upper = min(highest, ours.highest if most is None else min(ours.highest, most))
        lower = max(lowest, ours.lowest, least)
        return upper if lower <= upper else None

    def version_of(self, message_class: Any, *, least: int = 0, most: int | None = None, since: str = "") -> int:
        """The same. Raises: RealClusterError: there is none; ``since`` is the first release that has one."""
        version = self.version_for(message_class, least=least, most=most)
        if version is None:
            needs = f" ({since} and newer do)" if since else ""
            name = APIS[message_class.api_key][1]
            raise RealClusterError(f"{self.name}: does not serve {name} in a version we speak{needs}")
        return version

    def ask(
        self, request: Any, version: int | None = None, *, least: int = 0, most: int | None = None, since: str = ""
    ) -> Any:
        """Send a request, by default in the version of ``version_of``, and read its answer.

        Raises: Unreachable, RealClusterError: one line that names the broker and the API.
        """
        if version is None:
            version = self.version_of(type(request), least=least, most=most, since=since)
        name = APIS[type(request).api_key][1]
        self._correlation_id += 1
        frame = protocol.request_frame(
            request, version, correlation_id=self._correlation_id, client_id=self.settings.client_id
        )
        answer = self._exchange(name, frame)
        try:
            header, response = protocol.read_response(answer, type(request).api_key, version)
        except protocol.ProtocolError as error:
            raise RealClusterError(f"{self.name}: answered {name} with what is none: {error}") from error
        if header.correlation_id != self._correlation_id:
            raise RealClusterError(
                f"{self.name}: answered {name} with another correlation id: "
                f"expected {self._correlation_id}, got {header.correlation_id}"
            )
        return response

    def _exchange(self, name: str, frame: bytes) -> bytes:
        """Send a frame, its length before it, and read one. Raises: Unreachable, RealClusterError."""
        deadline = time.monotonic() + self.settings.timeout_s
        try:
            self._open_socket(deadline).sendall(frame)
            size = self._size(name, self._read(4, deadline))
            return self._read(size, deadline)
        except TimeoutError:
            raise Unreachable(f"{self.name}: no answer to {name} within {self.settings.timeout_s:g} s") from None
        except EOFError:
            raise HungUp(f"{self.name}: closed the connection at {name}; {self._doubt()}") from None
        except OSError as error:
            if is_tls_trouble(error):  # a broker may refuse our certificate after the handshake
                raise RealClusterError(f"{self.name}: {reason_of(error)}") from None
            raise HungUp(f"{self.name}: the connection broke at {name}: {reason_of(error)}; {self._doubt()}") from None

    def _doubt(self) -> str:
        """The possible faults of a listener that does not answer."""
        if self.settings.protocol == PLAINTEXT:
            return "is it a listener for plaintext, without TLS and SASL? --command-config says how others are reached"
        return f"is it a listener of the security protocol {self.settings.protocol}?"

    def _log_in(self, login: SaslLogin) -> None:
        """Play the login's mechanism: with SaslAuthenticate since 1.0, before with bare tokens.

        Raises: RealClusterError: the broker refuses the login, or does not prove its identity.
        """
        version = self.version_for(SaslHandshakeRequest)
        if version is None:
            raise RealClusterError(f"{self.name}: does not serve SaslHandshake (Kafka 0.10); nobody can log in")
        step = self.version_for(SaslAuthenticateRequest)
        answer = self.ask(SaslHandshakeRequest(mechanism=login.mechanism), version if step is not None else 0)
        if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise RealClusterError(
                f"{self.name}: asks nobody to log in: expected security.protocol="
                f"{PLAINTEXT if self.settings.protocol == SASL_PLAINTEXT else 'SSL'}, got {self.settings.protocol}"
            )
        if answer.error_code != ErrorCode.NONE:
            has = f"; it has {', '.join(answer.mechanisms)}" if answer.mechanisms else ""
            raise RealClusterError(
                f"{self.name}: no login as {login}: SaslHandshake failed: {error_name(answer.error_code)}{has}"
            )
        exchange = login.exchange()
        try:
            token = next(exchange)
            while True:
                token = exchange.send(self._token(login, token, step))
        except StopIteration:
            return
        except LoginError as error:
            raise RealClusterError(f"{self.name}: no login as {login}: {error}") from None

    def _token(self, login: SaslLogin, token: bytes, version: int | None) -> bytes:
        """Send the broker a token and give its own."""
        if version is None:
            try:
                return self._exchange("a SASL token", len(token).to_bytes(4, "big") + token)
            except HungUp:  # all that such a broker says to a wrong password
                raise RealClusterError(f"{self.name}: no login as {login}: the broker closed the connection") from None
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=token), version)
        check(f"{self.name}: no login as {login}", answer)
        return bytes(answer.auth_bytes)

    def _connect(self) -> None:
        try:
            self._socket = socket.create_connection(self.address, timeout=self.settings.timeout_s)
        except TimeoutError:
            raise Unreachable(f"{self.name}: cannot be reached within {self.settings.timeout_s:g} s") from None
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{self.name}: cannot be reached: {reason_of(error)}") from None
        if self.settings.tls is not None:
            self._socket = self._shake_hands(self._socket, self.settings.tls)

    def _shake_hands(self, plain: socket.socket, tls: ssl.SSLContext) -> socket.socket:
        """A connection under TLS. Raises: RealClusterError: the listener speaks none, or has another certificate."""
        import ssl

        try:
            return tls.wrap_socket(plain, server_hostname=self.address[0])
        except TimeoutError:
            reason = f"no answer to the TLS handshake within {self.settings.timeout_s:g} s; {self._doubt()}"
        except (ssl.SSLEOFError, ConnectionError):
            plain.close()
            self._raise_if_plaintext()
            raise HungUp(f"{self.name}: closed the connection at the TLS handshake; {self._doubt()}") from None
        except OSError as error:
            reason = reason_of(error)
            if not is_tls_trouble(error):
                reason = f"the connection broke at the TLS handshake: {reason}"
        plain.close()
        raise RealClusterError(f"{self.name}: {reason}")

    def _raise_if_plaintext(self) -> None:
        """Raises RealClusterError: the listener, which hung up on TLS, answers without it."""
        settings = replace(self.settings, login=None, tls=None)
        with suppress(Unreachable), BrokerConnection(self.address, settings) as plain:
            if plain.versions is not SPOKEN_BY_0_9:
                expected = PLAINTEXT if self.settings.login is None else SASL_PLAINTEXT
                raise RealClusterError(
                    f"{self.name}: speaks no TLS; give the address of a listener with TLS, "
                    f"or set security.protocol to {expected}, not {self.settings.protocol}"
                )

    def _negotiated(self) -> dict[int, tuple[int, int]]:
        """Ask for the versions, in versions that get older until the broker knows one."""
        version: int = protocol.message_class(API_VERSIONS, "request").valid_versions.highest
        while True:
            request = ApiVersionsRequest(client_software_name=SOFTWARE, client_software_version="0")
            answer = self.ask(request, version)
            known = {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}
            if answer.error_code == ErrorCode.NONE:
                return known
            if answer.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
                raise RealClusterError(f"{self.name}: ApiVersions failed: {error_name(answer.error_code)}")
            version = min(version - 1, known.get(API_VERSIONS, (0, 0))[1])

    def _read(self, size: int, deadline: float) -> bytes:
        found = bytearray()
        while len(found) < size:
            piece = self._open_socket(deadline).recv(min(size - len(found), 1 << 20))
            if not piece:
                raise EOFError
            found += piece
        return bytes(found)

    def _open_socket(self, deadline: float) -> socket.socket:
        """The socket, with what is left of the time. Raises: TimeoutError: nothing is."""
        assert self._socket is not None, "opened before it is used"
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        return self._socket

    def _size(self, name: str, head: bytes) -> int:
        """The length of an answer, or an error that says what is spoken instead of Kafka."""
        size = int.from_bytes(head, "big", signed=True)
        if head == HTTP:
            raise RealClusterError(f"{self.name}: speaks HTTP, not Kafka")
        if head[0] in (TLS_ALERT, TLS_HANDSHAKE) and head[1] == 3:
            raise RealClusterError(
                f"{self.name}: speaks TLS; give the address of a listener for plaintext, "
                "or set security.protocol to SSL or SASL_SSL in the file of --command-config"
            )
        if not 0 <= size <= MAX_FRAME_BYTES:
            raise RealClusterError(
                f"{self.name}: answered {name} with a length of {size} bytes; it does not speak Kafka"
            )
        return size


def address_text(host: str, port: int) -> str:
    """An address as people write it.

    >>> address_text("::1", 9092)
    '[::1]:9092'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reason_of(error: BaseException) -> str:
    """Why the system refused, in its own words and without its number; for TLS, the setting to change."""
    if is_tls_trouble(error):
        from mockbroker.adapters.tls.troubles import tls_trouble

        return tls_trouble(error)
    if isinstance(error, ConnectionError) and error.errno:  # asyncio's own message differs
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def is_tls_trouble(error: BaseException) -> TypeGuard[ssl.SSLError]:
    """True if TLS failed, and not the connection below it."""
    import ssl

    return isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError)


def refusal(what: str, said: Any) -> str:
    """An error of an answer in one line, with the cluster's own words."""
    message = getattr(said, "error_message", None)
    return f"{what}: {error_name(said.error_code)}{f': {message}' if message else ''}"


def check(what: str, said: Any) -> None:
    """Raises RealClusterError: this part of an answer has an error."""
    if said.error_code != ErrorCode.NONE:
        raise RealClusterError(refusal(what, said))
