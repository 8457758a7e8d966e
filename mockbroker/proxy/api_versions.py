"""What clients are told of an upstream's versions: no more than what the proxy, which reads them, knows.

A version counts as known where both its request and its response are declared, be it stable or not: which of the
unstable ones are served is for the upstream to say. Features, the rest of an answer, and the order of the APIs stay.
Ids of cluster and node are in the request of version 5 alone, and are the upstream's own behind the proxy.

A request of a version of ApiVersions that the proxy itself does not know cannot go upstream, which might know it and
answer in it; that it is refused in version 0 form is as in ``mockbroker.handlers.api_versions.refuse_version``.

Source: KIP-35, KIP-511; NodeApiVersions and ApiVersionsResponse, Apache Kafka 4.4.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from protocol.registry import APIS, message_class
from protocol.versions import NEVER, VersionRange


def clamp(response: Any) -> bool:
    """Limit an ApiVersions answer of any version, refusals too, in place; APIs of which nothing is left go.

    Returns: whether anything in it is another now.

    >>> from protocol.apis.api_versions import ApiVersionsResponse as Response
    >>> told = [(3, 5, 99), (7777, 0, 1), (10, 90, 99)]
    >>> keys = [Response.ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in told]
    >>> answer = Response(api_keys=keys)
    >>> clamp(answer), [(one.api_key, one.min_version, one.max_version) for one in answer.api_keys]
    (True, [(3, 5, 14)])
    """
    kept = []
    changed = False
    for one in response.api_keys:
        told = VersionRange(one.min_version, one.max_version)
        both = told.within(known_versions(one.api_key))
        if not both:
            changed = True
            continue
        if (both.lowest, both.highest) != (told.lowest, told.highest):
            one.min_version, one.max_version = both.lowest, both.highest
            changed = True
        kept.append(one)
    response.api_keys = kept
    return changed


@cache
def known_versions(api_key: int) -> VersionRange:
    """The versions of an API that can be read both ways; none of one that is not known."""
    if api_key not in APIS:
        return NEVER
    request, response = message_class(api_key, "request"), message_class(api_key, "response")
    both: VersionRange = request.valid_versions.within(response.valid_versions)
    return both
