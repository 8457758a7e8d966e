"""kafka-rack messages: Kafka's messages, their versions and fields."""

from __future__ import annotations

import difflib
from typing import Any

import protocol
from kafka_rack.cli import DONE, UsageError
from kafka_rack.cli.command import Arguments, argument, command
from kafka_rack.cli.options.messages import unknown_message
from kafka_rack.cli.options.shared import format_option
from kafka_rack.cli.options.types import Name, WholeNumber, message_names
from kafka_rack.cli.output.results import show_as
from kafka_rack.cli.output.tables import table

FLEXIBLE = "flexible: lengths as varints, tagged fields, and a header that has them too (KIP-482)"
NOT_FLEXIBLE = "not flexible: lengths of two and four bytes, no tagged fields"


@command()
@argument("name", required=False, metavar="[NAME]", type=Name("NAME", message_names))
@argument("versions", nargs=-1, metavar="[VERSION [VERSION]]", type=WholeNumber())
@format_option
def messages(arguments: Arguments) -> int:
    """List Kafka's messages, one message's fields, or how two of its versions differ.

    A part of a NAME lists the messages that have it.

    Examples:
      kafka-rack messages                         every message and its versions
      kafka-rack messages MetadataRequest         its fields, and the versions that have them
      kafka-rack messages MetadataRequest 13 14   what version 14 changes
    """
    if len(arguments.versions) > 2:
        raise UsageError("expected one version, or two to compare")
    known = {one.name: one for one in protocol.messages()}
    if arguments.name in known:
        describe(known[arguments.name], list(arguments.versions), arguments.format)
        return DONE
    wanted = (arguments.name or "").lower()
    listed = [one for name, one in known.items() if wanted in name.lower()]
    if not listed or arguments.versions:
        raise unknown_message(arguments.name)
    overview(listed, arguments.format)
    return DONE


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
    heads = ["message", "kind", "key", "versions", "flexible"]
    show_as(form, rows, table(heads, [list(row.values()) for row in rows]))


def describe(message: Any, versions: list[int], form: str) -> None:
    """One message: its fields, those of one version, or the difference of two."""
    for version in versions:
        if version not in message.valid_versions:
            raise UsageError(f"expected {message.name}'s versions, {message.valid_versions}, got {version}")
    if len(versions) == 2:
        fields = {str(version): field_rows(message, version) for version in versions}
        flexible = [version in message.flexible_versions for version in versions]
        found = {"name": message.name, "versions": versions, "flexible": flexible, "fields": fields}
        show_as(form, found, difference_text(message, *versions))
        return
    rows = field_rows(message, versions[0] if versions else None)
    of = f"version {versions[0]}" if versions else f"versions {message.valid_versions}"
    head = f"{message.name} ({message.kind}), {of}, flexible {message.flexible_versions}"
    about = [f"{message.__doc__.strip()}\n"] if message.__doc__ else []
    found = {"name": message.name, "versions": str(message.valid_versions), "fields": rows}
    show_as(form, found, "\n".join([head, *about, *map(field_line, rows)]))


def difference_text(message: Any, first: int, second: int) -> str:
    """How two versions differ as a unified diff of their fields, or that they do not."""
    before, after = ([field_line(row) for row in field_rows(message, version)] for version in (first, second))
    flexible = [version in message.flexible_versions for version in (first, second)]
    if flexible[0] != flexible[1]:
        before, after = (
            [FLEXIBLE if is_so else NOT_FLEXIBLE, *rows] for is_so, rows in zip(flexible, (before, after), strict=True)
        )
    old, new = (f"{message.name} v{version}" for version in (first, second))
    lines = difflib.unified_diff(before, after, old, new, lineterm="", n=1)
    return "\n".join(lines) or f"{old} and v{second} have the same fields."


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
