"""DescribeConfigs (key 32), AlterConfigs (33), IncrementalAlterConfigs (44), ListConfigResources (74).

They read and write cluster.configs, and the loggers of the broker that serves the request.
Errors, per resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_REQUEST, INVALID_CONFIG,
REQUEST_TIMED_OUT, and TOPIC_, GROUP_ or CLUSTER_AUTHORIZATION_FAILED; DescribeConfigs returns INVALID_REQUEST for all
if one type is unknown.
Source: KIP-133, KIP-226, KIP-339, KIP-412, KIP-569, KIP-714, KIP-848, KIP-1142; ConfigHelper, ConfigAdminManager,
KafkaApis, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.handlers.error_responses import reported
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.configs.alterations import (
    KINDS,
    LOGGERS,
    Change,
    ConfigAlterations,
    ConfigOperation,
    check_broker_id,
    check_changes,
)
from mockbroker.state.configs.effective import (
    ConfigSource,
    DescribedConfig,
    broker_configs,
    resource_configs,
    shared_configs,
)
from mockbroker.state.configs.resource_rules import check_named
from mockbroker.state.configs.values import ConfigType
from mockbroker.state.errors import ApiError
from mockbroker.state.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from mockbroker.state.security.operations import Operation
from mockbroker.state.topics.topic import check_topic_name
from protocol.apis.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from protocol.error_codes import ErrorCode

SERVED = (TOPIC_RESOURCE, BROKER_RESOURCE, LOGGERS, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)
BESIDE_TOPICS = "brokers, their loggers and client metrics: {0} on the cluster; groups: {0} on the group"

Config = DescribeConfigsResponse.Result.Config


@handles(
    DescribeConfigsRequest,
    access=Needs(topic="DescribeConfigs", note=BESIDE_TOPICS.format("DescribeConfigs"), handler="all"),
    errors=Errors(injected="request", words="meaning"),
)
def describe_configs(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """All configs of each resource, or those that the request names."""
    unknown = [one.resource_type for one in request.resources if one.resource_type not in SERVED]
    if unknown:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"expected a resource type of {list(SERVED)}, got {unknown[0]}")
    response = DescribeConfigsResponse()
    for resource in request.resources:
        entry = DescribeConfigsResponse.Result(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=""
        )
        with reported(entry):
            check_access(call, Operation.DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name)
            described = described_configs(call, resource.resource_type, resource.resource_name)
            wanted = frozenset(resource.configuration_keys or ())
            entry.configs = [config(call, one, request) for one in described if not wanted or one.name in wanted]
        response.results.append(entry)
    return response


def check_access(call: Call, operation: Operation, resource_type: int, name: str) -> None:
    """Raises ApiError unless the client may do an operation on a topic or a group, for all else on the cluster."""
    if resource_type == TOPIC_RESOURCE:
        may, code = call.access.may_topic(operation, name), ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif resource_type == GROUP_RESOURCE:
        may, code = call.access.may_group(operation, name), ErrorCode.GROUP_AUTHORIZATION_FAILED
    else:
        may, code = call.access.may_cluster(operation), ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if not may:
        alters_broker = operation == Operation.ALTER_CONFIGS and resource_type in (BROKER_RESOURCE, LOGGERS)
        raise ApiError(code, None if alters_broker else code.meaning)


def described_configs(call: Call, resource_type: int, name: str) -> Iterable[DescribedConfig]:
    """The configs of one resource. Raises ApiError."""
    configs = call.cluster.configs
    if resource_type == TOPIC_RESOURCE:
        check_topic_name(name)
        if name not in call.cluster.topics:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")  # as Kafka
    if resource_type == BROKER_RESOURCE and not name:
        return shared_configs(configs, call.broker)
    if resource_type in (BROKER_RESOURCE, LOGGERS):
        check_broker_id(name, call.broker.id)
        return broker_configs(configs, call.broker) if resource_type == BROKER_RESOURCE else loggers(call.broker)
    check_named(name)
    return resource_configs(configs, call.broker, KINDS[resource_type], name)


def loggers(broker: Broker) -> Iterable[DescribedConfig]:
    """A broker's loggers, as configs whose value is the level."""
    source = ConfigSource.DYNAMIC_BROKER_LOGGER
    return [DescribedConfig(name, level, source, []) for name, level in broker.loggers.levels().items()]


def config(call: Call, described: DescribedConfig, request: DescribeConfigsRequest) -> Config:
    definition = described.definition
    documentation = "" if described.source is ConfigSource.DYNAMIC_BROKER_LOGGER else None
    if request.include_documentation and definition is not None and definition.name == described.name:
        documentation = definition.documentation
    entry = Config(
        name=described.name,
        value=described.value,
        read_only=described.is_read_only,
        config_source=described.source,
        is_sensitive=described.is_sensitive,
        config_type=ConfigType.UNKNOWN if definition is None else definition.type,
        documentation=documentation,
    )
    if call.version == 0:
        entry.is_default = described.source == ConfigSource.DEFAULT
    elif request.include_synonyms:
        entry.synonyms = [
            Config.Synonym(name=name, value=value, source=source) for name, value, source in described.synonyms
        ]
    return entry


ALTERS = Needs(topic="AlterConfigs", note=BESIDE_TOPICS.format("AlterConfigs"), handler="all")


@handles(AlterConfigsRequest, access=ALTERS, errors=Errors(injected="request"))
@handles(IncrementalAlterConfigsRequest, access=ALTERS, errors=Errors(injected="request"))
def alter_configs(call: Call, request: Any) -> Any:
    """Replace all dynamic configs of each resource, or change single ones.

    The broker checks all resources, then forwards the valid ones to the controller. If the controller fails at one,
    all forwarded resources have UNKNOWN_SERVER_ERROR.
    """
    alterations = ConfigAlterations(call.cluster.configs, call.broker, request.validate_only)
    is_whole = isinstance(request, AlterConfigsRequest)
    response: Any = AlterConfigsResponse() if is_whole else IncrementalAlterConfigsResponse()
    keys = [(one.resource_type, one.resource_name) for one in request.resources]
    times = Counter(keys)
    forwarded, planned = [], []
    for key, resource in zip(keys, request.resources, strict=True):
        entry = response.Resource(error_message=None, resource_type=key[0], resource_name=key[1])
        response.responses.append(entry)
        with reported(entry):
            if times[key] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "expected each resource once")
            changes = changes_of(resource)
            check_changes(changes)
            if key[0] in SERVED:
                check_access(call, Operation.ALTER_CONFIGS, *key)
            plan = alterations.checked(key, changes, whole=is_whole)
            if plan is not None:
                forwarded.append((entry, plan))
    for entry, plan in forwarded:
        with reported(entry):
            check_controller(call)
            planned.append(plan())
    if any(entry.error_code == ErrorCode.UNKNOWN_SERVER_ERROR for entry, _ in forwarded):
        for entry, _ in forwarded:
            entry.error_code, entry.error_message = ErrorCode.UNKNOWN_SERVER_ERROR, None  # as Kafka
    elif not request.validate_only:
        for kind, name, new in planned:
            if new:
                call.cluster.configs.write(kind, name, new)
    return response


def changes_of(resource: AlterConfigsRequest.Resource | IncrementalAlterConfigsRequest.Resource) -> list[Change]:
    """The changes of a resource; AlterConfigs only sets values."""
    return [(one.name, getattr(one, "config_operation", ConfigOperation.SET), one.value) for one in resource.configs]


@handles(ListConfigResourcesRequest, access=Needs(cluster="DescribeConfigs"))
def list_config_resources(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """All topics, brokers and loggers of the requested types; groups and client metrics only if they have configs."""
    served = SERVED if call.version >= 1 else (CLIENT_METRICS_RESOURCE,)
    wanted = request.resource_types or served
    if not set(wanted) <= set(served):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    view = call.view
    brokers = sorted(str(broker.id) for broker in view.live_brokers())
    names = {
        GROUP_RESOURCE: call.cluster.configs.resources("group"),
        CLIENT_METRICS_RESOURCE: call.cluster.configs.resources("client_metrics"),
        LOGGERS: brokers,
        BROKER_RESOURCE: brokers,
        TOPIC_RESOURCE: view.topic_names(),
    }
    return ListConfigResourcesResponse(
        config_resources=[
            ListConfigResourcesResponse.ConfigResource(resource_name=name, resource_type=kind)
            for kind, found in names.items()
            if kind in wanted
            for name in found
        ]
    )
