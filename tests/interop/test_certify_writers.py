"""certify on real producers: over an outage what was acknowledged is there, once."""

from __future__ import annotations

import pytest

from tests.interop.certified_clients import certified_clients
from tests.interop.certify_run import built, certify

CLIENTS = certified_clients()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_producers_acknowledged_records_are_there_over_the_outage(name, tmp_path):
    ran = certify(built(CLIENTS[name].command, "produce", "{rack}"), tmp_path)
    assert ran.exit_code == 0, ran.complaints
    verdicts = ran.verdicts
    assert verdicts["no_loss"] == verdicts["goes_on"] == "pass", ran.printed["checks"]
    assert verdicts["fetch_rack"] == verdicts["preferred_replica"] == "not seen"
    assert verdicts["no_duplicates"] == ("not seen" if name == "kafka-go" else "pass")
    assert verdicts["near_writes"] == ("pass" if name == "java" else "not seen"), ran.evidence("near_writes")
    assert ran.printed["acknowledged"] > 100


def test_a_java_producer_whose_partitioner_is_not_rack_aware_is_seen_to_write_far(tmp_path):
    command = built(CLIENTS["java"].command, "produce", "{rack}")
    unaware = [part for part in command if not part.startswith("partitioner.rack.aware")]
    ran = certify([*unaware, "batch.size=1"], tmp_path)  # with which it chooses a partition for each record
    assert ran.verdicts["near_writes"] == "fail", ran.evidence("near_writes")
    assert ran.verdicts["no_loss"] == ran.verdicts["goes_on"] == "pass"


def test_a_producer_that_cannot_choose_by_rack_is_not_judged_by_that(tmp_path):
    ran = certify(built(CLIENTS["confluent-kafka"].command, "produce", "{rack}"), tmp_path)
    assert ran.printed["grade"] == "A"
    assert "only Java clients of 4.4 and newer can choose them so" in ran.evidence("near_writes")
