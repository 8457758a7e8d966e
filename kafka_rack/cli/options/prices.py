"""Options for what bytes cost."""

from __future__ import annotations

from pathlib import Path

from kafka_rack.cli.command import flag, option, together
from kafka_rack.cli.options.types import Words

PRICE_LISTS = sorted(path.stem for path in Path(__file__).parents[2].glob("locality/price_lists/*.toml"))
prices_options = together(
    option(
        "--prices", Words("NAME|FILE"), f"Price list: {', '.join(PRICE_LISTS)}, or a TOML or JSON file; default: aws."
    ),
    flag("--free-replication", "Count replication between brokers as free."),
)
