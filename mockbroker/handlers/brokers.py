"""UnregisterController (key 94): always fails, because the cluster has one controller, the active one.

Errors: INVALID_REQUEST for the controller itself, CONTROLLER_ID_NOT_REGISTERED.
Source: QuorumController.unregisterController, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.state.errors import ApiError
from protocol.apis.brokers import UnregisterControllerRequest, UnregisterControllerResponse
from protocol.error_codes import ErrorCode


@handles(UnregisterControllerRequest, access=Needs(cluster="Alter"), errors=Errors(words="meaning"))
def unregister_controller(call: Call, request: UnregisterControllerRequest) -> UnregisterControllerResponse:
    """Raises ApiError: INVALID_REQUEST, CONTROLLER_ID_NOT_REGISTERED."""
    check_controller(call)
    active = call.cluster.support.controller_id
    if request.controller_id == active:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"controller {active} is the active one and cannot be unregistered")
    raise ApiError(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, f"expected controller {active}, got {request.controller_id}")
