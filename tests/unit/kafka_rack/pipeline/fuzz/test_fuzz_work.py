"""Fuzzing without Spark: chunks, checks, adding up, and a planted bug made small."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import protocol
from kafka_rack.pipeline.fuzz.checks import Users, checks_for
from kafka_rack.pipeline.fuzz.codecs import CodecError, CodecSource
from kafka_rack.pipeline.fuzz.plan import CHUNK, FuzzPlan, chosen
from kafka_rack.pipeline.fuzz.results import Coverage, Results, coverage_rows, never_exercised
from kafka_rack.pipeline.fuzz.work import messages_of, minimised, run_chunk, value_of
from protocol.fuzz.generation import is_tame, maker

PLANTED = '''
import protocol

class Codec:
    """Writes a null rack as an empty one."""

    def encode(self, message, version, value):
        for broker in value["brokers"]:
            broker["rack"] = broker["rack"] or ""
        return protocol.encode(protocol.from_json(message, version, value), version)
'''


def run(chunks, seed, checks):
    results = Results()
    for chunk in chunks:
        run_chunk(chunk, seed, checks, results)
    return results


def test_every_message_version_passes_the_checks_of_our_own():
    plan = FuzzPlan(chosen([], "all"), 2, 5)
    found = run(plan.chunks(), plan.seed, checks_for(["round-trip", "versions", "reference", "damage"]))
    assert found.failures == {}
    assert found.examples == 2 * sum(len(one.valid_versions) for one in protocol.messages())
    assert all(tally.agreed == tally.asked > 0 for tally in found.tallies.values())


def test_results_do_not_depend_on_who_does_which_chunk():
    plan = FuzzPlan(chosen(["Metadata*"], "9+"), CHUNK + 20, 3)
    chunks = list(plan.chunks())
    checks = checks_for(["round-trip"])
    whole = run(chunks, plan.seed, checks)
    parts = Results()
    for at in range(7):
        parts.add(run(chunks[::-1][at::7], plan.seed, checks))
    assert parts == whole


def values_at(record, path):
    """What a message has at a path, found apart from the maker."""
    name, _, rest = path.partition(".")
    bare = name.removesuffix("[]")
    value = getattr(record, bare)
    values = (value or []) if name.endswith("[]") else [value]
    return [one for item in values if item is not None for one in values_at(item, rest)] if rest else values


def test_coverage_counts_what_the_messages_hold():
    plan = FuzzPlan(chosen(["MetadataResponse"], "12"), CHUNK, 11)
    (chunk,) = plan.chunks()
    results = run([chunk], plan.seed, checks_for(["round-trip"]))
    made = [found for _, found in messages_of(chunk, plan.seed, Coverage())]
    rows = {row["field"]: row for row in coverage_rows(results)}
    for field in ("cluster_id", "brokers[].rack", "topics[].partitions[].isr_nodes[]", "brokers[].node_id"):
        values = [values_at(one, field) for one in made]
        assert rows[field]["present"] == sum(bool(one) for one in values)
        assert rows[field]["null"] == sum(None in one for one in values)
        assert rows[field]["empty"] == sum("" in one for one in values)
    ends = [any(one in (-(2**31), 2**31 - 1) for one in values_at(found, "brokers[].node_id")) for found in made]
    assert rows["brokers[].node_id"]["extreme"] == sum(ends)
    assert never_exercised(list(rows.values())) == []


def test_a_planted_bug_is_found_and_shrinks_to_one_broker_without_a_rack(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PLANTED)
    check = Users(CodecSource.parse("mine.py:Codec", tmp_path).load())
    plan = FuzzPlan(chosen(["MetadataResponse"], "12"), 100, 1)
    (found,) = run(plan.chunks(), plan.seed, [check]).failures.values()
    small = minimised(found, check)
    assert small.value == {"brokers": [{}]}
    assert (small.kind, small.minimised, small.count) == ("encode gives other bytes", True, found.count)
    again = check.fault(protocol.named_class("MetadataResponse"), 12, value_of(small))
    assert again is not None
    assert (again.kind, again.ours, again.theirs) == (small.kind, small.ours, small.theirs)


def test_a_message_that_is_not_known_is_answered_with_names_near_it():
    with pytest.raises(ValueError, match="did you mean MetadataRequest"):
        chosen(["metadatarequst"], "all")
    with pytest.raises(ValueError, match="MetadataRequest has versions 0-14"):
        chosen(["MetadataRequest"], "20-22")


def test_a_codec_without_abilities_is_refused():
    with pytest.raises(CodecError, match="has none of encode, decode, rewritten"):
        CodecSource.parse("json:JSONDecodeError.mro", Path()).load()


def test_tame_messages_stay_where_error_codes_and_times_mean_something():
    chance, make = Random(2), maker(protocol.named_class("HeartbeatResponse"), 0, tame=True)
    assert all(-1 <= make.make(chance).error_code <= 100 for _ in range(300))


def test_what_a_tame_maker_makes_is_tame_and_an_error_code_without_meaning_is_not():
    for message in protocol.messages():
        version = message.valid_versions.highest
        make = maker(message, version, tame=True)
        assert all(is_tame(make.make(Random(seed)), version) for seed in range(3)), message.name
    answer = protocol.named_class("OffsetFetchResponse")
    group = answer.Group(topics=[answer.Group.Topic(partitions=[answer.Group.Topic.Partition(error_code=30_000)])])
    assert not is_tame(answer(groups=[group]), answer.valid_versions.highest)
