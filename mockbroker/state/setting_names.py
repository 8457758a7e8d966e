"""Which names a setting may have, and which one a misspelt name was meant to be.

Loaded only for names that ``settings.DEFAULTS`` does not have; Kafka has some hundreds.

Source: mockbroker/state/configs, with the definitions of Kafka 4.4, and removed_settings.txt there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from mockbroker.state.configs.definitions import BROKER, FOLDER, TOPIC, dynamic_only_names, names

PREFIXES = ("config.providers.", "listener.name.", "rlmm.config.", "rsm.config.")  # a name of the user's own follows
ALIKE = 0.8  # of difflib's ratio: from here on a name is taken for another one misspelt, not for one that we lack


class UnknownSettingError(ValueError):
    """A setting that neither this cluster, its placer nor Kafka has."""


def names_without_effect(strange: Iterable[str], effective: Iterable[str], settings: Mapping[str, Any]) -> list[str]:
    """Which settings are Kafka's and change nothing here; a placer of the user's own may have others.

    Args:
        strange: the names to look at.
        effective: those that have an effect, whatever the placer.
        settings: all that were given.

    Raises: UnknownSettingError: a name that nobody has, with the nearest one that there is.

    >>> names_without_effect(["log.dirs"], ["num.partitions"], {"log.dirs": "/var/kafka"})
    ['log.dirs']
    """
    from kafka_rack.placement import CLASS_SETTING, PLACER_SETTINGS, is_built_in

    placer = str(settings.get(CLASS_SETTING, "")).strip()
    own_placer = bool(placer) and not is_built_in(placer)
    found = []
    for name in sorted(set(strange).difference(PLACER_SETTINGS)):
        if name in kafka_settings() or name.startswith(PREFIXES):
            found.append(name)
        elif not own_placer or nearest(name, [*effective, *PLACER_SETTINGS, *kafka_settings()], ALIKE):
            near = nearest(name, [*effective, *PLACER_SETTINGS, *kafka_settings()])
            raise UnknownSettingError(f"unknown setting {name}" + (f", did you mean {near}?" if near else ""))
    return found


def nearest(name: str, known: Iterable[str], ratio: float = 0.6) -> str | None:
    """The known name that is most like this one, None if none is as like as difflib's ratio says.

    What they all begin with says nothing, so it is left out for the placer's settings.

    >>> nearest("num.partitons", ["num.partitions", "node.id"])
    'num.partitions'
    """
    prefix = "replica.placer."
    if name.startswith(prefix):
        ends = [one.removeprefix(prefix) for one in known if one.startswith(prefix)]
        found = get_close_matches(name.removeprefix(prefix), ends, 1, ratio)
        return prefix + found[0] if found else None
    found = get_close_matches(name, known, 1, ratio)
    return found[0] if found else None


@cache
def kafka_settings() -> frozenset[str]:
    """The names of Kafka's broker and topic settings, with those that 4.0 removed."""
    removed = (FOLDER / "removed_settings.txt").read_text(encoding="ascii").splitlines()
    return dynamic_only_names().union(names(BROKER), names(TOPIC), (one for one in removed if not one.startswith("#")))
