"""Groups as large as a hostile client makes them: what a member costs does not grow with what others have said."""

from __future__ import annotations

from time import process_time

from mockbroker.groups.classic.group import ClassicGroupState
from protocol.error_codes import ErrorCode
from tests.group_driver import GroupDriver

ENOUGH_S = 3.0
"""Of processor time, on any machine: each of these takes a tenth of it, and took many times as much."""


def names(letter, count):
    return tuple((f"{letter}-{number}", b"") for number in range(count))


def test_members_with_twenty_thousand_protocols_each_find_the_one_that_they_share():
    driver = GroupDriver()
    before = process_time()
    first, _ = driver.enter(protocols=(*names("a", 20_000), ("shared", b"")))
    driver.join(protocols=(*names("b", 20_000), ("shared", b"")), requires_member_id=False)
    joined = driver.join(first, protocols=(*names("a", 20_000), ("shared", b"")))
    assert joined.answer.protocol_name == "shared"
    assert process_time() - before < ENOUGH_S


def test_two_thousand_members_join_while_one_is_missing():
    driver = GroupDriver()
    before = process_time()
    first, _ = driver.enter()
    for _ in range(2_000):
        driver.join(requires_member_id=False)
    assert driver.group.state is ClassicGroupState.PREPARING
    driver.join(first)
    assert (len(driver.group.members), driver.group.state) == (2_001, ClassicGroupState.COMPLETING)
    assert process_time() - before < ENOUGH_S


def test_protocols_count_for_those_who_are_members_now_and_as_they_joined_last():
    driver = GroupDriver()
    first, _ = driver.enter(protocols=(("x", b""), ("y", b"")))
    second, _ = driver.enter(protocols=(("y", b""),))
    driver.join(first, protocols=(("x", b""), ("y", b"")))
    driver.join(first, protocols=(("y", b""), ("z", b"")))
    driver.join(second, protocols=(("z", b""), ("y", b"")))
    assert driver.group.protocol_name == "y"
    assert driver.leave((second, None)) == [ErrorCode.NONE]
    driver.join(first, protocols=(("y", b""), ("z", b"")))
    third = driver.join(protocols=(("z", b""),), requires_member_id=False)
    driver.join(first, protocols=(("y", b""), ("z", b"")))
    assert third.answer.protocol_name == "z"
