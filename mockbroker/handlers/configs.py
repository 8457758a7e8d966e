"""DescribeConfigs (key 32): the settings of topics and brokers, and where each comes from.

Reads cluster.topics and cluster.settings. Errors, per resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST.
Source: KIP-133, KIP-226, KIP-569; ConfigHelper, Apache Kafka.
"""

from __future__ import annotations

from typing import Any

from mockbroker.call import Call, handles
from mockbroker.state.errors import ApiError
from mockbroker.state.settings import DEFAULTS, as_text
from mockbroker.state.topics.topic import TOPIC_DEFAULTS, TOPIC_SETTINGS, Topic
from protocol.apis.configs import DescribeConfigsRequest, DescribeConfigsResponse
from protocol.error_codes import ErrorCode

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4

TOPIC_OVERRIDE = 1  # where a value comes from, as ConfigSource numbers it
STATIC_BROKER = 4
DEFAULT = 5

BOOLEAN, STRING, INT, LONG = 1, 2, 3, 5  # ConfigType
LARGEST_INT = 2**31 - 1

Config = DescribeConfigsResponse.Result.Config


@handles(DescribeConfigsRequest)
def describe_configs(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Each resource's settings, all or those named."""
    response = DescribeConfigsResponse()
    for resource in request.resources:
        entry = DescribeConfigsResponse.Result(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
        )
        try:
            if resource.resource_type == TOPIC_RESOURCE:
                topic = call.cluster.find_topic(resource.resource_name)
                configs = [topic_entry(call, topic, name, request) for name in sorted(TOPIC_SETTINGS)]
            elif resource.resource_type == BROKER_RESOURCE:
                configs = broker_entries(call, resource.resource_name)
            else:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"resources of type {resource.resource_type} are not served")
            wanted = resource.configuration_keys
            entry.configs = [config for config in configs if not wanted or config.name in wanted]
        except ApiError as error:
            entry.error_code, entry.error_message = error.code, error.message
        response.results.append(entry)
    return response


def topic_entry(call: Call, topic: Topic, name: str, request: DescribeConfigsRequest) -> Config:
    source = TOPIC_OVERRIDE if name in topic.configs else topic_config_source(topic, name)
    value = topic.config(name)
    entry = config(call, name, value, source, TOPIC_DEFAULTS[name])
    if request.include_synonyms and call.version >= 1:
        entry.synonyms = synonyms(topic, name)
    return entry


def synonyms(topic: Topic, name: str) -> list[Any]:
    """The places where a topic's setting may be given, nearest first, as far as it is given there."""
    broker_setting, default = TOPIC_SETTINGS[name]
    found = []
    if name in topic.configs:
        found.append((name, topic.configs[name], TOPIC_OVERRIDE))
    if broker_setting is not None:
        if topic.settings.given(broker_setting):
            found.append((broker_setting, topic.settings[broker_setting], STATIC_BROKER))
        found.append((broker_setting, DEFAULTS[broker_setting], DEFAULT))
    elif not found:
        found.append((name, default, DEFAULT))
    return [Config.Synonym(name=at, value=as_text(value), source=source) for at, value, source in found]


def broker_entries(call: Call, name: str) -> list[Config]:
    """A broker's settings, and its own facts; the empty name stands for what holds for all brokers."""
    settings = call.cluster.settings
    if name == "":
        return []
    if not name.isdigit() or int(name) not in call.cluster.brokers:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"broker {name!r} is not one of {sorted(call.cluster.brokers)}")
    broker = call.cluster.brokers[int(name)]
    values = {key: (settings[key], STATIC_BROKER if settings.given(key) else DEFAULT) for key in settings}
    values["node.id"] = (broker.id, STATIC_BROKER)
    values["broker.id"] = (broker.id, STATIC_BROKER)
    values["broker.rack"] = (broker.rack, STATIC_BROKER if broker.rack is not None else DEFAULT)
    listeners = ",".join(f"{one.name}://{one.host}:{one.port}" for one in broker.listeners)
    values["advertised.listeners"] = (listeners, STATIC_BROKER)
    entries = []
    for key in sorted(values):
        value, source = values[key]
        entry = config(call, key, value, source, value)
        entry.read_only = True
        entries.append(entry)
    return entries


def config(call: Call, name: str, value: Any, source: int, default: Any) -> Config:
    entry = Config(
        name=name, value=as_text(value), config_source=source, config_type=config_type(default), documentation=None
    )
    if call.version == 0:
        entry.is_default = source == DEFAULT
    return entry


def topic_config_source(topic: Topic, name: str) -> int:
    """Where a setting that the topic was not given comes from."""
    broker_setting, _ = TOPIC_SETTINGS[name]
    given = broker_setting is not None and topic.settings.given(broker_setting)
    return STATIC_BROKER if given else DEFAULT


def config_type(default: Any) -> int:
    if isinstance(default, bool):
        return BOOLEAN
    if isinstance(default, int):
        return INT if abs(default) < LARGEST_INT else LONG
    return STRING
