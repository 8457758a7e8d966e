"""The proxy's own requests to the real cluster: for its brokers and topics.

They use one connection, to any broker that can be reached; after a failure a new one is made. Clients have their own
connections.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, Protocol, TypeVar

from mockbroker.adapters.client_properties.bootstrap import servers_in
from mockbroker.adapters.client_properties.settings import (
    PLAINTEXT,
    SASL_PLAINTEXT,
    SASL_SSL,
    SSL,
    ClientSettings,
)
from mockbroker.adapters.real_cluster.connection import BrokerConnection, HungUp, RealClusterError, Unreachable
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import error_name

NO_AUTO_CREATION_VERSION = 4
TOPIC, CONFIGS_AT_ONCE = 2, 500
Given = TypeVar("Given")

log = logging.getLogger("mockbroker")


class UpstreamError(Exception):
    """A request to the real cluster failed; the text says where and why, in one line.

    ``is_final`` if a retry would not help, as with a wrong password; ``is_doubtful`` if that is only likely.
    """

    def __init__(self, reason: str, *, is_final: bool = False, is_doubtful: bool = False) -> None:
        super().__init__(reason)
        self.is_final, self.is_doubtful = is_final, is_doubtful


class Login(Protocol):
    """A login: ``exchange`` yields the client's tokens and receives the broker's."""

    @property
    def mechanism(self) -> str:
        """Kafka's name of the mechanism."""

    def exchange(self) -> Generator[bytes, bytes, None]:
        """One login. Raises ValueError during the exchange: the broker's proof is wrong, or its request is invalid."""


@dataclass(frozen=True)
class UpstreamSettings:
    """The connection settings of the real cluster.

    ``servers`` are tried in turn at first. ``tls`` is for all connections, clients' too; ``login`` for the proxy's own.
    """

    servers: Sequence[tuple[str, int]]
    tls: ssl.SSLContext | None = field(default=None, compare=False)
    login: Login | None = None
    client_id: str = "kafka-rack-proxy"
    timeout_s: float = 10.0

    @property
    def of_client(self) -> ClientSettings:
        """The settings of one connection."""
        protocols = (PLAINTEXT, SSL) if self.login is None else (SASL_PLAINTEXT, SASL_SSL)
        login: Any = self.login
        return ClientSettings(protocols[self.tls is not None], login, self.tls, self.client_id)

    @classmethod
    def of(cls, servers: str, client_properties: Mapping[str, str] | None = None) -> UpstreamSettings:
        """The settings for ``host:port,...`` and Kafka's client properties. Raises ValueError.

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
    """The proxy's own connection, whose blocking calls run in threads.

    Args:
        known: returns the addresses of known brokers, which are tried before those of ``settings``.
    """

    def __init__(self, settings: UpstreamSettings, known: Any = lambda: ()) -> None:
        self.settings, self._known = settings, known
        self._connection: BrokerConnection | None = None
        self._turn = asyncio.Lock()

    async def ask(self, request: Any, highest: int | None = None) -> Any:
        """The answer to any other request, in the newest version that both sides speak, up to ``highest``.

        It is sent once: if the connection breaks, its result is unknown. Raises UpstreamError.
        """

        def asked(connection: BrokerConnection) -> Any:
            return connection.ask(request, version_of(connection, type(request), highest))

        async with self._turn:
            return await self._try(asked)

    async def metadata(self) -> tuple[Any, int]:
        """A Metadata answer with all brokers and topics, and its version. Raises UpstreamError."""
        async with self._turn:
            if self._connection is not None:
                with suppress(UpstreamError):  # the old connection may have ended meanwhile
                    return await self._try(metadata_of)
            return await self._try(metadata_of)

    async def topic_configs(self, names: Sequence[str], config: str) -> dict[str, str | None]:
        """The value of a topic config by topic, for topics whose configs the cluster returns. Raises UpstreamError."""
        async with self._turn:
            return await self._try(lambda connection: configs_of(connection, names, config))

    async def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _try(self, work: Callable[[BrokerConnection], Given]) -> Given:
        try:
            return await in_thread(lambda: work(self._connection or self._opened()))
        except RealClusterError as error:
            await self.close()
            is_final, is_doubtful = not isinstance(error, Unreachable), isinstance(error, HungUp)
            raise UpstreamError(str(error), is_final=is_final, is_doubtful=is_doubtful) from None
        except UpstreamError:
            await self.close()
            raise

    def _opened(self) -> BrokerConnection:
        """A connection to the first broker that can be reached. Raises UpstreamError, with the error of each."""
        problems: dict[str, RealClusterError] = {}
        for address in dict.fromkeys([*self._known(), *self.settings.servers]):
            connection = BrokerConnection(tuple(address), self.settings.timeout_s, self.settings.of_client)
            self._connection = connection
            try:
                connection.open()
            except RealClusterError as error:
                problems[str(error)] = error
            else:
                return connection
        raise UpstreamError(
            "; ".join(problems),
            is_final=not all(isinstance(error, Unreachable) for error in problems.values()),
            is_doubtful=any(isinstance(error, HungUp) for error in problems.values()),
        )


async def in_thread(work: Callable[[], Given]) -> Given:
    """Run a blocking call in its own thread; a cancellation does not wait for the thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Given] = loop.create_future()

    def finish(error: BaseException | None, given: Any) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(given)
        else:
            done.set_exception(error)

    def run() -> None:
        error, given = None, None
        try:
            given = work()
        except BaseException as raised:  # noqa: BLE001 - raised again where it is awaited
            error = raised
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(finish, error, given)

    Thread(target=run, name="kafka-rack upstream", daemon=True).start()
    return await done


def version_of(connection: BrokerConnection, request_class: Any, highest: int | None = None) -> int:
    """The newest version of an API that both sides speak. Raises RealClusterError."""
    version = connection.version_for(request_class, most=highest)
    if version is None:
        name = request_class.__name__.removesuffix("Request")
        raise RealClusterError(f"{connection.name}: serves no version of {name} that we know")
    return version


def metadata_of(connection: BrokerConnection) -> tuple[Any, int]:
    version = version_of(connection, MetadataRequest)
    request = MetadataRequest(topics=[] if version == 0 else None)
    if version >= NO_AUTO_CREATION_VERSION:
        request.allow_auto_topic_creation = False
    answer = connection.ask(request, version)
    if answer.error_code:
        raise UpstreamError(f"{connection.name}: Metadata failed: {error_name(answer.error_code)}")
    return answer, version


def configs_of(connection: BrokerConnection, names: Sequence[str], config: str) -> dict[str, str | None]:
    version = version_of(connection, DescribeConfigsRequest)
    found: dict[str, str | None] = {}
    for first in range(0, len(names), CONFIGS_AT_ONCE):
        resources = [
            DescribeConfigsRequest.Resource(resource_type=TOPIC, resource_name=name, configuration_keys=[config])
            for name in names[first : first + CONFIGS_AT_ONCE]
        ]
        for one in connection.ask(DescribeConfigsRequest(resources=resources), version).results:
            if not one.error_code:
                found[one.resource_name] = next((given.value for given in one.configs if given.name == config), None)
    return found


def reason_of(error: BaseException) -> str:
    """The system's message of an error, without its number; for TLS, the setting to change."""
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        from mockbroker.adapters.tls.troubles import tls_trouble

        return tls_trouble(error)
    number = getattr(error, "errno", None)
    if isinstance(error, ConnectionError) and number:  # asyncio's own message differs
        return os.strerror(number)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
