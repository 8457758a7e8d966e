"""CreateDelegationToken (key 38), RenewDelegationToken (39), ExpireDelegationToken (40), DescribeDelegationToken (41)
(KIP-48).
"""

from ..declare import field, record, request, response
from ..wire import Array, Bytes, Int16, Int32, Int64, String


@request(key=38, versions="0-3", flexible="2+")
class CreateDelegationTokenRequest:
    """Asks for a token; since version 3 on behalf of someone else (KIP-373)."""

    @record
    class Renewer:
        principal_type: str = field(String)
        principal_name: str = field(String)

    owner_principal_type: str | None = field(String, versions="3+", nullable="3+")
    owner_principal_name: str | None = field(String, versions="3+", nullable="3+")
    renewers: list[Renewer] = field(Array(Renewer))
    max_lifetime_ms: int = field(Int64)  # -1: as the broker is set up


@response(key=38, versions="0-3", flexible="2+")
class CreateDelegationTokenResponse:
    """The token."""

    error_code: int = field(Int16)
    principal_type: str = field(String)
    principal_name: str = field(String)
    token_requester_principal_type: str = field(String, versions="3+")
    token_requester_principal_name: str = field(String, versions="3+")
    issue_timestamp_ms: int = field(Int64)
    expiry_timestamp_ms: int = field(Int64)
    max_timestamp_ms: int = field(Int64)
    token_id: str = field(String)
    hmac: bytes = field(Bytes)
    throttle_time_ms: int = field(Int32)


@request(key=39, versions="0-2", flexible="2+")
class RenewDelegationTokenRequest:
    """Puts off the day on which a token expires."""

    hmac: bytes = field(Bytes)
    renew_period_ms: int = field(Int64)


@response(key=39, versions="0-2", flexible="2+")
class RenewDelegationTokenResponse:
    """The new day."""

    error_code: int = field(Int16)
    expiry_timestamp_ms: int = field(Int64)
    throttle_time_ms: int = field(Int32)


@request(key=40, versions="0-2", flexible="2+")
class ExpireDelegationTokenRequest:
    """Brings forward the day on which a token expires."""

    hmac: bytes = field(Bytes)
    expiry_time_period_ms: int = field(Int64)  # negative: at once


@response(key=40, versions="0-2", flexible="2+")
class ExpireDelegationTokenResponse:
    """The new day."""

    error_code: int = field(Int16)
    expiry_timestamp_ms: int = field(Int64)
    throttle_time_ms: int = field(Int32)


@request(key=41, versions="0-3", flexible="2+")
class DescribeDelegationTokenRequest:
    """Whose tokens to show."""

    @record
    class Owner:
        principal_type: str = field(String)
        principal_name: str = field(String)

    owners: list[Owner] | None = field(Array(Owner), nullable="0+")  # null: all


@response(key=41, versions="0-3", flexible="2+")
class DescribeDelegationTokenResponse:
    """Those tokens."""

    @record
    class Token:
        @record
        class Renewer:
            principal_type: str = field(String)
            principal_name: str = field(String)

        principal_type: str = field(String)
        principal_name: str = field(String)
        token_requester_principal_type: str = field(String, versions="3+")
        token_requester_principal_name: str = field(String, versions="3+")
        issue_timestamp: int = field(Int64)
        expiry_timestamp: int = field(Int64)
        max_timestamp: int = field(Int64)
        token_id: str = field(String)
        hmac: bytes = field(Bytes)
        renewers: list[Renewer] = field(Array(Renewer))

    error_code: int = field(Int16)
    tokens: list[Token] = field(Array(Token))
    throttle_time_ms: int = field(Int32)
