"""List Kafka's messages, one message's fields, or how two of its versions differ.

Examples:
  kafka-rack messages                         every message and its versions
  kafka-rack messages MetadataRequest         its fields, and the versions that have them
  kafka-rack messages MetadataRequest 13 14   what version 14 changes
"""

from __future__ import annotations

import argparse
import difflib
import json
from typing import Any

import protocol
from kafka_rack.cli import CommandError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a message, as MetadataRequest; any part of a name lists those")
    parser.add_argument("versions", nargs="*", type=int, help="one version, or two to compare")
    parser.add_argument("--format", choices=["table", "json"], default="table", help="for people or for programs")


def run(arguments: argparse.Namespace) -> int:
    if len(arguments.versions) > 2:
        raise UsageError("give one version, or two to compare")
    known = {one.name: one for one in protocol.messages()}
    if arguments.name in known:
        describe(known[arguments.name], arguments.versions, arguments.format)
        return 0
    wanted = (arguments.name or "").lower()
    listed = [one for name, one in known.items() if wanted in name.lower()]
    if not listed or arguments.versions:
        near = difflib.get_close_matches(arguments.name, known, n=3)
        hint = f"; near it are {', '.join(near)}" if near else "; `kafka-rack messages` lists them all"
        raise CommandError(f"no message is called {arguments.name!r}{hint}")
    overview(listed, arguments.format)
    return 0


def overview(listed: list[Any], form: str) -> None:
    """A row a message."""
    rows = [
        {
            "name": one.name,
            "kind": one.kind,
            "api_key": one.api_key,
            "versions": str(one.valid_versions),
            "flexible": str(one.flexible_versions),
        }
        for one in listed
    ]
    if form == "json":
        print(json.dumps(rows, indent=2))
        return
    width = max(len(row["name"] or "") for row in rows)
    print(f"{'message':{width}}  kind      key  versions  flexible")
    for row in rows:
        key = "-" if row["api_key"] is None else row["api_key"]
        print(f"{row['name']:{width}}  {row['kind']:8}  {key:>3}  {row['versions']:8}  {row['flexible']}")


def describe(message: Any, versions: list[int], form: str) -> None:
    """One message: its fields, those of one version, or the difference of two."""
    for version in versions:
        if version not in message.valid_versions:
            raise CommandError(f"{message.name} has versions {message.valid_versions}, not {version}")
    if len(versions) == 2:
        before, after = ([field_line(row) for row in field_rows(message, version)] for version in versions)
        names = [f"{message.name} v{version}" for version in versions]
        print("\n".join(difflib.unified_diff(before, after, names[0], names[1], lineterm="", n=1)))
        return
    rows = field_rows(message, versions[0] if versions else None)
    if form == "json":
        print(json.dumps({"name": message.name, "versions": str(message.valid_versions), "fields": rows}, indent=2))
        return
    of = f"version {versions[0]}" if versions else f"versions {message.valid_versions}"
    print(f"{message.name} ({message.kind}), {of}, flexible {message.flexible_versions}")
    if message.__doc__:
        print(f"{message.__doc__.strip()}\n")
    for row in rows:
        print(field_line(row))


def field_rows(message: Any, version: int | None, depth: int = 0) -> list[dict[str, Any]]:
    """Each field, nested ones below theirs; all of them, or those of one version."""
    from protocol.declare import UNSET, declaration_of
    from protocol.wire import Array, FieldType

    rows = []
    for one in declaration_of(message).fields:
        if version is not None and version not in one.versions:
            continue
        item = one.type.item if isinstance(one.type, Array) else one.type
        nested = None if isinstance(item, FieldType) else item
        row = {"name": one.name, "depth": depth, "type": one.type.name if nested is None else kind_name(one.type)}
        if version is None:
            row |= {"versions": str(one.versions), "nullable": str(one.nullable)}
        else:
            row |= {"nullable": version in one.nullable}
        row |= {"tag": one.tag, "default": None if one.default is UNSET else repr(one.default)}
        rows.append(row | {"ignorable": one.ignorable})
        if nested is not None:
            rows += field_rows(nested, version, depth + 1)
    return rows


def kind_name(kind: Any) -> str:
    """``[]Broker`` for an array of records, ``Cursor`` for one."""
    from protocol.wire import Array

    name: str = kind.name if isinstance(kind, Array) else kind.__name__  # a record may have a field called name
    return name


def field_line(row: dict[str, Any]) -> str:
    """One field as a line."""
    parts = [f"{'  ' * row['depth']}{row['name']}: {row['type']}"]
    if "versions" in row:
        parts.append(f"versions {row['versions']}")
    if row["nullable"] not in (False, "none"):
        parts.append("nullable" if row["nullable"] is True else f"nullable {row['nullable']}")
    if row["tag"] is not None:
        parts.append(f"tag {row['tag']}")
    if row["default"] is not None:
        parts.append(f"default {row['default']}")
    if row["ignorable"]:
        parts.append("ignorable")
    return ", ".join(parts)
