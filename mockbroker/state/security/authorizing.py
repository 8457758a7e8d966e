"""Access control in one word: the settings that turn it on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def authorizing(settings: Mapping[str, Any], users: Iterable[str]) -> dict[str, Any]:
    """The settings with access control; the first user may do everything unless they name somebody.

    >>> authorizing({}, ["alice", "bob"])["super.users"]
    'User:alice'
    """
    name = next(iter(users), None)
    first = {} if name is None else {"super.users": f"User:{name}"}
    return {"authorizer.class.name": AUTHORIZER, **first, **settings}
