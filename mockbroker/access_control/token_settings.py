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
PREFIX, KEYS = "sasl.oauthbearer.", "jwks.endpoint.url"


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

    def value(setting: str) -> Any:
        return own.value(PREFIX + setting, OAUTHBEARER)

    def text(setting: str) -> str:
        return (value(setting) or "").strip()

    def wrong(setting: str, problem: object) -> ValueError:
        return ValueError(f"{own.name_of(PREFIX + setting, OAUTHBEARER)}: {problem}")

    if text("jwt.validator.class") not in VALIDATORS:
        raise wrong("jwt.validator.class", f"expected one of {', '.join(VALIDATORS)}")
    audiences, issuer = frozenset(value("expected.audience")), text("expected.issuer") or None
    for what, is_set in (("audience", audiences), ("issuer", issuer)):
        opt_out = f"allow.unverified.{what}"
        if not is_set and not value(opt_out):
            raise wrong(f"expected.{what}", f"expected a value, or {PREFIX}{opt_out}=true, got neither")
    subject, scope = text("sub.claim.name"), text("scope.claim.name")
    if not subject or not scope:
        raise wrong("scope.claim.name" if subject else "sub.claim.name", "expected a claim's name")
    if find_spec("jwt") is None:
        missing = "signed tokens need PyJWT, of the extra oauth, which is not installed"
        raise wrong(KEYS, f"{missing}: {pip_install('oauth')}")
    url = urlsplit(text(KEYS))
    if url.scheme != "file":
        raise wrong(KEYS, f"expected file:/PATH, for keys are not fetched, got {url.geturl() or 'none'}")
    try:
        return SignedValidator(url.path, Expectations(audiences, issuer, subject, scope, value("clock.skew.seconds")))
    except (OSError, ValueError) as error:
        raise wrong(KEYS, error) from None
