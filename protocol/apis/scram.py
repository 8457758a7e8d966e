"""DescribeUserScramCredentials (key 50) and AlterUserScramCredentials (51): passwords for SASL/SCRAM (KIP-554)."""

from ..declare import field, record, request, response
from ..wire import Array, Bytes, Int8, Int16, Int32, String


@request(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest:
    """Users to ask about."""

    @record
    class User:
        name: str = field(String)

    users: list[User] | None = field(Array(User), nullable="0+")  # null or empty: all


@response(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse:
    """The mechanisms each user has credentials for, never the credentials."""

    @record
    class Result:
        @record
        class CredentialInfo:
            mechanism: int = field(Int8)  # 1: SCRAM-SHA-256; 2: SCRAM-SHA-512
            iterations: int = field(Int32)

        user: str = field(String)
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")
        credential_infos: list[CredentialInfo] = field(Array(CredentialInfo))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    results: list[Result] = field(Array(Result))


@request(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest:
    """Credentials to remove and to set."""

    @record
    class Deletion:
        name: str = field(String)
        mechanism: int = field(Int8)

    @record
    class Upsertion:
        name: str = field(String)
        mechanism: int = field(Int8)
        iterations: int = field(Int32)
        salt: bytes = field(Bytes)
        salted_password: bytes = field(Bytes)

    deletions: list[Deletion] = field(Array(Deletion))
    upsertions: list[Upsertion] = field(Array(Upsertion))


@response(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse:
    """How that went, for each user."""

    @record
    class Result:
        user: str = field(String)
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")

    throttle_time_ms: int = field(Int32)
    results: list[Result] = field(Array(Result))
