"""The configs that have an effect on access control and OAUTHBEARER."""

from __future__ import annotations

EFFECTIVE: dict[str, tuple[str, ...]] = {
    "broker": ("authorizer.class.name",),
    "listener": (
        "sasl.oauthbearer.allow.unverified.audience",
        "sasl.oauthbearer.allow.unverified.issuer",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
    ),
}
"""Names of Kafka's configs, by kind."""
