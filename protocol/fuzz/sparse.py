"""A message as the JSON of the fields that are set, whatever version they are of.

Kafka's own JSON is that of one version. A message that mixes versions fits none, and a small fault is read best without
all the defaults round it. Names are Kafka's, bytes and uuids base64, unknown tagged fields pairs of tag and base64.

>>> from protocol.apis.metadata import MetadataRequest
>>> sparse(MetadataRequest(topics=None, rack_id="az-a"))
{'topics': None, 'rackId': 'az-a'}
>>> from_sparse(MetadataRequest, {"topics": None, "rackId": "az-a"}).rack_id
'az-a'
"""

from base64 import b64decode, b64encode
from typing import Any

from ..declare import TAGS, declaration_of
from ..wire import Array, FieldType

TAGS_NAME = "unknownTaggedFields"


def sparse(record: Any) -> dict[str, Any]:
    """The fields of a record that are not at their defaults."""
    found = {}
    for one in declaration_of(record).fields:
        value = getattr(record, one.name)
        default = one.fresh_default()
        if value != default or (isinstance(value, float) and str(value) != str(default)):  # -0.0 is not 0.0
            found[one.json_name] = written(one.type, value)
    tags = getattr(record, TAGS)
    if tags:
        found[TAGS_NAME] = [[tag, b64encode(data).decode()] for tag, data in tags]
    return found


def written(type_: Any, value: Any) -> Any:
    """A value of a field's type as JSON."""
    if value is None:
        return None
    if isinstance(type_, Array):
        return [written(type_.item, item) for item in value]
    if not isinstance(type_, FieldType):
        return sparse(value)
    return b64encode(value).decode() if isinstance(value, bytes) else value


def from_sparse(kind: Any, value: dict[str, Any]) -> Any:
    """The record of a class that :func:`sparse` told.

    Raises: ValueError: a name that the record does not have, or what is no base64.
    """
    declared = {one.json_name: one for one in declaration_of(kind).fields}
    values: dict[str, Any] = {}
    for name, item in value.items():
        if name == TAGS_NAME:
            values[TAGS] = tuple((tag, b64decode(data, validate=True)) for tag, data in item)
        elif name in declared:
            values[declared[name].name] = read(declared[name].type, item)
        else:
            raise ValueError(f"{kind.__name__} has no field {name!r}; it has {', '.join(declared)}")
    return kind(**values)


def read(type_: Any, value: Any) -> Any:
    """A value of a field's type out of JSON."""
    if value is None:
        return None
    if isinstance(type_, Array):
        return [read(type_.item, item) for item in value]
    if not isinstance(type_, FieldType):
        return from_sparse(type_, value)
    if type_.name in ("bytes", "records", "uuid"):
        return b64decode(value, validate=True)
    return float(value) if type_.name == "float64" else value
