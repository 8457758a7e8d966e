"""Regular expressions of RE2, wildcards, networks and similar names.

Matching takes time linear in the text, for any pattern.

Source: KIP-848 and KIP-1152, which use RE2/J.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from fnmatch import translate
from functools import lru_cache
from glob import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

MAX_COMPILED_BYTES = 1 << 20


class PatternError(ValueError):
    """An invalid RE2 expression, or one whose program is too large; the text has the reason."""


@lru_cache(maxsize=256)
def compiled(text: str) -> Any:
    """A compiled RE2 expression. Raises PatternError."""
    import re2  # loaded here, because few clusters use an expression

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_COMPILED_BYTES
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise PatternError(reason.partition(": ")[0]) from None  # without the faulty part, as of "missing ]: [a-"


def name_test(names: Collection[str]) -> Callable[[str], bool]:
    """A test for names that are one of these; ``*`` matches anything. It takes time linear in the name.

    >>> [name for name in ("orders", "orders-eu", "payments") if name_test(("orders*",))(name)]
    ['orders', 'orders-eu']
    """
    exact = frozenset(name for name in names if "*" not in name)
    patterns = [re.compile(translate(escape(name).replace("[*]", "*"))) for name in names if "*" in name]
    if not patterns:
        return exact.__contains__
    return lambda name: name in exact or any(pattern.match(name) for pattern in patterns)


def is_within(address: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """True if an address is in one of these networks, as itself or as the IPv4 address that it maps.

    >>> from ipaddress import ip_network
    >>> is_within("::ffff:10.1.2.3", [ip_network("10.0.0.0/8")]), is_within("localhost", [ip_network("10.0.0.0/8")])
    (True, False)
    """
    from ipaddress import ip_address

    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return any(found in network or (mapped is not None and mapped in network) for network in networks)


def hint(text: str, names: Iterable[str], ratio: float = 0.7) -> str:
    """The name that was probably meant, as the end of a sentence: the most similar one of at least this ratio.

    >>> hint("topik", ["topic", "group"]), hint("x", ["topic"])
    ('; did you mean topic?', '')
    """
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in names}
    close = get_close_matches(text[:100].lower(), by_lower, n=1, cutoff=ratio)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""
