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
    assert ran.printed["acknowledged"] > 100
