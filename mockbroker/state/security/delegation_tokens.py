"""Delegation tokens: what somebody who has logged in may hand to programs, which log in by it with SCRAM.

A token's password is the HMAC of its id under the brokers' secret key, so nothing secret is kept of it. Kafka looks
for expired tokens once in an interval, and so is it done here from the first token on; until then they can be used,
though a session that begins with one has ended already.
Source: KIP-48, KIP-373, KIP-900; DelegationTokenControlManager, DelegationTokenManager and ScramServerCallbackHandler,
Apache Kafka 4.4.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

from mockbroker.state.errors import ApiError
from mockbroker.state.features import METADATA_VERSION, feature_level
from mockbroker.state.security.mechanisms import (
    MIN_ITERATIONS,
    SCRAM_MECHANISMS,
    ScramCredential,
    ScramToken,
    salted_password,
)
from mockbroker.state.security.scram import Upsertion, credential
from mockbroker.state.topics.topic import random_uuid
from protocol.embedded.metadata_security import DelegationTokenRecord, RemoveDelegationTokenRecord
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

USER_TYPE = "User"
METADATA_LEVEL = 14
"""``metadata.version`` 3.6-IV2, with which tokens came to KRaft mode."""
MAX_TIME_MS = 2**63 - 1
SETTING = "delegation.token."
SALT_BYTES = 16
HASH = "sha512"
SUBSYSTEM = "delegation tokens"


class DelegationTokens:
    """The tokens of a cluster, which keeps them in its image; made when they are asked for.

    Args:
        cluster: whose tokens.
    """

    __slots__ = ("_cluster", "_sweeps")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        sweeps = cluster.timers.find(SUBSYSTEM)
        self._sweeps = cluster.timers.subsystem(SUBSYSTEM, self._on_timer) if sweeps is None else sweeps

    @property
    def is_enabled(self) -> bool:
        """Whether brokers have a secret key, without which there are no tokens."""
        return bool(self._setting("secret.key"))

    @property
    def records(self) -> list[DelegationTokenRecord]:
        """All tokens."""
        return list(self._cluster.image.delegation_tokens.values())

    def create(
        self, owner: str, requester: str, renewers: Iterable[str], max_lifetime_ms: int, now_ms: int
    ) -> DelegationTokenRecord:
        """A new token.

        Args:
            owner, requester: principals: whose it is, and who asks for it.
            renewers: who may put off its expiry beside the owner.
            max_lifetime_ms: 0 or less: as long as may be.

        Raises ApiError: DELEGATION_TOKEN_AUTH_DISABLED, UNSUPPORTED_VERSION.
        """
        self._check()
        wall_ms = self._cluster.clock.at(now_ms)
        longest_ms = self._setting("max.lifetime.ms")
        last_ms = later(wall_ms, min(longest_ms, max_lifetime_ms) if max_lifetime_ms > 0 else longest_ms)
        record = DelegationTokenRecord(
            owner=owner,
            requester=requester,
            renewers=list(renewers),
            issue_timestamp=wall_ms,
            max_timestamp=last_ms,
            expiration_timestamp=min(last_ms, later(wall_ms, self._setting("expiry.time.ms"))),
            token_id=base64.urlsafe_b64encode(random_uuid(self._cluster.rng)).decode().rstrip("="),
        )
        self._cluster.writer.commit([record])
        self.watch(now_ms)
        return record

    def renew(self, password: bytes, principal: str, period_ms: int, now_ms: int) -> int:
        """Put off a token's expiry; gives the new time.

        Args:
            password: the token's HMAC.
            period_ms: from now; 0 or less: as is set.

        Raises ApiError: DELEGATION_TOKEN_AUTH_DISABLED, UNSUPPORTED_VERSION, DELEGATION_TOKEN_NOT_FOUND,
            DELEGATION_TOKEN_EXPIRED, DELEGATION_TOKEN_OWNER_MISMATCH.
        """
        self._check()
        wall_ms = self._cluster.clock.at(now_ms)
        record = self._find(password)
        if has_expired(record, wall_ms):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        check_renewer(record, principal)
        usual_ms = self._setting("expiry.time.ms")
        until_ms = later(wall_ms, min(usual_ms, period_ms) if period_ms > 0 else usual_ms)
        return self._expire_at(record, min(record.max_timestamp, until_ms))

    def expire(self, password: bytes, principal: str, period_ms: int, now_ms: int) -> int:
        """Have a token expire after a time, or at once where that is negative; gives when.

        Raises ApiError: as ``renew``.
        """
        self._check()
        wall_ms = self._cluster.clock.at(now_ms)
        record = self._find(password)
        check_renewer(record, principal)
        if period_ms < 0:
            self._cluster.writer.commit([RemoveDelegationTokenRecord(token_id=record.token_id)])
            return wall_ms
        if has_expired(record, wall_ms):
            raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        return self._expire_at(record, min(record.max_timestamp, later(wall_ms, period_ms)))

    def password_of(self, token_id: str) -> bytes:
        """The HMAC of a token's id."""
        return hmac.digest(self._key, token_id.encode(), HASH)

    def login(self, mechanism: str, token_id: str, entropy: Callable[[int], bytes]) -> ScramToken | None:
        """What a client has to prove that it knows of a token, by a SCRAM mechanism; None where there is no such."""
        record = self._cluster.image.delegation_tokens.get(token_id)
        if record is None or not self.is_enabled:
            return None
        number, salt = SCRAM_MECHANISMS[mechanism], entropy(SALT_BYTES)
        password = base64.b64encode(self.password_of(token_id)).decode()
        hashed = salted_password(number, password, salt)
        known = ScramCredential.of_record(credential(Upsertion(token_id, number, MIN_ITERATIONS, salt, hashed)))
        expires_ms = record.expiration_timestamp - self._cluster.clock.offset_ms
        return ScramToken(record.owner.partition(":")[2], expires_ms, known)

    # expiry

    def watch(self, now_ms: int) -> None:
        """Look for expired tokens from now on, as long as there are any."""
        if self._cluster.image.delegation_tokens and "sweep" not in self._sweeps:
            self._sweeps.set("sweep", now_ms + self._setting("expiry.check.interval.ms"))

    def sweep(self, now_ms: int) -> None:
        """Remove the tokens that have expired."""
        wall_ms = self._cluster.clock.at(now_ms)
        expired = [one.token_id for one in self.records if has_expired(one, wall_ms)]
        if expired:
            self._cluster.writer.commit([RemoveDelegationTokenRecord(token_id=token_id) for token_id in expired])

    def _on_timer(self, _key: str, now_ms: int) -> None:
        self.sweep(now_ms)
        self._sweeps.cancel("sweep")
        self.watch(now_ms)

    # inside

    def _setting(self, name: str) -> Any:
        return self._cluster.configs.broker(None, SETTING + name)

    @property
    def _key(self) -> bytes:
        return str(self._setting("secret.key")).encode()

    def _check(self) -> None:
        if not self.is_enabled:
            raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        if feature_level(self._cluster, METADATA_VERSION) < METADATA_LEVEL:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)

    def _find(self, password: bytes) -> DelegationTokenRecord:
        found, key = None, self._key
        for record in self.records:
            if hmac.compare_digest(hmac.digest(key, record.token_id.encode(), HASH), password):
                found = record
        if found is None:
            raise ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return found

    def _expire_at(self, record: DelegationTokenRecord, expires_ms: int) -> int:
        changed = copy(record)
        changed.expiration_timestamp = expires_ms
        self._cluster.writer.commit([changed])
        return expires_ms


def later(wall_ms: int, duration_ms: int) -> int:
    """A time after another, the last that there is where that would be beyond it."""
    return min(MAX_TIME_MS, wall_ms + duration_ms)


def has_expired(record: DelegationTokenRecord, wall_ms: int) -> bool:
    return record.max_timestamp < wall_ms or record.expiration_timestamp < wall_ms


def check_renewer(record: DelegationTokenRecord, principal: str) -> None:
    """Raises ApiError: DELEGATION_TOKEN_OWNER_MISMATCH: a token is neither somebody's nor his to renew."""
    if principal != record.owner and principal not in record.renewers:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def concerns(record: DelegationTokenRecord, principal: str) -> bool:
    """Whether a token is somebody's: to use, to renew, or as asked for."""
    return principal in (record.owner, record.requester, *record.renewers)
