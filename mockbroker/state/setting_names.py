"""Checks the names of settings, and suggests a name for a misspelt one.

Loaded only for names that are not in ``settings.DEFAULTS``; Kafka has some hundreds.

Source: mockbroker/state/configs, with the definitions of Kafka 4.4, and removed_settings.txt there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from mockbroker.state.configs.definitions import BROKER, TOPIC, data_file, dynamic_only_names, names

PREFIXES = ("config.providers.", "listener.name.", "rlmm.config.", "rsm.config.")  # the user's own name follows
ALIKE = 0.8  # of difflib's ratio: above it, an unknown name is an error, as a misspelt one


class UnknownSettingError(ValueError):
    """A setting that is unknown here, in the placer and in Kafka."""


def names_without_effect(strange: Iterable[str], effective: Iterable[str], settings: Mapping[str, Any]) -> list[str]:
    """The names of Kafka's settings that have no effect here; a user's placer may have others.

    Args:
        strange: the names to check.
        effective: names with an effect, for any placer.
        settings: all settings.

    Raises: UnknownSettingError: an unknown name, with the nearest known one.

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
    """The known name that is most similar to this one, None if none reaches this ratio of difflib.

    The common prefix of placers' settings is ignored, because it is in all of their names.

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
    """The names of Kafka's broker and topic settings, including those removed in 4.0."""
    removed = data_file("removed_settings.txt").decode("ascii").splitlines()
    return dynamic_only_names().union(names(BROKER), names(TOPIC), (one for one in removed if not one.startswith("#")))
