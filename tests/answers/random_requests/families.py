"""The families of random requests, by name."""

from __future__ import annotations

import importlib
from typing import Final

from tests.answers.random_requests.turns import Turns

FAMILIES: Final = {
    "data": "ordinary.Data",
    "topics": "ordinary.Topics",
    "configs": "ordinary.Configs",
    "admin": "ordinary.Admin",
    "acls": "ordinary.Acls",
    "authorization": "authorization.Authorization",
    "transactions": "transactions.Transactions",
    "groups": "classic_groups.ClassicGroup",
    "consumer": "consumer_groups.ConsumerGroup",
    "migration": "migrations.Migration",
    "share": "share_groups.ShareGroup",
    "share-state": "share_states.ShareStates",
    "streams": "streams_groups.StreamsGroup",
}


def family(name: str) -> type[Turns]:
    module, _, turns = FAMILIES[name].partition(".")
    found: type[Turns] = getattr(importlib.import_module(f"tests.answers.random_requests.{module}"), turns)
    return found
