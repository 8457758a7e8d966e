"""Mends on the way of a call: which frame goes on in place of the one that came, and what an answer says instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from mockbroker.proxy.headers import with_client_id
from mockbroker.proxy.mends import mend_answer, mend_request, mended_client_id, mends_answer, mends_request
from protocol.codec import codec
from protocol.headers import request_frame, request_header_version
from protocol.registry import message_class

if TYPE_CHECKING:
    from mockbroker.call import Call
    from mockbroker.proxy.mends import Mends
    from mockbroker.proxy.mirror import Mirror


class Mending:
    """Does what ``mends`` asks for, with the racks that sessions and the mirror know."""

    def __init__(self, mends: Mends, mirror: Mirror) -> None:
        self.mends, self._mirror = mends, mirror

    def frame_of(self, call: Call, changed: Any = None) -> Sequence[bytes] | None:
        """The frame of a request with its length, None where the one that came is to go on.

        Args:
            changed: the request that a fault left of the one that came.

        Raises: ProtocolError.
        """
        session, mends = call.session, self.mends
        request = changed
        if session.rack and mends_request(mends, call.api_key, call.version):
            if request is None:  # observers see what the client said
                decode = codec(message_class(call.api_key, "request"), call.version).brief_decoder()
                request, _ = decode(call.frame, call.body_start)
            is_mended = mend_request(mends, call.api_key, call.version, request, session.rack)
            if not is_mended and changed is None:
                request = None
        client_id = session.client_id
        if mends.zone_key is not None:
            client_id = mended_client_id(mends, client_id, session.rack)
        if request is not None:
            return (request_frame(request, call.version, correlation_id=call.correlation_id, client_id=client_id),)
        if client_id == session.client_id:
            return None
        version = request_header_version(call.api_key, call.version)
        return cast("list[bytes]", with_client_id(call.frame, call.body_start, client_id, version))

    def looks_at_answer(self, api_key: int) -> bool:
        """Whether an answer might be mended."""
        return mends_answer(self.mends, api_key)

    def mend_answer(self, call: Call, response: Any) -> bool:
        """Choose the brokers of diskless topics; whether that changed the answer."""
        racks = self._mirror.cluster.rack_by_online_broker()
        diskless = self._mirror.diskless_topics
        return mend_answer(self.mends, call.api_key, call.version, response, call.session.rack, racks, diskless)
