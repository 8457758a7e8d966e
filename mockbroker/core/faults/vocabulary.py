"""The words of a fault: which fields there are, what each may hold, and the JSON Schema that says the same.

``schema.json`` beside this module is what ``json_schema`` gives, for editors and for clients in other languages. The
cluster itself reads faults by ``fault.py``; a test holds both to the same judgement.
"""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
from protocol.registry import APIS

MAX_MS = 2**31 - 1
MAX_NUMBER = 2**31 - 1
MAX_BYTES_PER_SECOND = 2**40
MAX_NAME = 32767  # of a string on the wire

NUMBER_FIELDS = ("broker", "partition")
MATCH_FIELDS = (
    "api",
    "broker",
    "rack",
    "client_id",
    "client_rack",
    "client_address",
    "listener",
    "topic",
    "partition",
    "group",
)
EFFECTS = ("error", "delay_ms", "disconnect", "silence", "throttle_ms", "bandwidth", "cut")
CHOICES = ("on_call", "every", "probability")  # of a When at most one
FAULT_FIELDS = ("id", "match", "link", "effect", "when")

API_NAMES = tuple(sorted(name for _, name in APIS.values()))
ERROR_NAMES = tuple(code.name for code in ErrorCode if code is not ErrorCode.NONE)

END = r"(?![\s\S])"  # the end of the text in every dialect, where $ may let a line end pass
ID_PATTERN = r"^[A-Za-z0-9._:@-]{1,100}" + END
WILDCARD_PATTERN = r"\*"
BANDWIDTH_PATTERN = (
    r"^(?:[1-9][0-9]{0,8}(?:\.[0-9]{1,3})? ?(?:B|kB|KB|MB|GB|KiB|MiB|GiB|kbit|Mbit|Gbit)"
    r"|0\.[0-9]{0,2}[1-9] ?(?:kB|KB|MB|GB|KiB|MiB|GiB|kbit|Mbit|Gbit))/s" + END
)
OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"(?:{OCTET}\.){{3}}{OCTET}"
GROUP = "[0-9A-Fa-f]{1,4}"
IPV6 = (
    "(?:"
    rf"(?:{GROUP}:){{7}}{GROUP}"
    rf"|(?:{GROUP}:){{1,7}}:"
    rf"|(?:{GROUP}:){{1,6}}:{GROUP}"
    rf"|(?:{GROUP}:){{1,5}}(?::{GROUP}){{1,2}}"
    rf"|(?:{GROUP}:){{1,4}}(?::{GROUP}){{1,3}}"
    rf"|(?:{GROUP}:){{1,3}}(?::{GROUP}){{1,4}}"
    rf"|(?:{GROUP}:){{1,2}}(?::{GROUP}){{1,5}}"
    rf"|{GROUP}:(?::{GROUP}){{1,6}}"
    rf"|:(?::{GROUP}){{1,7}}"
    "|::"
    ")"
)
ADDRESS_PATTERN = rf"^(?:{IPV4}(?:/(?:3[0-2]|[12]?[0-9]))?|{IPV6}(?:/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?){END}"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a fault file: a list of faults, or an object with ``faults``; ``$defs.fault`` is one."""
    faults = {"type": "array", "items": {"$ref": "#/$defs/fault"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faults of a kafka-rack cluster",
        "description": "What is to go wrong: which calls (match) or which links, how (effect), and how often (when).",
        "oneOf": [
            faults,
            {
                "type": "object",
                "properties": {"faults": faults},
                "required": ["faults"],
                "additionalProperties": False,
            },
        ],
        "$defs": {
            "fault": fault_schema(),
            "match": match_schema(),
            "link": link_schema(),
            "effect": effect_schema(),
            "when": when_schema(),
        },
    }


def fault_schema() -> dict[str, Any]:
    """One fault. ``cut`` takes a link and nothing beside it; a link stands beside ``match`` or in it, once."""
    link_in_match = {"properties": {"match": {"required": ["link"]}}, "required": ["match"]}
    cuts = {"properties": {"effect": {"required": ["cut"]}}, "required": ["effect"]}
    only_link = {"maxProperties": 1, "required": ["link"]}
    return {
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": ID_PATTERN, "description": "default: fault-1, ..."},
            "match": {"$ref": "#/$defs/match"},
            "link": {"$ref": "#/$defs/link"},
            "effect": {"$ref": "#/$defs/effect"},
            "when": {"$ref": "#/$defs/when"},
        },
        "required": ["effect"],
        "additionalProperties": False,
        "allOf": [
            {"if": link_in_match, "then": {"not": {"required": ["link"]}}},
            {
                "if": cuts,
                "then": {
                    "anyOf": [
                        {"required": ["link"], "properties": {"match": {"maxProperties": 0}}},
                        {"required": ["match"], "properties": {"match": only_link}},
                    ],
                    "properties": {"when": {"maxProperties": 0}},
                },
            },
        ],
    }


def one_or_more(value: dict[str, Any], what: str) -> dict[str, Any]:
    """A value, or a list of such."""
    return {"description": what, "anyOf": [value, {"type": "array", "items": value, "minItems": 1}]}


def match_schema() -> dict[str, Any]:
    name = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
    number = {"type": "integer", "minimum": 0, "maximum": MAX_NUMBER}
    api = {"type": "string", "anyOf": [{"enum": list(API_NAMES)}, {"pattern": WILDCARD_PATTERN}]}
    address = {"type": "string", "pattern": ADDRESS_PATTERN}
    return {
        "description": "Which calls. A field that is left out matches all; of a list one is enough.",
        "type": "object",
        "properties": {
            "api": one_or_more(api, "Kafka's name of the API; * matches any letters"),
            "broker": one_or_more(number, "the broker's id"),
            "rack": one_or_more(name, "the broker's rack; * matches any letters"),
            "client_id": one_or_more(name, "* matches any letters"),
            "client_rack": one_or_more(name, "the client's rack, once it is known; * matches any letters"),
            "client_address": one_or_more(address, "an address or a CIDR block, as 10.0.0.0/8"),
            "listener": one_or_more(name, "the listener's name; * matches any letters"),
            "topic": one_or_more(name, "a topic that the request names; * matches any letters"),
            "partition": one_or_more(number, "a partition that the request names"),
            "group": one_or_more(name, "a group that the request names; * matches any letters"),
            "link": {"$ref": "#/$defs/link"},
        },
        "additionalProperties": False,
    }


def link_schema() -> dict[str, Any]:
    rack = {"type": "string", "minLength": 1, "maxLength": MAX_NAME}
    return {
        "description": "Brokers to each other, and clients whose rack is known to brokers; * matches any letters.",
        "oneOf": [
            {
                "type": "object",
                "properties": {"between": {"type": "array", "items": rack, "minItems": 2, "maxItems": 2}},
                "required": ["between"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"from": rack, "to": rack},
                "required": ["from", "to"],
                "additionalProperties": False,
            },
        ],
    }


def effect_schema() -> dict[str, Any]:
    def only(name: str, value: dict[str, Any], **others: Any) -> dict[str, Any]:
        properties = {name: value, **others}
        return {"type": "object", "properties": properties, "required": [name], "additionalProperties": False}

    ms = {"type": "integer", "minimum": 0, "maximum": MAX_MS}
    rate = {
        "anyOf": [
            {"type": "string", "pattern": BANDWIDTH_PATTERN},
            {"type": "integer", "minimum": 1, "maximum": MAX_BYTES_PER_SECOND},
        ]
    }
    return {
        "description": "What goes wrong: exactly one.",
        "oneOf": [
            only("error", {"enum": list(ERROR_NAMES), "description": "answered in place of the truth"}),
            only("delay_ms", ms, jitter_ms={**ms, "description": "up to so much more, drawn from the seed"}),
            only("disconnect", {"const": True, "description": "the connection is closed without an answer"}),
            only("silence", {"const": True, "description": "never answered; the connection stays open"}),
            only("throttle_ms", {**ms, "minimum": 1, "description": "sent to the client, then the connection waits"}),
            only("bandwidth", {**rate, "description": 'bytes a second, as "1MiB/s" or a number'}),
            only("cut", {"const": True, "description": "of a link: nothing gets through"}),
        ],
    }


def when_schema() -> dict[str, Any]:
    count = {"type": "integer", "minimum": 1, "maximum": MAX_NUMBER}
    return {
        "description": "How often; left out: each matching call.",
        "type": "object",
        "properties": {
            "times": {**count, "description": "at most so often"},
            "on_call": {**count, "description": "on this matching call alone, counted from 1"},
            "every": {**count, "description": "on every so-many-th matching call"},
            "probability": {"type": "number", "minimum": 0, "maximum": 1, "description": "drawn from the seed"},
        },
        "additionalProperties": False,
        "not": {
            "anyOf": [
                {"required": [one, other]} for number, one in enumerate(CHOICES) for other in CHOICES[number + 1 :]
            ]
        },
    }
