"""The lists of docs/configs.md, from the tables of the code; ``python -m tests.configs_page`` writes them into it.

Each list stands between two comments, ``<!-- NAME begins -->`` and ``<!-- NAME ends -->``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mockbroker.state.configs.definitions import BROKER, GROUP, TOPIC, find_definition
from mockbroker.state.configs.effects import with_effect, without_effect
from mockbroker.state.configs.values import text_of
from mockbroker.state.settings import DEFAULTS, DIFFERENT_DEFAULTS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configs.md"
KINDS = (TOPIC, GROUP, BROKER)


def table_of(kind: str) -> str:
    """The configs of a kind that have an effect: name, default, of brokers how they may change."""
    mode_too = kind == BROKER
    rows = ["| config | default | may change |", "|---|---|---|"] if mode_too else ["| config | default |", "|---|---|"]
    for name in sorted(with_effect(kind)):
        found = find_definition(kind, name)
        default = DEFAULTS[name] if mode_too and name in DEFAULTS else found.default if found else None
        cells = [f"`{name}`", f"`{text_of(default)}`" if default not in (None, "") else ""]
        rows.append(
            "| " + " | ".join(cells + ([found.update_mode if found else "read-only"] if mode_too else [])) + " |"
        )
    return "\n".join(rows)


def list_of(kind: str) -> str:
    """The configs of a kind that have none."""
    return ", ".join(f"`{name}`" for name in without_effect(kind)) or "None."


def other_defaults() -> str:
    """The settings whose default is not Kafka's."""
    rows = ["| setting | here | Kafka | reason |", "|---|---|---|---|"]
    for name, (default, reason) in sorted(DIFFERENT_DEFAULTS.items()):
        found = find_definition(BROKER, name)
        kafkas = text_of(found.default) if found else ""
        rows.append(f"| `{name}` | `{text_of(default)}` | `{kafkas}` | {reason} |")
    return "\n".join(rows)


def parts() -> dict[str, str]:
    """The text between the comments of each name."""
    found = {"other defaults": other_defaults()}
    for kind in KINDS:
        words = kind.replace("_", " ")
        found[f"{words} with effect"] = table_of(kind)
        found[f"{words} without effect"] = list_of(kind)
    return found


def with_parts(page: str, parts: Mapping[str, str]) -> str:
    """The page with its generated parts as they are now."""
    for name, text in parts.items():
        begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
        page = re.sub(
            f"{begin}.*?{end}",
            lambda _, text=text, begin=begin, end=end: f"{begin}\n{text}\n{end}",
            page,
            flags=re.DOTALL,
        )
    return page


if __name__ == "__main__":
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), parts()), encoding="utf-8")
