"""DescribeClientQuotas (key 48), AlterClientQuotas (49): limits for users, clients and addresses.

They read and change the quotas in the image. Errors: INVALID_REQUEST, UNSUPPORTED_VERSION.
Source: KIP-546; KafkaApis.handleDescribeClientQuotasRequest, ControllerApis.handleAlterClientQuotas, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.handlers.error_responses import reported
from mockbroker.state.errors import ApiError, invalid_request
from mockbroker.state.image import QuotaEntity
from mockbroker.state.quotas.client_quotas import Component, describe_quotas, key_of, quota_records
from protocol.apis.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from protocol.embedded.metadata_settings import ClientQuotaRecord

Described = DescribeClientQuotasResponse.Entry
Altered = AlterClientQuotasResponse.Entry


@handles(DescribeClientQuotasRequest, access=Needs(cluster="DescribeConfigs"), errors=Errors(failed={"entries": None}))
def describe_client_quotas(call: Call, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """The limits of the entities that match the request."""
    components = [Component(one.entity_type, one.match_type, one.match) for one in request.components]
    return DescribeClientQuotasResponse(
        entries=[
            Described(
                entity=[Described.Entity(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[Described.Value(key=key, value=limit) for key, limit in limits.items()],
            )
            for entity, limits in describe_quotas(call.cluster.image, components, strict=request.strict)
        ]
    )


def each_entity(
    request: AlterClientQuotasRequest, answer: AlterClientQuotasResponse, _error: ApiError, _version: int
) -> AlterClientQuotasResponse:
    """The answer to a failed request, with each entity's name."""
    for entry, alteration in zip(answer.entries, request.entries, strict=True):
        entry.entity = [
            AlterClientQuotasResponse.Entry.Entity(entity_type=part.entity_type, entity_name=part.entity_name)
            for part in alteration.entity
        ]
    return answer


@handles(
    AlterClientQuotasRequest, access=Needs(cluster="AlterConfigs"), errors=Errors(words="meaning", odd=each_entity)
)
def alter_client_quotas(call: Call, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    """Change the limits of each entity.

    A repeated entity gets an error instead of its first result, but the first change is applied.
    """
    check_controller(call)
    writer, entries = call.cluster.writer, dict[QuotaEntity, Altered]()
    records: list[ClientQuotaRecord] = []
    for wanted in request.entries:
        entity = {part.entity_type: part.entity_name for part in wanted.entity}
        key = key_of(entity)
        entry = Altered(
            error_message=None,
            entity=[Altered.Entity(entity_type=kind, entity_name=name) for kind, name in sorted(entity.items())],
        )
        with reported(entry):
            if key in entries or len({op.key for op in wanted.ops}) < len(wanted.ops):
                raise invalid_request(f"expected each entity and each of its keys once, got {entity}")
            limits = [(op.key, None if op.remove else op.value) for op in wanted.ops]
            records += quota_records(writer.image, entity, limits)
        entries[key] = entry
    if not request.validate_only:
        writer.commit(records)
    return AlterClientQuotasResponse(entries=list(entries.values()))
