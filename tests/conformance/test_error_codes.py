"""The table of errors is Apache Kafka's: same numbers, same names, same say on trying again."""

from __future__ import annotations

import pickle

from protocol.error_codes import ErrorCode, error_name
from tests.cases import for_each
from tests.fixture_data import kafka_errors

KAFKA_NUMBERS = {error["code"] for error in kafka_errors()}
MAX_INT16 = 2**15 - 1


@for_each(lambda: [(error["name"], (error,)) for error in kafka_errors()])
def test_each_kafka_error_has_its_number_name_and_retriability(error):
    code = ErrorCode(error["code"])
    assert {"code": int(code), "name": code.name, "retriable": code.retriable} == error


def test_the_table_adds_nothing_to_kafka_but_the_error_that_never_got_a_number():
    assert [code.name for code in ErrorCode if code not in KAFKA_NUMBERS] == ["REPLICA_PLACEMENT_FAILED"]


def test_the_added_error_fits_the_wire_and_leaves_kafka_room_to_grow():
    assert max(KAFKA_NUMBERS) + 1_000 < ErrorCode.REPLICA_PLACEMENT_FAILED <= MAX_INT16


def test_no_two_errors_mean_the_same():
    meanings = [code.meaning for code in ErrorCode]
    assert all(meanings)
    assert len(set(meanings)) == len(meanings)


def test_an_error_survives_pickling_with_what_it_says():
    copy = pickle.loads(pickle.dumps(ErrorCode.NOT_COORDINATOR))
    assert copy is ErrorCode.NOT_COORDINATOR
    assert copy.meaning == "another broker coordinates this group or transactional id"


def test_an_unknown_number_is_named_by_itself():
    assert error_name(-2) == "error -2"
