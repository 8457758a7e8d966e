"""Quotas of users, clients and addresses: set, removed and described (KIP-546, KIP-599, KIP-612).

Source: ClientQuotaControlManager, ClientQuotasImage and QuotaConfig, Apache Kafka 4.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.errors import ApiError, invalid_request
from protocol.embedded.metadata_settings import ClientQuotaRecord
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.image import Image, QuotaEntity

USER, CLIENT_ID, IP = "user", "client-id", "ip"
EXACT, DEFAULT, SPECIFIED = 0, 1, 2  # match types of a filter's component
MAX_INT, MAX_LONG = 2**31 - 1, 2**63 - 1
MIN_FRACTION = 1e-6
SHORT_IPV4 = re.compile(r"(?=.{1,15}$)[0-9]+(?:\.[0-9]+){0,3}")
"""As in Java, the last number fills the omitted bytes."""

USER_AND_CLIENT_KEYS: dict[str, int | None] = {
    "consumer_byte_rate": MAX_LONG,
    "controller_mutation_rate": None,
    "producer_byte_rate": MAX_LONG,
    "request_percentage": None,
}
"""The largest integer value of a quota, by key; None for fractions."""
IP_KEYS: dict[str, int | None] = {"connection_creation_rate": MAX_INT}

Entity = dict[str, str | None]  # name by type; None for the default entity


class Component(NamedTuple):
    """A filter for entities with a part of this type: of one name (0), the default (1), or any name (2)."""

    entity_type: str
    match_type: int
    name: str | None


def key_of(entity: Mapping[str, str | None]) -> QuotaEntity:
    """The image's key of an entity."""
    return tuple(sorted(entity.items(), key=str))


def describe_quotas(
    image: Image, components: Iterable[Component], *, strict: bool
) -> list[tuple[QuotaEntity, dict[str, float]]]:
    """The quotas of the entities with all requested parts, and for ``strict`` no other part, in order.

    Raises ApiError: INVALID_REQUEST, UNSUPPORTED_VERSION for an unknown entity type.
    """
    wanted: dict[str, Component] = {}
    for component in components:
        check_component(component, wanted)
        wanted[component.entity_type] = component
    if IP in wanted and len(wanted) > 1:
        raise invalid_request(f"expected {IP} alone, got {', '.join(sorted(wanted))}")
    found = []
    for entity, limits in image.client_quotas.items():
        parts = dict(entity)
        if strict and len(parts) != len(wanted):
            continue
        if all(name in parts and is_meant(one, parts[name]) for name, one in wanted.items()) and (wanted or not strict):
            found.append((entity, dict(sorted(limits.items()))))
    return sorted(found, key=str)


def check_component(component: Component, others: Mapping[str, Component]) -> None:
    """Raises ApiError: INVALID_REQUEST, UNSUPPORTED_VERSION."""
    entity_type, match_type, name = component
    if not entity_type:
        raise invalid_request("expected a type of entity, got ''")
    if entity_type in others:
        raise invalid_request(f"expected each type of entity once, got {entity_type} again")
    if entity_type not in (USER, CLIENT_ID, IP):
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"expected {USER}, {CLIENT_ID} or {IP} as a type of entity, got {entity_type}",
        )
    if match_type not in (EXACT, DEFAULT, SPECIFIED):
        raise invalid_request(f"expected match type 0, 1 or 2, got {match_type}")
    if (name is None) is (match_type == EXACT):
        expected = "a name" if match_type == EXACT else "no name"
        raise invalid_request(f"expected {expected} for match type {match_type}, got {name!r}")


def is_meant(component: Component, name: str | None) -> bool:
    """True if the component matches a name. "Any name" includes the default entity, as in Kafka."""
    return component.match_type == SPECIFIED or component.name == name


def quota_records(image: Image, entity: Entity, limits: Iterable[tuple[str, float | None]]) -> list[ClientQuotaRecord]:
    """The records that set the limits of an entity which differ from the current ones; None removes a limit.

    Raises ApiError: INVALID_REQUEST.
    """
    keys, key = keys_for(entity), key_of(entity)
    present = image.client_quotas.get(key, {})
    parts = [ClientQuotaRecord.Entity(entity_type=kind, entity_name=name) for kind, name in key]
    records: list[ClientQuotaRecord] = []
    for name, limit in limits:
        if limit is not None:
            check_limit(keys, name, limit)
        if present.get(name) != limit:
            records.append(ClientQuotaRecord(entity=parts, key=name, value=limit or 0.0, remove=limit is None))
    return records


def keys_for(entity: Entity) -> Mapping[str, int | None]:
    """The quota keys of an entity. Raises ApiError: INVALID_REQUEST for an invalid entity."""
    if not entity:
        raise invalid_request("expected an entity with parts, got none")
    for kind, name in entity.items():
        if kind not in (USER, CLIENT_ID, IP):
            raise invalid_request(f"expected {USER}, {CLIENT_ID} or {IP} as a type, got {kind!r}")
        if name == "":
            raise invalid_request(f"expected a name for {kind}, or null for the default, got ''")
    if IP not in entity:
        return USER_AND_CLIENT_KEYS
    if len(entity) > 1:
        raise invalid_request(f"expected {IP} alone, got {', '.join(sorted(entity))}")
    address = entity[IP]
    if address is not None and not is_address(address):
        raise invalid_request(f"expected an address as 10.0.0.1, got {address!r}")
    return IP_KEYS


def is_address(text: str) -> bool:
    """True if a text is an address as Java reads it. localhost is the only valid host name: none are resolved.

    >>> [is_address(one) for one in ("10.1.2.3", "10.258", "10.1.2.256", "::1")]
    [True, True, False, True]
    """
    if text == "localhost":
        return True
    if SHORT_IPV4.fullmatch(text):
        *first, last = map(int, text.split("."))
        return all(one < 256 for one in first) and last < 256 ** (4 - len(first))
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def check_limit(keys: Mapping[str, int | None], key: str, limit: float) -> None:
    """Raises ApiError: INVALID_REQUEST for an unknown key, or a value out of range."""
    largest = keys.get(key)
    if key not in keys:
        raise invalid_request(f"expected one of {', '.join(sorted(keys))}, got {key}")
    if not 0 < limit < math.inf:
        raise invalid_request(f"expected a finite number above 0 for {key}, got {limit}")
    if largest is not None and (limit > largest or limit % 1 > MIN_FRACTION):
        raise invalid_request(f"expected a whole number of at most {largest} for {key}, got {limit}")
