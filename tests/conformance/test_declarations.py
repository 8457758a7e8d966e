"""The declarations say what Kafka's schemas say, field by field, but for the differences reviewed here.

Not compared, since nothing on the wire or in the JSON form hangs on it: ``mapKey`` and ``entityType`` of fields,
``listeners`` and ``module`` of messages, and what nested structs are called.
"""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import protocol
from protocol import registry
from protocol.apis.controller import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest, MetadataResponse
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.streams_group import StreamsGroupDescribeResponse
from protocol.apis.topic_metadata import TopicMetadataRequest, TopicMetadataResponse
from protocol.declare import TAGS, MessageType, declaration_of
from protocol.embedded.broker import Broker
from protocol.embedded.consumer_group_log import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
)
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.metadata_brokers import RegisterBrokerRecord
from protocol.embedded.metadata_settings import AbortTransactionRecord
from protocol.versions import VersionRange
from protocol.wire import Array, FieldType
from tests.fixture_data import FIXTURES

ALWAYS = VersionRange(0, 2**15 - 1)

# Where the declarations differ from the schemas: (message, field, what) with the reason.
REVIEWED: dict[tuple[str, str, str], str] = {
    ("Broker", "", "message"): "KIP-36's Broker.writeTo, which Kafka never had as a schema",
    ("TopicMetadataRequest", "", "message"): "KIP-36's drawing of Metadata, which Kafka released otherwise",
    ("TopicMetadataResponse", "", "message"): "KIP-36's drawing of Metadata, which Kafka released otherwise",
}

KINDS = {"request": "request", "response": "response", "header": "header"}  # every other type is data
PYTHON_TYPES = {"bool": bool, "float64": float, "uuid": bytes, "string": str, "bytes": bytes, "records": bytes}

Difference = tuple[str, str, str]
Facts = dict[str, Any]


@cache
def schemas() -> dict[str, Facts]:
    """Each message's schema by name, with what the proposals add."""
    document = json.loads((FIXTURES / "kafka/schemas.json").read_text(encoding="utf-8"))
    found = {message["name"]: message for message in document["messages"]}
    for proposal in document["proposed"]:
        message = found[proposal["name"]]
        lowest = VersionRange.parse(message["validVersions"]).lowest
        message["validVersions"] = f"{lowest}-{proposal['version']}"
        message["fields"] = message["fields"] + proposal["append"]
    return found


@cache
def declared() -> dict[str, Any]:
    """Each message class by name."""
    return {message.name: message for message in protocol.messages()}


def records_of(record: Any) -> Iterator[Any]:
    """A record class and all that it nests, each once."""
    seen: list[Any] = []

    def visit(one: Any) -> Iterator[Any]:
        if one not in seen:
            seen.append(one)
            yield one
            for field in declaration_of(one).fields:
                item = item_of(field.type)
                if not isinstance(item, FieldType):
                    yield from visit(item)

    return visit(record)


def item_of(kind: Any) -> Any:
    """What an array holds; of any other type, itself."""
    return kind.item if isinstance(kind, Array) else kind


# -- both sides in one form --------------------------------------------------------------------------------------------


def schema_message(schema: Facts) -> Facts:
    valid = VersionRange.parse(schema["validVersions"])
    return {
        "kind": KINDS.get(schema["type"], "data"),
        "api key": schema.get("apiKey"),
        "valid versions": str(valid),
        "flexible versions": str(VersionRange.parse(schema["flexibleVersions"]).within(valid)),
        "latest version unstable": schema.get("latestVersionUnstable", False),
    }


def declared_message(message: Any) -> Facts:
    return {
        "kind": message.kind,
        "api key": message.api_key,
        "valid versions": str(message.valid_versions),
        "flexible versions": str(message.flexible_versions),
        "latest version unstable": message.message.latest_unstable,
    }


def schema_field(field: Facts, within: VersionRange = ALWAYS) -> Facts:
    """A field in the common form. ``within`` are the versions of the field around it: a struct of version 1 and above
    may say "0+" or "1+" of its own fields and mean the same.
    """
    name, kind = field["name"], field["type"]
    item = kind.removeprefix("[]")
    return {
        "name": name[0].lower() + name[1:],
        "type": kind.replace(item, "struct") if item[0].isupper() else kind,
        "versions": str(VersionRange.parse(field["versions"]).within(within)),
        "nullable versions": str(VersionRange.parse(field.get("nullableVersions", "none")).within(within)),
        "tag": field.get("tag"),
        "tagged versions": str(VersionRange.parse(field.get("taggedVersions", "none"))),
        "default": schema_default(field.get("default"), kind),
        "ignorable": field.get("ignorable", False),
        "flexible versions": field.get("flexibleVersions"),
    }


def schema_default(text: str | None, kind: str) -> Any:
    """The schema's notation as a value of the type."""
    if text == "null":
        return None
    if kind.startswith("[]"):
        return []
    if kind[0].isupper():
        return "a struct of defaults"
    if kind == "bool":
        return text == "true"
    if kind == "float64":
        return float(text or 0)
    if kind == "uuid":
        return bytes(16)
    if kind in ("bytes", "records"):
        return b""
    if kind == "string":
        return text or ""
    return int(text or "0", 0)


def declared_field(field: Any, within: VersionRange = ALWAYS) -> Facts:
    item = item_of(field.type)
    name = repr(item) if isinstance(item, FieldType) else "struct"
    default = field.fresh_default()
    if not isinstance(item, FieldType) and default == item():
        default = "a struct of defaults"
    return {
        "name": field.json_name,
        "type": f"[]{name}" if isinstance(field.type, Array) else name,
        "versions": str(field.versions.within(within)),
        "nullable versions": str(field.nullable.within(within)),
        "tag": field.tag,
        "tagged versions": "none" if field.tag is None else str(field.versions),
        "default": default,
        "ignorable": field.ignorable,
        "flexible versions": None if field.flexible is None else str(field.flexible),
    }


def differences(schema: Facts, message: Any) -> set[Difference]:
    """What the declaration of a message has otherwise than its schema."""
    name = schema["name"]
    found = {(name, "", what) for what in unequal(schema_message(schema), declared_message(message))}
    shared = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", [])}
    classes: dict[str, Any] = {}

    def compare(theirs: list[Facts], record: Any, path: str, within: VersionRange) -> None:
        ours = declaration_of(record).fields
        if [schema_field(one)["name"] for one in theirs] != [one.json_name for one in ours]:
            found.add((name, path, "names or order of fields"))
            return
        for their, our in zip(theirs, ours, strict=True):
            where = f"{path}.{their['name']}".removeprefix(".")
            facts = schema_field(their, within)
            found.update((name, where, what) for what in unequal(facts, declared_field(our, within)))
            struct = their["type"].removeprefix("[]")
            if struct[0].isupper() and not isinstance(item_of(our.type), FieldType):
                if classes.setdefault(struct, item_of(our.type)) is not item_of(our.type):
                    found.add((name, where, "one struct of the schema, two classes"))
                inside = VersionRange.parse(their["versions"]).within(within)
                compare(their.get("fields") or shared[struct], item_of(our.type), where, inside)

    compare(schema["fields"], message, "", ALWAYS)
    return found


def unequal(theirs: Facts, ours: Facts) -> list[str]:
    return [what for what in theirs if theirs[what] != ours[what] or type(theirs[what]) is not type(ours[what])]


# -- the comparison ----------------------------------------------------------------------------------------------------


def test_the_declarations_differ_from_the_schemas_only_where_reviewed():
    found = {(name, "", "message") for name in schemas().keys() ^ declared().keys()}
    for name in schemas().keys() & declared().keys():
        found |= differences(schemas()[name], declared()[name])
    assert found == set(REVIEWED)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("validVersions", "1-14"),
        ("flexibleVersions", "8+"),
        ("apiKey", 4),
        ("type", "request"),
        ("latestVersionUnstable", True),
    ],
)
def test_the_comparison_notices_a_change_to_a_message(what, value):
    schema = copy.deepcopy(schemas()["MetadataResponse"])
    schema[what] = value
    assert len(differences(schema, MetadataResponse)) == 1


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("name", "Racks"),
        ("type", "bytes"),
        ("type", "[]string"),
        ("versions", "2+"),
        ("nullableVersions", "2+"),
        ("default", ""),
        ("ignorable", False),
        ("tag", 0),
        ("taggedVersions", "9+"),
        ("flexibleVersions", "none"),
    ],
)
def test_the_comparison_notices_a_change_to_a_nested_field(what, value):
    schema = copy.deepcopy(schemas()["MetadataResponse"])
    rack = schema["fields"][1]["fields"][3]
    assert rack["name"] == "Rack"
    rack[what] = value
    assert differences(schema, MetadataResponse)


@pytest.mark.parametrize("change", [list.reverse, list.pop, lambda fields: fields.append(dict(fields[0], name="New"))])
def test_the_comparison_notices_fields_moved_missing_and_new(change):
    schema = copy.deepcopy(schemas()["MetadataResponse"])
    change(schema["fields"][1]["fields"])
    assert ("MetadataResponse", "Brokers", "names or order of fields") in differences(schema, MetadataResponse)


def test_names_are_the_schemas_in_snake_case():
    for message in declared().values():
        for record in records_of(message):
            for field in declaration_of(record).fields:
                assert field.name == field.name.lower()
                assert field.name.replace("_", "") == field.json_name.lower()


# -- the form ----------------------------------------------------------------------------------------------------------


def test_annotations_say_what_the_constructs_read():
    for message in declared().values():
        for record in records_of(message):
            expected = {field.name: annotation_of(field) for field in declaration_of(record).fields}
            assert {name: kind for name, kind in record.__annotations__.items() if name != TAGS} == expected


def annotation_of(field: Any) -> Any:
    item = item_of(field.type)
    plain = PYTHON_TYPES.get(repr(item), int) if isinstance(item, FieldType) else item
    kind = list[plain] if isinstance(field.type, Array) else plain  # type: ignore[valid-type]
    return kind | None if field.nullable else kind


def test_every_record_is_where_its_name_says_and_pickles():
    for message in declared().values():
        for record in records_of(message):
            found = sys.modules[record.__module__]
            for name in record.__qualname__.split("."):
                found = getattr(found, name)
            assert found is record
            assert pickle.loads(pickle.dumps(record())) == record()


def test_no_field_defaults_to_null_where_it_may_never_be_null():
    for message in declared().values():
        for record in records_of(message):
            for field in declaration_of(record).fields:
                assert field.fresh_default() is not None or field.nullable, (message.name, field.name)


def test_the_registry_knows_each_message_by_the_module_that_declares_it():
    root = Path(registry.__file__).parent
    found = {}
    for folder in ("apis", "embedded"):
        for path in sorted((root / folder).glob("[a-z]*.py")):
            module = import_module(f"protocol.{folder}.{path.stem}")
            for name, value in vars(module).items():
                if isinstance(value, MessageType) and value.__module__ == module.__name__:
                    found[name] = f"{folder}.{path.stem}"
    assert dict(registry.modules_by_name()) == found


def test_every_api_is_known_by_its_key_in_both_directions():
    keys = {schema["apiKey"] for schema in schemas().values() if schema["type"] == "request"}
    for key in keys:
        for kind in ("request", "response"):
            message = registry.message_class(key, kind)
            assert (message.api_key, message.kind) == (key, kind)
    assert set(registry.APIS) == keys


# -- traps -------------------------------------------------------------------------------------------------------------


def test_structs_that_a_schema_uses_before_it_declares_them_nest_all_the_same():
    names = [struct["name"] for struct in schemas()["StreamsGroupDescribeResponse"]["commonStructs"]]
    assert names.index("Assignment") < names.index("TaskIds")  # and Assignment is made of TaskIds
    member = StreamsGroupDescribeResponse.Group.Member
    assignment = member.Assignment(active_tasks=[member.Assignment.TaskIds(subtopology_id="0", partitions=[2])])
    sent = StreamsGroupDescribeResponse(
        groups=[
            StreamsGroupDescribeResponse.Group(members=[member(assignment=assignment, target_assignment=assignment)])
        ]
    )
    assert protocol.decode(89, "response", 0, protocol.encode(sent, 0)) == sent


def test_tags_are_numbers_though_kafkas_schemas_write_some_as_strings():
    (log_dirs,) = [one for one in declaration_of(RegisterBrokerRecord).fields if one.name == "log_dirs"]
    assert (log_dirs.tag, type(log_dirs.tag)) == (0, int)


def test_the_tags_of_a_record_are_numbered_from_0_without_gaps():
    for message in declared().values():
        for record in records_of(message):
            tags = sorted(field.tag for field in declaration_of(record).fields if field.tag is not None)
            assert tags == list(range(len(tags))), message.name


def test_a_string_may_be_a_tagged_field():
    written = protocol.encode(FetchRequest(cluster_id="kraft"), 12)
    assert protocol.decode(1, "request", 12, written).cluster_id == "kraft"
    assert written.endswith(b"\x01\x00\x06\x06kraft")  # one tag: 0, of 6 bytes: a compact string


def test_a_tagged_field_may_default_to_null_and_then_is_not_written():
    assert AbortTransactionRecord().reason is None
    assert protocol.encode(AbortTransactionRecord(), 0) == b"\x00"
    assert protocol.encode(AbortTransactionRecord(reason=""), 0) == b"\x01\x00\x01\x01"


def test_a_nullable_struct_is_marked_by_a_signed_byte_in_a_plain_field():
    cursor = DescribeTopicPartitionsRequest.Cursor(topic_name="t", partition_index=1)
    assert protocol.encode(DescribeTopicPartitionsRequest(), 0).hex() == "01000007d0ff00"
    asked = DescribeTopicPartitionsRequest(cursor=cursor)
    assert protocol.encode(asked, 0).hex() == "01000007d0010274000000010000"


def test_a_nullable_struct_is_marked_by_a_varint_in_a_tagged_field_and_may_default_to_a_struct():
    value = ConsumerGroupMemberMetadataValue()
    assert value.classic_member_metadata == ConsumerGroupMemberMetadataValue.ClassicMemberMetadata()
    assert protocol.encode(value, 0).endswith(b"\xff\xff\xff\xff\x01\x00")  # as the default it is not written
    value.classic_member_metadata = None
    assert protocol.encode(value, 0).endswith(b"\x01\x00\x01\x00")  # one tag: 0, of 1 byte: null
    assert protocol.decode_named("ConsumerGroupMemberMetadataValue", 0, protocol.encode(value, 0)) == value


def test_a_tagged_field_may_be_nullable_and_still_default_to_empty():
    partitions = ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
    assert partitions().assignment_epochs == []
    (field,) = [one for one in declaration_of(partitions).fields if one.tag is not None]
    assert field.nullable == VersionRange.parse("0+")


def test_only_init_producer_id_has_an_unstable_latest_version():
    unstable = [name for name, message in sorted(declared().items()) if message.message.latest_unstable]
    assert unstable == ["InitProducerIdRequest"]
    assert InitProducerIdRequest.valid_versions.highest == 6


def test_versions_that_exist_only_before_4_0_are_declared():
    gone = 0
    for name, schema in schemas().items():
        for version in VersionRange.parse(schema.get("only391", "none")):
            assert version in declared()[name].valid_versions, name
            gone += 1
    assert gone > 100
    for message in (LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest):
        assert not {"in440", "in430"} & set(schemas()[message.name])


def test_racks_come_with_the_versions_that_kip_36_gives_them():
    versions = {
        owner: str(field.versions)
        for owner, record in (
            ("MetadataResponse", MetadataResponse.Broker),
            ("UpdateMetadataRequest", UpdateMetadataRequest.Broker),
            ("TopicMetadataResponse", TopicMetadataResponse.Broker),
            ("Broker", Broker),
        )
        for field in declaration_of(record).fields
        if field.name == "rack"
    }
    assert versions == {
        "MetadataResponse": "1+",
        "UpdateMetadataRequest": "2+",
        "TopicMetadataResponse": "1+",
        "Broker": "0+",
    }


def test_the_racks_of_the_diskless_proposals_come_last_and_may_be_dropped():
    for message, version in ((MetadataRequest, 14), (DescribeTopicPartitionsRequest, 1)):
        rack = declaration_of(message).fields[-1]
        assert (rack.name, str(rack.versions), rack.ignorable) == ("rack_id", f"{version}+", True)
        assert message.valid_versions.highest == version
        assert message(rack_id="a").rack_id == "a"


def test_the_rack_of_a_subscription_is_on_the_wire_from_version_3_not_2():
    asked = ConsumerProtocolSubscription(rack_id="a")
    assert protocol.decode_named("ConsumerProtocolSubscription", 2, protocol.encode(asked, 2)).rack_id is None
    assert protocol.decode_named("ConsumerProtocolSubscription", 3, protocol.encode(asked, 3)).rack_id == "a"


def test_kip_36s_broker_writes_port_before_host_and_minus_1_for_no_rack():
    broker = Broker(id=1, endpoints=[Broker.Endpoint(port=9092, host="h", protocol=2)])
    assert protocol.encode(broker, 0).hex() == "0000000100000001000023840001680002ffff"
    broker.rack = "a"
    assert protocol.encode(broker, 0).hex().endswith("0002000161")


def test_kip_36s_topic_metadata_v1_is_v0_with_the_racks_of_brokers():
    brokers = [TopicMetadataResponse.Broker(node_id=1, host="h", port=2, rack="a")]
    response = TopicMetadataResponse(brokers=brokers)
    assert protocol.encode(response, 0).hex() == "00000001000000010001680000000200000000"
    assert protocol.encode(response, 1).hex() == "00000001000000010001680000000200016100000000"
    assert protocol.encode(TopicMetadataRequest(topics=["t"]), 0) == protocol.encode(
        TopicMetadataRequest(topics=["t"]), 1
    )
