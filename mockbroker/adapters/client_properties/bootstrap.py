"""Bootstrap addresses of a real cluster, as people write them."""

from __future__ import annotations


def servers_in(text: str) -> list[tuple[str, int]]:
    """Hosts and ports out of ``bootstrap.servers``: ``host:port,[ipv6]:port,...``, each once.

    Raises: ValueError: names the one that is none.

    >>> servers_in("localhost:9092, [::1]:9093")
    [('localhost', 9092), ('::1', 9093)]
    """
    found = []
    for word in text.split(","):
        host, _, port = word.strip().rpartition(":")
        if (
            not host
            or not port.isdecimal()
            or len(port) > 5
            or not 0 < int(port) < 1 << 16
            or (":" in host and host[0] != "[")
        ):
            raise ValueError(f"{text}: expected host:port, got {word.strip()!r}")
        found.append((host.strip("[]"), int(port)))
    return list(dict.fromkeys(found))
