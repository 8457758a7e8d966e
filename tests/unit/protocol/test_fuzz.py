"""protocol.fuzz as its users see it."""

from __future__ import annotations

import subprocess
import sys
from random import Random

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import protocol
from protocol.apis.group_offsets import OffsetFetchRequest
from protocol.apis.metadata import MetadataRequest
from protocol.fuzz import Draws, damaged, messages, mutated, random_bytes, wild_messages
from tests.fixture_data import golden_vectors
from tests.fuzz.corpus import LONGEST, corpus, message_versions, packed, unpacked
from tests.fuzz.mutate import Tally, check, run


def drawn(strategy, count: int = 400) -> list:
    """Examples of a strategy, as many as it has of these."""
    found = []

    @settings(max_examples=count, database=None, phases=[Phase.generate], derandomize=True, deadline=None)
    @given(strategy)
    def collect(one):
        found.append(one)

    collect()
    return found


def test_arrays_and_strings_grow_past_the_one_byte_of_a_compact_length():
    requests = drawn(messages(MetadataRequest, 12))
    assert any(len(one.topics or ()) > 127 for one in requests)
    assert any(len(topic.name or "") > 127 for one in requests for topic in one.topics or ())


def test_integers_reach_the_edges_of_their_types():
    assert {2**31 - 1, -(2**31), 127, 128, -1, 0} <= set(drawn(Draws().integers["l"]))
    assert {0, 255} <= set(drawn(Draws().integers["B"])) <= set(range(256))


def test_wild_messages_hold_what_no_single_version_does():
    assert any(one.topics and one.groups for one in drawn(wild_messages(OffsetFetchRequest), 200))  # v0-7, and v8 on


@given(messages(MetadataRequest, 14, Draws(texts=st.just("mine"), max_items=1, long_arrays=False)))
def test_leaves_are_drawn_from_what_the_user_gives(message):
    assert message.rack_id == "mine"
    assert len(message.topics or ()) <= 1


def test_equal_seeds_mutate_alike_and_others_do_not():
    data = bytes(range(60))
    made = [[mutated(data, Random(seed), [data[::-1]]) for _ in range(3)] for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    assert len({mutated(data, chance) for chance in [Random(3)] for _ in range(500)}) > 400
    assert mutated(b"", Random(1)) is not None
    assert random_bytes(Random(5)) == random_bytes(Random(5))


@given(damaged(b""))
def test_nothing_at_all_can_be_damaged(data):
    assert len(data) <= 3


def test_what_needs_no_hypothesis_runs_without_it():
    names = "cross, huge_lengths, mutated, oracles, prefixes"
    code = f"import sys; sys.modules['hypothesis'] = None\nfrom protocol.fuzz import {names}"
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_corpus_has_every_message_that_kafka_wrote_and_no_reader_stumbles_over_it():
    inputs = list(corpus())
    assert {one.message for one in inputs} == {vector.message for vector in golden_vectors()}
    for one in inputs:
        assert one.origin != "golden" or len(one.body) <= 3 * LONGEST
        check(protocol.named_class(one.message), one.version, one.body, Tally(), thoroughly=True)


def test_two_bytes_mean_a_message_version_to_atheris():
    for message, version in message_versions():
        assert unpacked(packed(message, version, b"body")) == (message, version, b"body")
    assert unpacked(b"\xff\xff")[2] == b""


def test_the_mutation_fuzzer_stops_at_its_number_and_meets_both_outcomes():
    tally = run(5, inputs=20_000, tell=False)
    assert tally.inputs == 20_000
    assert 1_000 < tally.decoded < 19_000
    assert tally.compared > 300
    assert len(golden_vectors()) == 2_595
