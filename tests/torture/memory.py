"""Records without end, to a server that may keep 64 MiB of them."""

from __future__ import annotations

from protocol.records import Record, build_batch
from tests.torture.requests import produce
from tests.torture.target import Bound, Client, Target

TOPIC = "orders"
OPTIONS = ("--topic", f"{TOPIC}:1:1", "--memory", "64MiB", "--quiet")
BATCHES = 500


def endless_records(target: Target) -> None:
    """Produce 450 MB of noise."""
    noise = target.rng.randbytes(900_000)
    batch = build_batch([Record(value=noise)])
    client: Client = target.client()
    target.note = f"produce: {sorted({produce(client, batch, 9) for _ in range(BATCHES)})}"


BOUND = Bound(peak_mb=128, after_mb=128, processor_s=10)
ATTACKS = {"records of 450 MB": endless_records}
