"""The connection settings of a proxy's real cluster, from options and Kafka's client properties."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from kafka_rack.cli import UsageError
from kafka_rack.cli.options.command_config import client_settings_in
from mockbroker.adapters.client_properties.login import Exchange, SaslLogin
from mockbroker.adapters.client_properties.settings import ClientSettings

if TYPE_CHECKING:
    from mockbroker.proxy.adapters.upstream import UpstreamSettings


def upstream_settings(
    servers: Sequence[tuple[str, int]], path: str | None, settings: ClientSettings
) -> UpstreamSettings:
    """The connection settings of the brokers.

    Args:
        path: the file of ``settings``, from which each login is read again.
    """
    from mockbroker.proxy.adapters.upstream import UpstreamSettings

    login = login_of(path, settings)
    return UpstreamSettings(login, settings.tls, settings.client_id, settings.timeout_s, servers=servers)


class CurrentLogin:
    """The login that a file contains now: a token in it, or made by it, expires before the proxy ends."""

    def __init__(self, path: str, login: SaslLogin) -> None:
        self._path, self._login = path, login

    @property
    def mechanism(self) -> str:
        """Kafka's name of the mechanism."""
        return self._login.mechanism

    def exchange(self) -> Exchange:
        """The tokens of one login. Raises ValueError, as it goes on: it cannot be gone on with."""
        with suppress(UsageError):  # of a file that is half written the one before counts
            self._login = client_settings_in(self._path).login or self._login
        return self._login.exchange()

    def __str__(self) -> str:
        return str(self._login)


def login_of(path: str | None, settings: ClientSettings) -> CurrentLogin | None:
    """The login of the proxy at the cluster, if the cluster requires one."""
    return None if path is None or settings.login is None else CurrentLogin(path, settings.login)
