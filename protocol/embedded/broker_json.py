"""Broker registrations as brokers wrote them to Zookeeper, under ``/brokers/ids``: JSON, versions 1 to 5.

Version 2 brought endpoints, 3 the rack (KIP-36), 4 names of listeners (KIP-103), 5 features (KIP-584). Kafka 0.9.0.0
refuses all above 2; every later reader takes a version that it does not know for the highest that it knows, and
ignores fields that are new to it (KAFKA-3100).

>>> registration = BrokerRegistration((Endpoint("PLAINTEXT", "PLAINTEXT", "host1", 9092),), rack="dc1", timestamp_ms=5)
>>> write_registration(registration, 3).decode()
'{"version":3,"host":"host1","port":9092,"jmx_port":-1,"timestamp":"5","endpoints":["PLAINTEXT://host1:9092"],"rack":"dc1"}'
>>> read_registration(write_registration(registration, 2)).rack is None
True

Sources: ``ZkUtils.registerBrokerInZk`` and ``Broker.createBroker``, Kafka 0.9 and 0.10; ``BrokerIdZNode`` and
``EndPoint``, Apache Kafka 3.9.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..errors import DecodeError, EncodeError, UnsupportedVersionError

VERSIONS = range(1, 6)
STRICT_VERSIONS = range(1, 3)
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
NAME = "broker registration"

CONNECTION = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,10})")
JSON_BYTE = re.compile(r"\(byte (\d{1,18})\)")
JSON_PATH = re.compile(r" - at `\$\.?(.*)`")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a listener; no ``host`` means any interface."""

    listener: str
    security_protocol: str
    host: str | None
    port: int


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """The registration that a broker writes; its id is in the path, not here.

    ``features`` gives the lowest and highest version of each; ``timestamp_ms`` and ``jmx_port`` are -1 where not known.
    """

    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    jmx_port: int = -1
    timestamp_ms: int = -1
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class FeatureJson(msgspec.Struct):
    """One feature in the JSON."""

    min_version: int
    max_version: int


class RegistrationJson(msgspec.Struct):
    """The JSON of every version at once; what is null here may be missing there."""

    version: int
    host: str | None = None
    port: int | None = None
    endpoints: list[str] | None = None
    listener_security_protocol_map: dict[str, str] | None = None
    rack: str | None = None
    jmx_port: int = -1
    timestamp: str | int | None = None
    features: dict[str, FeatureJson] | None = None


def write_registration(registration: BrokerRegistration, version: int) -> bytes:
    """A registration as Kafka writes it in that version.

    What the version has no place for is left out: the rack before 3, features before 5, in 1 all but the first
    PLAINTEXT endpoint. That one also stands apart for readers of version 1, as null and -1 where there is none.

    Raises: UnsupportedVersionError. EncodeError: a reader of the version could not make the endpoints out.
    """
    if version not in VERSIONS:
        raise UnsupportedVersionError(f"{NAME} has versions 1-5, not {version}")
    check_endpoints(registration.endpoints, version)
    plain = next((one for one in registration.endpoints if one.security_protocol == "PLAINTEXT"), None)
    written: dict[str, Any] = {
        "version": version,
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "jmx_port": registration.jmx_port,
        "timestamp": str(registration.timestamp_ms),
    }
    if version >= 2:
        written["endpoints"] = [connection_string(one) for one in registration.endpoints]
    if version >= 4:
        written["listener_security_protocol_map"] = {
            one.listener: one.security_protocol for one in registration.endpoints
        }
    if version >= 3 and registration.rack is not None:
        written["rack"] = registration.rack
    if version >= 5:
        written["features"] = {
            name: {"min_version": lowest, "max_version": highest}
            for name, (lowest, highest) in sorted(registration.features.items())
        }
    try:
        return msgspec.json.encode(written)
    except (TypeError, UnicodeEncodeError) as error:
        raise EncodeError(str(error), NAME, version) from None


def read_registration(data: bytes, *, strict: bool = False) -> BrokerRegistration:
    """Read a registration.

    The rack is taken from any version that gives one, as Kafka does, though none below 3 should.

    Args:
        strict: refuse every version above 2, as Kafka 0.9.0.0 does; otherwise take what is known of any.

    Raises: DecodeError: no JSON, an unsupported version, a field missing or of the wrong type, an unknown listener.
    """
    try:
        found = msgspec.json.decode(data, type=RegistrationJson)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        byte, path = JSON_BYTE.search(str(error)), JSON_PATH.search(str(error))
        reason, where = JSON_PATH.sub("", str(error)), path.group(1) if path else ""
        raise DecodeError(reason, NAME, 0, int(byte.group(1)) if byte else 0, where) from None
    if found.version < 1 or (strict and found.version not in STRICT_VERSIONS):
        wanted = "1 and 2 are" if strict else "1 and above are"
        raise DecodeError(f"version {found.version}, but only {wanted} supported", NAME, found.version, 0, "version")
    return BrokerRegistration(
        endpoints=read_endpoints(found),
        rack=found.rack,
        jmx_port=found.jmx_port,
        timestamp_ms=read_timestamp(found.timestamp),
        features={name: (one.min_version, one.max_version) for name, one in sorted((found.features or {}).items())},
    )


def read_endpoints(found: RegistrationJson) -> tuple[Endpoint, ...]:
    """Host and port of version 1, the endpoints of all others."""
    if found.version == 1:
        if found.host is None or found.port is None:
            raise DecodeError("expected host and port", NAME, 1, 0, "host" if found.host is None else "port")
        return (Endpoint("PLAINTEXT", "PLAINTEXT", found.host, found.port),)
    if found.endpoints is None:
        raise DecodeError("expected endpoints", NAME, found.version, 0, "endpoints")
    protocols = found.listener_security_protocol_map
    if protocols is None:
        protocols = {name: name for name in SECURITY_PROTOCOLS}
    endpoints = []
    for position, text in enumerate(found.endpoints):
        where = f"endpoints[{position}]"
        match = CONNECTION.fullmatch(text)
        if match is None:
            raise DecodeError(f"{text!r} is not of the form LISTENER://host:port", NAME, found.version, 0, where)
        listener, host, port = match.group(1).upper(), match.group(2) or None, int(match.group(3))
        if protocols.get(listener) not in SECURITY_PROTOCOLS:
            raise DecodeError(f"no security protocol for listener {listener!r}", NAME, found.version, 0, where)
        endpoints.append(Endpoint(listener, protocols[listener], host, port))
    return tuple(endpoints)


def read_timestamp(text: str | int | None) -> int:
    """Kafka writes it as text and never reads it, so nothing is refused."""
    try:
        return -1 if text is None else int(text)
    except ValueError:
        return -1


def connection_string(endpoint: Endpoint) -> str:
    """``SSL://host1:9093``; brackets round a host with colons, as IPv6 addresses have."""
    host = endpoint.host or ""
    return f"{endpoint.listener}://{f'[{host}]' if ':' in host else host}:{endpoint.port}"


def check_endpoints(endpoints: tuple[Endpoint, ...], version: int) -> None:
    """Refuse what a reader of this version would not read back as it was."""
    protocols = {one.listener: one.security_protocol for one in endpoints}
    if version == 1 and not any(one.security_protocol == "PLAINTEXT" and one.host for one in endpoints):
        raise EncodeError("version 1 needs a PLAINTEXT endpoint with a host", NAME, version, "endpoints")
    for position, one in enumerate(endpoints):
        if one.security_protocol not in SECURITY_PROTOCOLS or protocols[one.listener] != one.security_protocol:
            reason = f"security protocol {one.security_protocol!r} of listener {one.listener!r}"
        elif one.listener != one.listener.upper() or CONNECTION.fullmatch(connection_string(one)) is None:
            reason = f"{connection_string(one)!r} is not of the form LISTENER://host:port"
        elif version < 4 and one.listener != one.security_protocol:
            reason = f"listener {one.listener!r} has a name of its own, which needs version 4"
        else:
            continue
        raise EncodeError(reason, NAME, version, f"endpoints[{position}]")
