"""Limits an upstream's ApiVersions answer to versions that the proxy, which decodes them, knows.

A version is known if both its request and its response are declared, stable or not: the upstream decides which unstable
ones it serves. Features, the rest of an answer, and the order of the APIs stay. Only the request of version 5 has ids
of cluster and node, which are the upstream's own, also at the proxy.

A request in a version of ApiVersions that the proxy does not know cannot go upstream, which might know and answer it;
the proxy refuses it in version 0 form, as ``mockbroker.handlers.api_versions.refuse_version`` does.

Source: KIP-35, KIP-511; NodeApiVersions and ApiVersionsResponse, Apache Kafka 4.4.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from protocol.registry import APIS, message_class
from protocol.versions import NEVER, VersionRange


def clamp(response: Any) -> None:
    """Limit an ApiVersions answer of any version, also one with an error, in place; removes APIs that have none left.

    >>> from protocol.apis.api_versions import ApiVersionsResponse as Response
    >>> told = [(3, 5, 99), (7777, 0, 1), (10, 90, 99)]
    >>> keys = [Response.ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in told]
    >>> answer = Response(api_keys=keys)
    >>> clamp(answer)
    >>> [(one.api_key, one.min_version, one.max_version) for one in answer.api_keys]
    [(3, 5, 14)]
    """
    kept = []
    for one in response.api_keys:
        both = VersionRange(one.min_version, one.max_version).within(known_versions(one.api_key))
        if both:
            one.min_version, one.max_version = both.lowest, both.highest
            kept.append(one)
    response.api_keys = kept


@cache
def known_versions(api_key: int) -> VersionRange:
    """The versions of an API whose request and response can be decoded; none for an unknown API."""
    if api_key not in APIS:
        return NEVER
    request, response = message_class(api_key, "request"), message_class(api_key, "response")
    both: VersionRange = request.valid_versions.within(response.valid_versions)
    return both
