"""What the proxy itself asks of the real cluster: who its brokers are, and which topics there are.

One connection, to whichever broker can be reached; it is made anew where it breaks. Clients have connections of their
own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from mockbroker.adapters.client_properties.bootstrap import servers_in
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.error_codes import ErrorCode, error_name
from protocol.errors import ProtocolError
from protocol.headers import read_response, request_frame

SOFTWARE = "kafka-rack"
MAX_ANSWER_BYTES = 2**31 - 1
NO_AUTO_CREATION_VERSION = 4
HTTP = b"HTTP"
TLS_ALERT, TLS_HANDSHAKE, TLS_MAJOR = 0x15, 0x16, 3
"""What an answer begins with that is TLS, where Kafka's has the high bytes of a length."""
PLAIN_ANSWER_BYTES = 8  # length and correlation id
TOPIC, CONFIGS_AT_ONCE = 2, 500

log = logging.getLogger("mockbroker")


class UpstreamError(Exception):
    """The real cluster cannot be asked; the text says where and why, in one line.

    ``is_final`` where it would be no different later, as with a wrong password; ``is_doubtful`` where that is likely.
    """

    def __init__(self, reason: str, *, is_final: bool = False, is_doubtful: bool = False) -> None:
        super().__init__(reason)
        self.is_final, self.is_doubtful = is_final, is_doubtful


class Login(Protocol):
    """Who logs in: ``exchange`` yields the client's tokens and is sent the broker's."""

    @property
    def mechanism(self) -> str:
        """Kafka's name of the mechanism."""

    def exchange(self) -> Generator[bytes, bytes, None]:
        """One login. Raises ValueError, as it goes on: the broker proves nothing, or asks for what cannot be."""


@dataclass(frozen=True)
class UpstreamSettings:
    """How the real cluster is reached.

    ``servers`` are asked in turn at first. ``tls`` is for all connections, clients' too; ``login`` for the proxy's own.
    """

    servers: Sequence[tuple[str, int]]
    tls: ssl.SSLContext | None = field(default=None, compare=False)
    login: Login | None = None
    client_id: str = "kafka-rack-proxy"
    timeout_s: float = 10.0

    @classmethod
    def of(cls, servers: str, client_properties: Mapping[str, str] | None = None) -> UpstreamSettings:
        """The same by ``host:port,...`` and Kafka's client properties. Raises ValueError.

        >>> UpstreamSettings.of("staging-1:9092", {"request.timeout.ms": "5000"}).timeout_s
        5.0
        """
        addresses = servers_in(servers)
        if not client_properties:
            return cls(addresses)
        from mockbroker.adapters.client_properties.settings import client_settings_of

        found = client_settings_of(client_properties)
        for note in found.notes:
            log.warning("client properties: %s", note)
        client_id = found.client_id if client_properties.get("client.id") else cls.client_id
        return cls(addresses, found.tls, found.login, client_id, found.timeout_s or cls.timeout_s)


class UpstreamLink:
    """The proxy's own connection.

    Args:
        known: gives the addresses of brokers that are known by now, to be tried before those of ``settings``.
    """

    def __init__(self, settings: UpstreamSettings, known: Any = lambda: ()) -> None:
        self.settings, self._known = settings, known
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._name = ""
        self._correlation_id = 0
        self._versions: dict[int, tuple[int, int]] = {}
        self._turn = asyncio.Lock()

    async def ask(self, request: Any, highest: int | None = None) -> Any:
        """The answer to any other request, in the newest version that both sides speak, up to ``highest``.

        It is sent once: where the connection breaks, nobody knows what became of it. Raises UpstreamError.
        """
        async with self._turn:
            try:
                if self._writer is None:
                    await self._open()
                version = self._version_for(type(request))
                if version is None:
                    name = type(request).__name__.removesuffix("Request")
                    raise UpstreamError(f"{self._name}: serves no version of {name} that we know", is_final=True)
                return await self._ask(request, version if highest is None else min(version, highest))
            except UpstreamError:
                await self.close()
                raise

    async def metadata(self) -> tuple[Any, int]:
        """All brokers and topics, and the version of Metadata that says so. Raises UpstreamError."""
        async with self._turn:
            return await self._metadata()

    async def _metadata(self) -> tuple[Any, int]:
        problem: UpstreamError | None = None
        for _ in range(2):  # a connection of before may have ended meanwhile
            is_new = self._writer is None
            try:
                if self._writer is None:
                    await self._open()
                return await self._ask_metadata()
            except UpstreamError as error:
                problem = error
                await self.close()
                if is_new:
                    break
        assert problem is not None
        raise problem

    async def topic_configs(self, names: Sequence[str], config: str) -> dict[str, str | None]:
        """The value of a topic config by topic, of those whose configs the cluster tells. Raises UpstreamError."""
        async with self._turn:
            return await self._topic_configs(names, config)

    async def _topic_configs(self, names: Sequence[str], config: str) -> dict[str, str | None]:
        version = self._version_for(DescribeConfigsRequest)
        if version is None:
            raise UpstreamError(f"{self._name}: does not serve DescribeConfigs, which says what is diskless")
        found: dict[str, str | None] = {}
        for first in range(0, len(names), CONFIGS_AT_ONCE):
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsRequest.Resource(
                        resource_type=TOPIC, resource_name=name, configuration_keys=[config]
                    )
                    for name in names[first : first + CONFIGS_AT_ONCE]
                ]
            )
            answer = await self._ask(request, version)
            for one in answer.results:
                if not one.error_code:
                    found[one.resource_name] = next(
                        (given.value for given in one.configs if given.name == config), None
                    )
        return found

    async def close(self) -> None:
        """End the connection."""
        writer, self._writer, self._reader = self._writer, None, None
        if writer is not None:
            writer.close()
            with suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), 1.0)

    async def _ask_metadata(self) -> tuple[Any, int]:
        version = self._version_for(MetadataRequest)
        if version is None:
            raise UpstreamError(f"{self._name}: serves no version of Metadata that we know", is_final=True)
        request = MetadataRequest(topics=[] if version == 0 else None)
        if version >= NO_AUTO_CREATION_VERSION:
            request.allow_auto_topic_creation = False
        answer = await self._ask(request, version)
        if answer.error_code:
            raise UpstreamError(f"{self._name}: Metadata failed: {error_name(answer.error_code)}")
        return answer, version

    async def _open(self) -> None:
        """Connect to the first that can be reached. Raises UpstreamError, with what was said by each."""
        problems: dict[str, UpstreamError] = {}
        for host, port in dict.fromkeys([*self._known(), *self.settings.servers]):
            try:
                await self._connect(host, port)
            except UpstreamError as error:
                problems[str(error)] = error
                await self.close()
            else:
                return
        raise UpstreamError("; ".join(problems), is_final=any(error.is_final for error in problems.values()))

    async def _connect(self, host: str, port: int) -> None:
        self._name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        tls, timeout_s = self.settings.tls, self.settings.timeout_s
        try:
            opening = asyncio.open_connection(host, port, ssl=tls, server_hostname=host if tls is not None else None)
            self._reader, self._writer = await asyncio.wait_for(opening, timeout_s)
        except TimeoutError:
            raise UpstreamError(f"{self._name}: cannot be reached within {timeout_s:g} s") from None
        except ssl.SSLError as error:
            if isinstance(error, ssl.SSLEOFError):
                await self._raise_if_plaintext(host, port)
            raise self._tls_problem(error) from None
        except (OSError, UnicodeError) as error:
            if tls is not None and isinstance(error, ConnectionError):
                await self._raise_if_plaintext(host, port)
            raise UpstreamError(f"{self._name}: cannot be reached: {reason_of(error)}") from None
        await self._negotiate()
        if self.settings.login is not None:
            await self._log_in(self.settings.login)

    async def _raise_if_plaintext(self, host: str, port: int) -> None:
        """Raises UpstreamError: whoever hung up on a TLS handshake speaks Kafka without TLS."""
        reader, writer = None, None
        try:
            opening = asyncio.open_connection(host, port)
            reader, writer = await asyncio.wait_for(opening, self.settings.timeout_s)
            writer.write(request_frame(ApiVersionsRequest(), 0, correlation_id=1, client_id=self.settings.client_id))
            head = await asyncio.wait_for(reader.readexactly(PLAIN_ANSWER_BYTES), self.settings.timeout_s)
        except (OSError, asyncio.IncompleteReadError):  # TimeoutError is one
            return
        finally:
            if writer is not None:
                writer.close()
        if int.from_bytes(head[4:]) == 1:
            raise UpstreamError(
                f"{self._name}: it does not speak TLS; is it a listener of PLAINTEXT or SASL_PLAINTEXT?", is_final=True
            )

    def _tls_problem(self, error: ssl.SSLError) -> UpstreamError:
        """What TLS has to do with it."""
        from mockbroker.adapters.tls.troubles import tls_trouble

        if isinstance(error, ssl.SSLEOFError):
            return UpstreamError(f"{self._name}: closed the connection at the TLS handshake")
        return UpstreamError(f"{self._name}: {tls_trouble(error)}", is_final=True)

    async def _negotiate(self) -> None:
        """Learn which versions the broker speaks."""
        self._versions = {}
        version: int = ApiVersionsRequest.valid_versions.highest  # type: ignore[attr-defined]
        while True:
            answer = await self._ask(
                ApiVersionsRequest(client_software_name=SOFTWARE, client_software_version="0"), version
            )
            self._versions = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
            if answer.error_code == ErrorCode.NONE:
                break
            if answer.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
                raise UpstreamError(f"{self._name}: ApiVersions failed: {error_name(answer.error_code)}")
            version = min(version - 1, self._versions.get(18, (0, 0))[1])

    async def _log_in(self, login: Login) -> None:
        version, step = self._version_for(SaslHandshakeRequest), self._version_for(SaslAuthenticateRequest)
        if version is None or step is None:
            raise UpstreamError(
                f"{self._name}: does not serve SaslAuthenticate (Kafka 1.0); nobody can log in", is_final=True
            )
        answer = await self._ask(SaslHandshakeRequest(mechanism=login.mechanism), version)
        if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise UpstreamError(
                f"{self._name}: asks nobody to log in: --command-config: expected security.protocol="
                f"{'PLAINTEXT' if self.settings.tls is None else 'SSL'}, got "
                f"{'SASL_PLAINTEXT' if self.settings.tls is None else 'SASL_SSL'}",
                is_final=True,
            )
        if answer.error_code:
            has = f"; it has {', '.join(answer.mechanisms)}" if answer.mechanisms else ""
            raise UpstreamError(
                f"{self._name}: no login as {login}: SaslHandshake failed: {error_name(answer.error_code)}{has}",
                is_final=True,
            )
        exchange = login.exchange()
        try:
            token = next(exchange)
            while True:
                said = await self._ask(SaslAuthenticateRequest(auth_bytes=token), step)
                if said.error_code:
                    message = f": {said.error_message}" if said.error_message else ""
                    raise UpstreamError(
                        f"{self._name}: no login as {login}: {error_name(said.error_code)}{message}", is_final=True
                    )
                token = exchange.send(bytes(said.auth_bytes))
        except StopIteration:
            return
        except ValueError as error:
            raise UpstreamError(f"{self._name}: no login as {login}: {error}", is_final=True) from None

    def _version_for(self, request_class: Any) -> int | None:
        """The newest version of an API that both sides speak."""
        if request_class.api_key not in self._versions:
            return None
        lowest, highest = self._versions[request_class.api_key]
        ours = request_class.valid_versions
        upper, lower = min(highest, ours.highest), max(lowest, ours.lowest)
        return upper if lower <= upper else None

    async def _ask(self, request: Any, version: int) -> Any:
        name = type(request).__name__.removesuffix("Request")
        assert self._writer is not None
        assert self._reader is not None
        self._correlation_id += 1
        frame = request_frame(request, version, correlation_id=self._correlation_id, client_id=self.settings.client_id)
        try:
            self._writer.write(frame)
            head = await asyncio.wait_for(self._reader.readexactly(4), self.settings.timeout_s)
            data = await asyncio.wait_for(self._reader.readexactly(self._size(name, head)), self.settings.timeout_s)
            header, answer = read_response(data, type(request).api_key, version)
        except TimeoutError:
            raise UpstreamError(f"{self._name}: no answer to {name} within {self.settings.timeout_s:g} s") from None
        except ssl.SSLError as error:
            if isinstance(error, ssl.SSLEOFError):
                raise self._hung_up(name, "closed") from None
            raise self._tls_problem(error) from None
        except asyncio.IncompleteReadError:
            raise self._hung_up(name, "closed") from None
        except OSError as error:
            raise self._hung_up(name, reason_of(error)) from None
        except ProtocolError as error:
            raise UpstreamError(f"{self._name}: answered {name} with what cannot be read: {error}") from None
        if header.correlation_id != self._correlation_id:
            raise UpstreamError(f"{self._name}: answered {header.correlation_id}, but {self._correlation_id} was due")
        return answer

    def _hung_up(self, name: str, reason: str) -> UpstreamError:
        """The connection ended where an answer should have come."""
        if self.settings.login is None and self._versions:  # it has told these, as it does before a login
            is_last = name == "Metadata"
            return UpstreamError(
                f"{self._name}: the connection ended at {name}: {reason}; does it ask for a login, by SASL? "
                "--command-config says who the proxy is",
                is_doubtful=is_last,
            )
        return UpstreamError(f"{self._name}: the connection ended at {name}: {reason}")

    def _size(self, name: str, head: bytes) -> int:
        """The length of an answer. Raises UpstreamError, which says what is spoken instead of Kafka."""
        if head == HTTP:
            raise UpstreamError(f"{self._name}: speaks HTTP, not Kafka", is_final=True)
        if head[0] in (TLS_ALERT, TLS_HANDSHAKE) and head[1] == TLS_MAJOR:
            raise UpstreamError(
                f"{self._name}: speaks TLS; give the address of a listener for plaintext, or set security.protocol to "
                "SSL or SASL_SSL in the file of --command-config",
                is_final=True,
            )
        size = int.from_bytes(head, signed=True)
        if not 4 <= size <= MAX_ANSWER_BYTES:
            raise UpstreamError(f"{self._name}: answered {name} with a length of {size} bytes; it does not speak Kafka")
        return size


def reason_of(error: BaseException) -> str:
    """Why, in the system's own words and without its number; of TLS, which setting is about it."""
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        from mockbroker.adapters.tls.troubles import tls_trouble

        return tls_trouble(error)
    number = getattr(error, "errno", None)
    if isinstance(error, ConnectionError) and number:  # asyncio's own words are others
        return os.strerror(number)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
