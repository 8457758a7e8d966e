"""The security settings of a listener, under Kafka's names.

A setting of one listener is ``listener.name.LISTENER.SETTING``, of one of its mechanisms
``listener.name.LISTENER.MECHANISM.SETTING``, both names in lower case; otherwise the plain name applies.
Source: KIP-103, KIP-226, KIP-368; AbstractConfig.valuesWithPrefixOverride, ChannelBuilders.channelBuilderConfigs and
SaslChannelBuilder, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_rack.java import hash_order, string_hash
from mockbroker.parts import load, merged
from mockbroker.state.security.jaas import JaasError, parse_jaas
from mockbroker.state.security.mechanisms import PLAIN, SCRAM_MECHANISMS

if TYPE_CHECKING:
    from mockbroker.state.security.mechanisms import Exchange
    from mockbroker.state.settings import KafkaSettings
    from mockbroker.state.timers import WallClock

OF_PASSWORDS = (PLAIN, *SCRAM_MECHANISMS)
MECHANISMS = (*OF_PASSWORDS, *merged("sasl_mechanisms"))
PREFIX = "listener.name."
JAAS_SETTING = "sasl.jaas.config"
USER_OPTION = "user_"
DELAY_SETTING = "connection.failed.authentication.delay.ms"


@dataclass(slots=True, frozen=True)
class ListenerSecurity:
    """The settings of a SASL listener.

    ``mechanisms`` are in the order in which Kafka lists them to clients; ``max_reauth_ms`` has the maximum session
    lifetime by mechanism, 0 for unlimited. ``passwords`` are those for PLAIN by user, ``makers`` what begins
    an exchange of a mechanism of an optional part.
    """

    mechanisms: tuple[str, ...]
    max_receive_bytes: int
    failure_delay_ms: int
    max_reauth_ms: Mapping[str, int]
    passwords: Mapping[str, str] = field(repr=False)
    makers: Mapping[str, Callable[[WallClock], Exchange]] = field(default_factory=dict, repr=False)


class ListenerSettings:
    """The settings of one listener.

    Args:
        settings: all settings, by Kafka's names.
        listener: the listener's name.
    """

    def __init__(self, settings: Mapping[str, Any], listener: str) -> None:
        self._settings, self._prefix = settings, f"{PREFIX}{listener.lower()}."

    def own_name(self, setting: str, mechanism: str) -> str:
        """A setting's name for one mechanism of the listener."""
        return f"{self._prefix}{mechanism.lower()}.{setting}"

    def name_of(self, setting: str, mechanism: str | None = None) -> str:
        """The most specific name under which a setting is set; otherwise its plain name."""
        particular = [self._prefix + setting]
        if mechanism is not None:
            particular.insert(0, self.own_name(setting, mechanism))
        return next((name for name in particular if self.given(name) is not None), setting)

    def value(self, setting: str, mechanism: str | None = None) -> Any:
        """A setting's value, parsed to Kafka's type. Raises ValueError."""
        from mockbroker.state.configs.definitions import definition

        name = self.name_of(setting, mechanism)
        value = self._settings[name]
        try:
            return definition("broker", setting).parse(value)
        except ValueError as error:
            raise ValueError(str(error).replace(setting, name)) from None

    def given(self, name: str) -> Any:
        """The value that is set under this exact name; None if not set."""
        return self._settings.get(name)


def security_of(settings: KafkaSettings, listener: str, users: Mapping[str, str]) -> ListenerSecurity:
    """The security settings of a SASL listener.

    Args:
        users: passwords by user, besides those in the JAAS configuration.

    Raises: ValueError: an unsupported mechanism, PLAIN without passwords, OAUTHBEARER without a login module, or an
        invalid value.
    """
    own = ListenerSettings(settings, listener)
    mechanisms = own.value("sasl.enabled.mechanisms")
    if users and own.name_of("sasl.enabled.mechanisms") not in settings.given_names:
        mechanisms = OF_PASSWORDS
    strange = [one for one in mechanisms if one not in MECHANISMS]
    if strange or not mechanisms:
        given = ", ".join(strange) or "none"
        raise ValueError(
            f"{own.name_of('sasl.enabled.mechanisms')}: expected some of {', '.join(MECHANISMS)}, got {given}"
            f" for listener {listener}"
        )
    passwords = dict(users)
    if PLAIN in mechanisms:
        passwords |= passwords_of(settings, own.name_of(JAAS_SETTING, PLAIN))
        if not passwords:
            raise ValueError(
                f"{PREFIX}{listener.lower()}.plain.sasl.jaas.config: expected a PlainLoginModule with the passwords of "
                f"users for mechanism PLAIN, got none"
            )
    return ListenerSecurity(
        tuple(hash_order(mechanisms, string_hash)),
        own.value("sasl.server.max.receive.size") or 524288,
        own.value(DELAY_SETTING),
        {one: own.value("connections.max.reauth.ms", one) for one in mechanisms},
        passwords,
        {name: load(path)(settings, own) for name, path in merged("sasl_mechanisms").items() if name in mechanisms},
    )


def passwords_of(settings: Mapping[str, Any], name: str) -> dict[str, str]:
    """The users of a PlainLoginModule; none if the setting's name has no listener, as in Kafka."""
    if not name.startswith(PREFIX):
        return {}
    return {
        option.removeprefix(USER_OPTION): password
        for option, password in jaas_options(settings, name).items()
        if option.startswith(USER_OPTION)
    }


def jaas_options(settings: Mapping[str, Any], name: str) -> dict[str, str]:
    """The options of a login module. Raises ValueError."""
    try:
        return parse_jaas(settings[name]).options
    except JaasError as error:
        raise ValueError(f"{name}: {error}") from None
