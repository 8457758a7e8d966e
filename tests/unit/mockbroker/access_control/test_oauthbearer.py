from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.access_control.oauthbearer import BearerToken, RefusedTokenError, oauthbearer
from mockbroker.access_control.unsecured_tokens import UnsecuredValidator
from mockbroker.state.security.mechanisms import AuthenticationFailedError, BrokenTokenError, InvalidTokenError, Login
from mockbroker.state.timers import WallClock
from tests.exchanged import Exchanged
from tests.tokens import YEAR_2100, bearer, raw, unsecured

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000
CLOCK_AHEAD_MS = 60_000
INVALID = b'{"status":"invalid_token"}'
SCOPES = {"unsecuredValidatorRequiredScope": "read write"}


def exchange(clock: WallClock | None = None, **options: str) -> Exchanged:
    return Exchanged(oauthbearer(UnsecuredValidator(options).validate, clock or WallClock()), NOW_MS)


def refusal(token: str, **options: str) -> RefusedTokenError:
    with pytest.raises(RefusedTokenError) as refused:
        UnsecuredValidator(options).validate(token, NOW_MS)
    return refused.value


def test_a_good_token_says_whose_it_is_and_until_when():
    assert exchange().answer(bearer(unsecured(exp=NOW + 5), {"team": "blue"})) == Login(b"", "alice", NOW_MS + 5000)


def test_a_token_goes_by_the_wall_clock_and_the_session_by_the_other():
    clock = WallClock(CLOCK_AHEAD_MS)
    late = unsecured(exp=(NOW_MS + CLOCK_AHEAD_MS) // 1000 - 1)
    assert exchange(clock).answer(bearer(late)) == INVALID
    good = unsecured(exp=(NOW_MS + CLOCK_AHEAD_MS) // 1000 + 5)
    assert exchange(clock).answer(bearer(good)) == Login(b"", "alice", NOW_MS + 5000)


def test_a_wrong_token_is_told_twice_and_the_second_time_as_an_error():
    one = exchange()
    assert one.answer(bearer("x.y.z")) == INVALID
    with pytest.raises(AuthenticationFailedError) as failed:
        one.answer(b"\1")
    assert str(failed.value) == INVALID.decode()
    assert isinstance(failed.value.__cause__, RefusedTokenError)


def test_another_token_may_follow_a_wrong_one():
    one = exchange()
    assert one.answer(bearer("x.y.z")) == INVALID
    assert one.answer(bearer(unsecured())) == Login(b"", "alice", YEAR_2100 * 1000)


def test_nobody_acts_for_another():
    with pytest.raises(AuthenticationFailedError, match=r"authorization id \(bob\) .* principal name \(alice\)"):
        exchange().answer(bearer(unsecured(), start="n,a=bob,"))
    found = exchange().answer(bearer(unsecured(), start="n,a=alice,"))
    assert isinstance(found, Login)
    assert found.user == "alice"


@pytest.mark.parametrize(
    "message",
    [b"", b"\1", b"\xff", b"n,,\1\1", b"n,,\1auth=Bearer\1\1", b"n,,\1team=blue\1\1", bearer("x")[:-1], bearer("x y")],
)
def test_a_message_of_another_form_is_refused(message):
    with pytest.raises(InvalidTokenError):
        exchange().answer(message)


def test_another_scheme_breaks_the_exchange():
    with pytest.raises(BrokenTokenError):
        exchange().answer(bearer("abc", scheme="Basic"))


@pytest.mark.parametrize(
    "token",
    [
        unsecured() + "signature",
        unsecured()[:-1],
        unsecured({"alg": "HS256"}),
        raw(b"no json"),
        raw(b"[" * 100_000),
        raw(b'{"exp":' + b"9" * 5000 + b"}"),
        unsecured(exp=...),
        unsecured(exp="tomorrow"),
        unsecured(exp=NOW),
        unsecured(iat=NOW + 1),
        unsecured(iat=YEAR_2100),
        unsecured(sub=...),
        unsecured(sub=" "),
        unsecured(sub=7),
        unsecured(scope=7),
    ],
)
def test_a_token_that_is_none_or_is_too_old_is_refused(token):
    assert refusal(token).status == "invalid_token"


def test_a_token_without_an_algorithm_breaks_the_exchange():
    with pytest.raises(BrokenTokenError):
        UnsecuredValidator({}).validate(unsecured({"typ": "JWT"}), NOW_MS)


def test_the_clock_skew_lets_times_be_a_little_off():
    lenient = UnsecuredValidator({"unsecuredValidatorAllowableClockSkewMs": "2000"})
    assert lenient.validate(unsecured(exp=NOW - 1), NOW_MS) == BearerToken("alice", NOW_MS - 1000)
    assert lenient.validate(unsecured(iat=NOW + 2), NOW_MS).principal == "alice"
    with pytest.raises(RefusedTokenError):
        lenient.validate(unsecured(exp=NOW - 2), NOW_MS)


def test_a_required_scope_that_is_missing_is_named():
    assert UnsecuredValidator(SCOPES).validate(unsecured(scope=["write", " read"]), NOW_MS).principal == "alice"
    refused = refusal(unsecured(scope="read write"), **SCOPES)
    assert (refused.status, refused.scope) == ("insufficient_scope", "[read, write]")
    told = exchange(**SCOPES).answer(bearer(unsecured()))
    assert told == b'{"status":"insufficient_scope", "scope":"[read, write]"}'


def test_claims_go_by_the_names_that_are_set():
    options = {"unsecuredValidatorPrincipalClaimName": "name", "unsecuredValidatorScopeClaimName": "groups", **SCOPES}
    token = unsecured(name="carol", groups=["read", "write"])
    assert UnsecuredValidator(options).validate(token, NOW_MS).principal == "carol"


@pytest.mark.parametrize(
    ("name", "value"),
    [("RequiredScope", 'a "b"'), ("AllowableClockSkewMs", "-1"), ("AllowableClockSkewMs", "soon")],
)
def test_options_that_cannot_be_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"unsecuredValidator{name}: expected"):
        UnsecuredValidator({f"unsecuredValidator{name}": value})


@given(
    st.one_of(
        st.binary(max_size=80).map(raw),
        st.text("abc.=-_/+~", min_size=1, max_size=40),
        st.dictionaries(
            st.sampled_from(["sub", "exp", "iat", "scope"]),
            st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=3),
        ).map(lambda claims: unsecured(**claims)),
    )
)
def test_whatever_a_token_holds_it_is_taken_or_refused(token):
    try:
        found = UnsecuredValidator({}).validate(token, NOW_MS)
    except (RefusedTokenError, BrokenTokenError) as error:
        assert len(token) < 20 or token not in str(error)
    else:
        assert found.principal.strip()
        assert found.expires_ms > NOW_MS
