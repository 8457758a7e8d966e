"""Users' SCRAM credentials: salted keys that verify a password (KIP-554, KIP-900).

Source: ScramControlManager, ScramImage and ScramMechanism, Apache Kafka 4.4.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.security.mechanisms import MIN_ITERATIONS, SCRAM_HASHES
from protocol.embedded.metadata_security import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.image import Image, ImageWriter

MAX_ITERATIONS = 16384


class Upsertion(NamedTuple):
    """A new password, salted and hashed by the client in this number of iterations."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class CredentialDeletion(NamedTuple):
    """The password of a mechanism to remove."""

    user: str
    mechanism: int


Change = CredentialDeletion | Upsertion


def describe_credentials(image: Image, user: str) -> list[tuple[int, int]]:
    """The mechanisms and iterations of a user. Raises ApiError: RESOURCE_NOT_FOUND."""
    held = image.scram_credentials
    found = [(mechanism, held[user, mechanism].iterations) for mechanism in SCRAM_HASHES if (user, mechanism) in held]
    if not found:
        raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, f"user {user} has no credentials")
    return found


def alter_credentials(writer: ImageWriter, changes: Iterable[Change]) -> dict[str, ApiError | None]:
    """Remove and set passwords; a user who is named twice gets an error and no changes.

    Returns: the error of each user, None for success.
    """
    accepted: dict[str, Change] = {}
    done: dict[str, ApiError | None] = {}
    failed: dict[str, ApiError | None] = {}
    for change in changes:
        user = change.user
        if user not in failed:
            try:
                if accepted.pop(user, None) is not None:
                    raise ApiError(ErrorCode.DUPLICATE_RESOURCE, f"expected each user once, got {user} again")
                check_change(writer.image, change)
                accepted[user] = change
            except ApiError as error:
                failed[user] = error
    records: list[RemoveUserScramCredentialRecord | UserScramCredentialRecord] = []
    for user, change in accepted.items():
        try:
            if isinstance(change, Upsertion):
                records.append(credential(change))
            else:
                records.append(RemoveUserScramCredentialRecord(name=user, mechanism=change.mechanism))
            done[user] = None
        except ApiError as error:
            failed[user] = error
    writer.commit(records)
    return done | failed


def check_change(image: Image, change: Change) -> None:
    """Raises ApiError: UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM, RESOURCE_NOT_FOUND."""
    user, mechanism = change[:2]
    if not user:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "expected a user's name, got ''")
    if mechanism not in SCRAM_HASHES:
        raise ApiError(
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            f"expected mechanism 1 (SCRAM-SHA-256) or 2 (SCRAM-SHA-512), got {mechanism}",
        )
    if isinstance(change, CredentialDeletion):
        if (user, mechanism) not in image.scram_credentials:
            raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, f"user {user} has no credential of mechanism {mechanism}")
    elif not MIN_ITERATIONS <= change.iterations <= MAX_ITERATIONS:
        raise ApiError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"expected {MIN_ITERATIONS} to {MAX_ITERATIONS} iterations, got {change.iterations}",
        )


def credential(wanted: Upsertion) -> UserScramCredentialRecord:
    """The record that sets a credential: keys that verify the password, not the password.

    Raises ApiError: UNKNOWN_SERVER_ERROR for an empty password, after all users were checked.
    """
    if not wanted.salted_password:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # Kafka fails on an empty key, without a message
    name = SCRAM_HASHES[wanted.mechanism]
    client_key = hmac.digest(wanted.salted_password, b"Client Key", name)
    return UserScramCredentialRecord(
        name=wanted.user,
        mechanism=wanted.mechanism,
        salt=wanted.salt,
        stored_key=hashlib.new(name, client_key).digest(),
        server_key=hmac.digest(wanted.salted_password, b"Server Key", name),
        iterations=wanted.iterations,
    )
