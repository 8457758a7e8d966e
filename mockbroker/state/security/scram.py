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


Deletion = tuple[str, int]  # user and mechanism
Change = RemoveUserScramCredentialRecord | UserScramCredentialRecord
Outcome = tuple[str, ApiError | None]  # user, and the error


def users_with_credentials(image: Image) -> list[str]:
    """The users with credentials, sorted."""
    return sorted({user for user, _ in image.scram_credentials})


def describe_credentials(image: Image, user: str) -> list[tuple[int, int]]:
    """The mechanisms and iterations of a user. Raises ApiError: RESOURCE_NOT_FOUND."""
    held = image.scram_credentials
    found = [(mechanism, held[user, mechanism].iterations) for mechanism in SCRAM_HASHES if (user, mechanism) in held]
    if not found:
        raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, f"user {user} has no credentials")
    return found


def alter_credentials(
    writer: ImageWriter, deletions: Iterable[Deletion], upsertions: Iterable[Upsertion]
) -> list[Outcome]:
    """Remove and set passwords; a user who is named twice gets an error and no changes."""
    accepted: dict[str, Change | Upsertion] = {}
    errors: dict[str, ApiError] = {}
    wanted: list[Deletion | Upsertion] = [*deletions, *upsertions]
    for change in wanted:
        user = change.user if isinstance(change, Upsertion) else change[0]
        if user in errors:
            continue
        try:
            if accepted.pop(user, None) is not None:
                raise ApiError(ErrorCode.DUPLICATE_RESOURCE, f"expected each user once, got {user} again")
            if isinstance(change, Upsertion):
                check_upsertion(change)
                accepted[user] = change
            else:
                accepted[user] = deletion(writer.image, *change)
        except ApiError as error:
            errors[user] = error
    changes: dict[str, Change] = {}
    for user, change_of in accepted.items():
        try:
            changes[user] = credential(change_of) if isinstance(change_of, Upsertion) else change_of
        except ApiError as error:
            errors[user] = error
    writer.commit(changes.values())
    return [*((user, None) for user in changes), *errors.items()]


def deletion(image: Image, user: str, mechanism: int) -> RemoveUserScramCredentialRecord:
    """The record that removes a credential.

    Raises ApiError: UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM, RESOURCE_NOT_FOUND.
    """
    check_user_and_mechanism(user, mechanism)
    if (user, mechanism) not in image.scram_credentials:
        raise ApiError(ErrorCode.RESOURCE_NOT_FOUND, f"user {user} has no credential of mechanism {mechanism}")
    return RemoveUserScramCredentialRecord(name=user, mechanism=mechanism)


def check_upsertion(wanted: Upsertion) -> None:
    """Raises ApiError: UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM."""
    check_user_and_mechanism(wanted.user, wanted.mechanism)
    if not MIN_ITERATIONS <= wanted.iterations <= MAX_ITERATIONS:
        raise ApiError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"expected {MIN_ITERATIONS} to {MAX_ITERATIONS} iterations, got {wanted.iterations}",
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


def check_user_and_mechanism(user: str, mechanism: int) -> None:
    """Raises ApiError: UNACCEPTABLE_CREDENTIAL for an empty name, UNSUPPORTED_SASL_MECHANISM."""
    if not user:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "expected a user's name, got ''")
    if mechanism not in SCRAM_HASHES:
        raise ApiError(
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            f"expected mechanism 1 (SCRAM-SHA-256) or 2 (SCRAM-SHA-512), got {mechanism}",
        )
