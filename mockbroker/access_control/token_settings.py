"""The settings of OAUTHBEARER, under Kafka's names, and the validators that they configure.

Source: KIP-768, KIP-1258; SaslChannelBuilder.createServerCallbackHandlers, OAuthBearerValidatorCallbackHandler,
DefaultJwtValidator, BrokerJwtValidator and ConfigurationUtils, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kafka_rack.extras import pip_install
from mockbroker.access_control.oauthbearer import Validate, oauthbearer
from mockbroker.access_control.signed_tokens import Expectations, SignedValidator
from mockbroker.access_control.unsecured_tokens import UnsecuredValidator
from mockbroker.state.security.listeners import JAAS_SETTING, jaas_options
from mockbroker.state.security.listeners import PREFIX as OF_LISTENERS
from mockbroker.state.security.mechanisms import OAUTHBEARER

if TYPE_CHECKING:
    from mockbroker.state.security.listeners import ListenerSettings
    from mockbroker.state.security.mechanisms import Exchange
    from mockbroker.state.timers import WallClock

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
UNSECURED_HANDLER = f"{PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
SIGNED_HANDLER = f"{PACKAGE}.OAuthBearerValidatorCallbackHandler"
VALIDATORS = (f"{PACKAGE}.DefaultJwtValidator", f"{PACKAGE}.BrokerJwtValidator")
HANDLER_SETTING = "sasl.server.callback.handler.class"
PREFIX = "sasl.oauthbearer."


def maker_of(settings: Mapping[str, Any], own: ListenerSettings) -> Callable[[WallClock], Exchange]:
    """Returns a function that begins an exchange on a listener.

    Raises: ValueError: no login module, or a setting that is missing, invalid or not supported.
    """
    name = own.name_of(JAAS_SETTING, OAUTHBEARER)
    if not name.startswith(OF_LISTENERS):
        raise ValueError(
            f"{own.own_name(JAAS_SETTING, OAUTHBEARER)}: expected an OAuthBearerLoginModule for mechanism "
            f"{OAUTHBEARER}, got none"
        )
    options = jaas_options(settings, name)
    handler = own.own_name(HANDLER_SETTING, OAUTHBEARER)
    given = own.given(handler) or UNSECURED_HANDLER
    validate: Validate
    if given == SIGNED_HANDLER:
        validate = signed_validator(own).validate
    elif given == UNSECURED_HANDLER:
        try:
            validate = UnsecuredValidator(options).validate
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    else:
        raise ValueError(f"{handler}: expected {UNSECURED_HANDLER} or {SIGNED_HANDLER}, got {given}")
    return lambda clock: oauthbearer(validate, clock)


def signed_validator(own: ListenerSettings) -> SignedValidator:
    """The validator with a file of keys. Raises ValueError, also if PyJWT, of the extra ``oauth``, is missing."""

    def value(name: str) -> Any:
        return own.value(PREFIX + name, OAUTHBEARER)

    def name(setting: str) -> str:
        return own.name_of(PREFIX + setting, OAUTHBEARER)

    def text(setting: str) -> str | None:
        return (value(setting) or "").strip() or None

    if text("jwt.validator.class") not in VALIDATORS:
        raise ValueError(f"{name('jwt.validator.class')}: expected one of {', '.join(VALIDATORS)}")
    audiences = frozenset(value("expected.audience"))
    issuer = text("expected.issuer")
    for what, is_set, opt_out in (
        ("expected.audience", audiences, "allow.unverified.audience"),
        ("expected.issuer", issuer, "allow.unverified.issuer"),
    ):
        if not is_set and not value(opt_out):
            raise ValueError(f"{name(what)}: expected a value, or {PREFIX}{opt_out}=true, got neither")
    subject, scope = text("sub.claim.name"), text("scope.claim.name")
    if subject is None or scope is None:
        raise ValueError(
            f"{name('sub.claim.name' if subject is None else 'scope.claim.name')}: expected a claim's name"
        )
    if find_spec("jwt") is None:
        raise ValueError(
            f"{name('jwks.endpoint.url')}: signed tokens need PyJWT, of the extra oauth, which is not installed: "
            f"{pip_install('oauth')}"
        )
    url = urlsplit(text("jwks.endpoint.url") or "")
    if url.scheme != "file":
        raise ValueError(
            f"{name('jwks.endpoint.url')}: expected file:/PATH, for keys are not fetched, got {url.geturl() or 'none'}"
        )
    try:
        return SignedValidator(url.path, Expectations(audiences, issuer, subject, scope, value("clock.skew.seconds")))
    except (OSError, ValueError) as error:
        raise ValueError(f"{name('jwks.endpoint.url')}: {error}") from None
