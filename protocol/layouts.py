"""From a declaration to the construct of one version: the reference codec, and what the compiler walks.

>>> from protocol.apis.metadata import MetadataResponse
>>> layout(MetadataResponse, 1).brokers.subcon.subcon.rack
<Renamed rack <Text>>
"""

from typing import Any

from construct import Container, Renamed

from .declare import TAGS, Declaration, Field, declaration_of
from .errors import UnsupportedVersionError
from .versions import VersionRange
from .wire import (
    Absent,
    Array,
    CountedArray,
    FieldType,
    Int8Field,
    Int32Field,
    Length,
    NullableRecord,
    RecordStruct,
    TaggedFields,
    UVarint,
)


def layout(message: Any, version: int) -> RecordStruct:
    """The construct of a message at one version: a plain ``construct.Struct``, nested as the message is.

    Its containers hold every declared field; those the version lacks read as their defaults and take no bytes.

    Raises: UnsupportedVersionError: the message lacks the version.
    """
    declaration = declaration_of(message)
    known = declaration.layouts.get(version)
    if known is not None:
        return known
    facts = message.message
    if version not in facts.valid_versions:
        raise UnsupportedVersionError(f"{facts.name} has versions {facts.valid_versions}, not {version}")
    made = record_layout(declaration, version, facts.flexible_versions)
    declaration.layouts[version] = made
    return made


def record_layout(declaration: Declaration, version: int, flexible_versions: VersionRange) -> RecordStruct:
    """The construct of one record, tagged fields last where the version is flexible."""
    flexible = version in flexible_versions
    plain: list[Renamed] = []
    tagged: dict[int, Renamed] = {}
    defaults: dict[str, Any] = {}
    for one in declaration.fields:
        if version not in one.versions:
            plain.append(one.name / Absent(one.fresh_default(), one.ignorable))
        elif one.tag is None:
            plain.append(one.name / field_construct(one, version, flexible_versions))
        else:
            tagged[one.tag] = one.name / field_construct(one, version, flexible_versions)
            defaults[one.name] = as_container(tagged[one.tag].subcon, one.fresh_default())
    if flexible:
        plain.append(TAGS / TaggedFields(dict(sorted(tagged.items())), defaults))
    return RecordStruct(declaration.record, *plain)


def field_construct(one: Field, version: int, flexible_versions: VersionRange) -> Any:
    """The construct of a field that the version has."""
    flexible = version in (flexible_versions if one.flexible is None else one.flexible)
    nullable = version in one.nullable
    if isinstance(one.type, Array):
        length = Length(UVarint if flexible else Int32Field, nullable)
        item = one.type.item
        if isinstance(item, FieldType):
            return CountedArray(length, item.construct(flexible, nullable=False))
        return CountedArray(length, record_layout(declaration_of(item), version, flexible_versions))
    if isinstance(one.type, FieldType):
        return one.type.construct(flexible, nullable)
    nested = record_layout(declaration_of(one.type), version, flexible_versions)
    if not nullable:
        return nested
    return NullableRecord(Int8Field if one.tag is None else UVarint, nested)


def as_container(construct: Any, value: Any) -> Any:
    """A typed value as the containers that ``construct`` builds from."""
    if value is None:
        return None
    if isinstance(construct, NullableRecord):
        return as_container(construct.subcon, value)
    if isinstance(construct, CountedArray) and isinstance(value, (list, tuple)):
        return [as_container(construct.subcon, item) for item in value]
    if not isinstance(construct, RecordStruct) or not isinstance(value, construct.record):
        return value  # the construct itself refuses what does not fit
    container = Container()
    for sub in construct.subcons:
        if isinstance(sub.subcon, TaggedFields):
            tagged = Container(
                (known.name, as_container(known.subcon, getattr(value, known.name)))
                for known in sub.subcon.known.values()
            )
            tagged.unknown = getattr(value, TAGS)
            container[TAGS] = tagged
        else:
            container[sub.name] = as_container(sub.subcon, getattr(value, sub.name))
    return container


def as_typed(construct: Any, value: Any) -> Any:
    """The value that ``construct`` read, as typed objects; fields that the version lacks get their defaults again."""
    if value is None:
        return None
    if isinstance(construct, NullableRecord):
        return as_typed(construct.subcon, value)
    if isinstance(construct, CountedArray):
        return [as_typed(construct.subcon, item) for item in value]
    if not isinstance(construct, RecordStruct):
        return value
    values: dict[str, Any] = {}
    for sub in construct.subcons:
        if isinstance(sub.subcon, TaggedFields):
            tagged = value[TAGS]
            values |= {known.name: as_typed(known.subcon, tagged[known.name]) for known in sub.subcon.known.values()}
            values[TAGS] = tagged.unknown
        elif not isinstance(sub.subcon, Absent):
            values[sub.name] = as_typed(sub.subcon, value[sub.name])
    return construct.record(**values)
