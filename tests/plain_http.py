"""Arguments of httpx for servers on this machine, beside its timeout."""

from __future__ import annotations

import ssl
from typing import Any

PLAIN_HTTP: dict[str, Any] = {
    "trust_env": False,  # no proxy
    "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # by default each client takes 30 ms to read all authorities
}
