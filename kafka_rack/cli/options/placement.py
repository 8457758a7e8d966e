"""The options of commands that place replicas, and a placement by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_rack.cli import UsageError
from kafka_rack.cli.command import Arguments, flag, option, section
from kafka_rack.cli.options.shared import seed_option, set_option
from kafka_rack.cli.options.types import Name, WholeNumber
from kafka_rack.errors import PlacerSettingsError
from kafka_rack.placement import (
    BUILT_IN,
    CLASS_SETTING,
    DISABLED,
    ENFORCED,
    SEED_SETTING,
    SHIFT_SETTING,
    START_INDEX_SETTING,
    UsableBroker,
    close_placer,
    load_placer,
    place_checked,
)

DEFAULT_PLACER = "rack-aware"
placer_option = option(
    "--placer",
    Name("NAME", lambda: BUILT_IN),
    f"Placer of the replicas: {', '.join(BUILT_IN)}; or module:Class, or an entry point (docs/plan.md).",
)
ignore_racks_option = flag(
    "--ignore-racks", "Place as if no broker had a rack; without it, brokers of which only some have racks are refused."
)


placement_options = section(
    "Placement",
    placer_option,
    option("--start-index", WholeNumber(), "Position of the first leader in the list of brokers."),
    option("--next-replica-shift", WholeNumber(), "First shift of followers; default: --start-index."),
    seed_option,
    ignore_racks_option,
    set_option,
)


def rotation_of(arguments: Arguments) -> dict[str, str]:
    """The settings of ``--start-index`` and ``--next-replica-shift``, or of ``--seed``. Raises UsageError: both."""
    start, shift, seed = arguments.start_index, arguments.next_replica_shift, arguments.seed
    if seed is not None:
        if (start, shift) != (None, None):
            raise UsageError("--seed draws the start index and the shift: set one or the other")
        return {SEED_SETTING: str(seed)}
    found = {} if (start, shift) == (None, None) else {START_INDEX_SETTING: str(start or 0)}
    return found if shift is None else {**found, SHIFT_SETTING: str(shift)}


def replicas_placed(
    arguments: Arguments,
    brokers: Sequence[UsableBroker],
    settings: Mapping[str, str],
    *,
    partitions: int,
    replication_factor: int,
    first: int = 0,
) -> list[list[int]]:
    """The replicas of partitions from ``first`` on, by ``--placer`` and its settings."""
    try:
        placer = load_placer({CLASS_SETTING: arguments.placer or DEFAULT_PLACER, **settings})
    except PlacerSettingsError as error:
        raise UsageError(str(error).replace(f"{CLASS_SETTING}:", "--placer:", 1)) from error
    try:
        mode = DISABLED if arguments.ignore_racks else ENFORCED
        return place_checked(placer, first, partitions, replication_factor, brokers, rack_mode=mode)
    finally:
        close_placer(placer)
