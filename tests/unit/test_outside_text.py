"""Numbers of thousands of digits, which Python refuses to read, are refused as any other wrong number is."""

from __future__ import annotations

import pytest

from kafka_rack.errors import InputError
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.wire_capture.captures import Options
from mockbroker.core.connection_quotas import limits_by_address
from mockbroker.core.journal import FilterError
from mockbroker.core.journal.filters import value_text, whole_number
from mockbroker.share_groups.share_states import read_coordinator_key
from mockbroker.state.brokers.listeners import addresses_in
from mockbroker.state.configs.alterations import check_broker_id
from mockbroker.state.configs.definitions import definition
from mockbroker.state.configs.values import InvalidValueError
from mockbroker.state.errors import ApiError

NINES = "9" * 5_000


@pytest.mark.parametrize(
    ("read", "error", "message"),
    [
        (lambda: read_coordinator_key(f"g:{'A' * 22}:{NINES}"), ApiError, "error 42"),
        (lambda: check_broker_id(NINES, 9), ApiError, "expected 9, the receiving broker"),
        (lambda: value_text("partition", NINES), FilterError, "partition: expected a number"),
        (lambda: whole_number({"limit": NINES}, "limit", 0), FilterError, "limit: expected a number from 0"),
        (
            lambda: definition("group", "share.auto.offset.reset").parse(f"by_duration:P{NINES}D"),
            InvalidValueError,
            "expected earliest, latest or by_duration",
        ),
        (lambda: addresses_in("listeners", f"A://h:{NINES}"), ValueError, "expected NAME://HOST:PORT"),
        (lambda: Options.parse(None, f"{NINES}=h:1"), ValueError, "addresses: expected"),
        (lambda: RackRules.read(f"az-a@broker:{NINES}", "racks"), InputError, "racks, line 1: broker: expected"),
        (lambda: Options.parse(NINES, None), ValueError, "ports: expected"),
    ],
)
def test_a_number_of_5000_digits_is_refused_by_the_readers_own_error(read, error, message):
    with pytest.raises(error, match=message):
        read()


def test_a_limit_of_5000_digits_is_passed_over_as_others_that_are_none():
    assert limits_by_address(f"10.0.0.1:{NINES},10.0.0.2:7") == {"10.0.0.2": 7}
