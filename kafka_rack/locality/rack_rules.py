"""The racks file: the racks of clients that do not name one themselves, mostly producers.

A line is ``RACK@WHAT``: an address range, one address, ``client:PATTERN`` for client ids, or ``broker:ID``. Blank lines
and text after a ``#`` are ignored.

    az-a@10.0.1.0/24
    az-b@10.0.2.17
    az-b@2001:db8:2::/48
    az-c@client:billing-*
    az-a@broker:4
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import translate
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_interface
from typing import NamedTuple

from kafka_rack.errors import InputError

Address = IPv4Address | IPv6Address
CLIENT, BROKER = "client:", "broker:"
FORM = "RACK@RANGE, RACK@client:PATTERN or RACK@broker:ID, as az-a@10.0.1.0/24"
MAX_PATTERN_CHARACTERS = 200


class ClientIdPattern(NamedTuple):
    """Client ids: ``*`` any letters, ``?`` one, ``[...]`` one of some."""

    text: str
    rack: str
    line: int

    @property
    def literals(self) -> int:
        return sum(letter not in "*?[]" for letter in self.text)


@dataclass(slots=True)
class RackRules:
    """The rules of a racks file. The longest matching range of an address wins, and the most specific pattern of an id.

    ``ranges`` is (version of IP, length of prefix) -> network as a number -> rack.
    """

    ranges: dict[tuple[int, int], dict[int, str]] = field(default_factory=dict)
    patterns: list[ClientIdPattern] = field(default_factory=list)
    brokers: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str, name: str) -> RackRules:
        """Parse a file's text. Raises InputError with the line and the expected form.

        >>> rules = RackRules.read("az-a@10.0.0.0/8\\naz-b@10.0.2.0/24\\naz-c@client:etl-*", "racks")
        >>> rules.of_address("10.0.2.7"), rules.of_address("10.9.9.9"), rules.of_client_id("etl-7")
        ('az-b', 'az-a', 'az-c')
        """
        rules = cls()
        said: dict[object, tuple[str, int]] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            bare = uncommented(line)
            if bare:
                rules.add(bare, f"{name}, line {number}", number, said)
        rules.patterns.sort(key=lambda pattern: (-pattern.literals, pattern.text))
        return rules

    def add(self, line: str, where: str, number: int, said: dict[object, tuple[str, int]]) -> None:
        rack, at, what = (part.strip() for part in line.partition("@"))
        if not at or not rack or not what:
            raise InputError(f"{where}: expected {FORM}, got {line!r}")
        key: object
        if what.startswith(CLIENT):
            key = pattern = what.removeprefix(CLIENT).strip()
            if not pattern or len(pattern) > MAX_PATTERN_CHARACTERS:
                raise InputError(
                    f"{where}: client: expected a pattern of 1 to {MAX_PATTERN_CHARACTERS} letters, got {len(pattern)}"
                )
            self.patterns.append(ClientIdPattern(pattern, rack, number))
        elif what.startswith(BROKER):
            broker = what.removeprefix(BROKER).strip()
            if not broker.isascii() or not broker.isdigit() or len(broker) > 10 or int(broker) >= 1 << 31:
                raise InputError(f"{where}: broker: expected a broker's id, as az-a@broker:4, got {broker!r}")
            key = int(broker)
            self.brokers[int(broker)] = rack
        else:
            key = network = network_of(what, where)
            by_network = self.ranges.setdefault((network.version, network.prefixlen), {})
            by_network[int(network.network_address)] = rack
        before = said.setdefault(key, (rack, number))
        if before[0] != rack:
            raise InputError(f"{where}: {what} is in {rack} here, but in {before[0]} in line {before[1]}; keep one")

    def of_address(self, address: str | None) -> str | None:
        """The rack of an address without port, None if no range contains it."""
        found = parsed_address(address)
        if found is None:
            return None
        bits, number = found.max_prefixlen, int(found)
        for length in range(bits, -1, -1):
            by_network = self.ranges.get((found.version, length))
            if by_network:
                rack = by_network.get(number >> (bits - length) << (bits - length))
                if rack is not None:
                    return rack
        return None

    def of_client_id(self, client_id: str | None) -> str | None:
        """The rack of a client id; None if no pattern matches, or equally specific ones contradict each other."""
        best: ClientIdPattern | None = None
        for pattern in self.patterns:
            if best is not None and pattern.literals < best.literals:
                break
            if re.match(translate(pattern.text), client_id or ""):
                if best is not None and best.rack != pattern.rack:
                    return None
                best = best or pattern
        return best.rack if best is not None else None

    def of_client(self, client_id: str | None, address: str | None) -> str | None:
        """The rack of a client: by its id first, because the address may be a proxy's.

        >>> RackRules.read("az-a@10.0.0.0/8\\naz-c@client:etl-*", "racks").of_client("etl-7", "10.0.0.1")
        'az-c'
        """
        return self.of_client_id(client_id) or self.of_address(address)

    def racks(self) -> set[str]:
        """All racks in the file."""
        ranges = {rack for by_network in self.ranges.values() for rack in by_network.values()}
        return ranges | {pattern.rack for pattern in self.patterns} | set(self.brokers.values())


def uncommented(line: str) -> str:
    """A line without its comment, which starts the line or follows a blank: client ids may contain a ``#``."""
    return re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()


def network_of(text: str, where: str) -> IPv4Network | IPv6Network:
    try:
        found = ip_interface(text)
    except ValueError:
        raise InputError(f"{where}: {text!r} is no address or range; {FORM}") from None
    if found.ip != found.network.network_address:
        raise InputError(f"{where}: {text} has bits behind its prefix; {found.network} is that range")
    return found.network


def parsed_address(address: str | None) -> Address | None:
    """A parsed address; an IPv4 address mapped to IPv6 becomes IPv4."""
    try:
        found = ip_address((address or "").strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
