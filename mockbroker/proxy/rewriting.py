"""Applies rewrites to calls: to the frame that is forwarded, and to the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mockbroker.proxy.rewrites import (
    rewrite_answer,
    rewrite_request,
    rewrites_answer,
    rewrites_request,
    rewritten_client_id,
)
from protocol.codec import codec
from protocol.headers import request_frame
from protocol.registry import message_class

if TYPE_CHECKING:
    from mockbroker.call import Call
    from mockbroker.proxy.mirror import Mirror
    from mockbroker.proxy.rewrites import Rewrites


class Rewriting:
    """Applies ``rewrites``, with the racks of sessions and of the mirror."""

    def __init__(self, rewrites: Rewrites, mirror: Mirror) -> None:
        self.rewrites, self._mirror = rewrites, mirror

    def frame_of(self, call: Call, changed: Any = None) -> Sequence[bytes] | None:
        """The frame of a rewritten request with its length, None if the received frame stays.

        Args:
            changed: the request after a fault has removed a part.

        Raises: ProtocolError.
        """
        session, rewrites = call.session, self.rewrites
        request = changed
        if session.rack and rewrites_request(rewrites, call.api_key, call.version):
            if request is None:  # a copy: observers see the client's request
                decode = codec(message_class(call.api_key, "request"), call.version).brief_decoder()
                request, _ = decode(call.frame, call.body_start)
            is_rewritten = rewrite_request(rewrites, call.api_key, call.version, request, session.rack)
            if not is_rewritten and changed is None:
                request = None
        client_id = session.client_id
        if rewrites.zone_key is not None:
            client_id = rewritten_client_id(rewrites, client_id, session.rack)
        if request is None and client_id != session.client_id:
            request = call.request
        if request is None:
            return None
        return (request_frame(request, call.version, correlation_id=call.correlation_id, client_id=client_id),)

    def looks_at_answer(self, api_key: int) -> bool:
        """True if an answer might be rewritten."""
        return rewrites_answer(self.rewrites, api_key)

    def rewrite_answer(self, call: Call, response: Any) -> bool:
        """Choose the brokers of diskless topics; True if that changed the answer."""
        racks = self._mirror.cluster.liveness.rack_by_online_broker()
        diskless = self._mirror.diskless_topics
        return rewrite_answer(self.rewrites, call.api_key, call.version, response, call.session.rack, racks, diskless)
