"""A wrong worker for ``kafka-rack certify``: it names its rack, and asks leaders again wherever they send it."""

from __future__ import annotations

import signal
import sys
import threading
import time

from protocol.apis.fetch import FetchRequest
from protocol.records import iter_batches
from tests.interop.clients.with_protocol import Client
from tests.interop.clients.worker_options import Options, read_options

FETCH_VERSION = 12
PAUSE_S = 0.05

over = threading.Event()


def main(options: Options) -> None:
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    client = Client(options.brokers)
    positions: dict[int, int] = {}
    while not over.wait(PAUSE_S):
        try:
            if options.topic not in client.leaders:
                client.refresh(options.topic)
            for partition, leader in sorted(client.leaders[options.topic].items()):
                read(client, options, positions, partition, client.addresses[leader])
        except (OSError, KeyError) as error:
            print(error, file=sys.stderr)
            client.leaders.pop(options.topic, None)
            time.sleep(PAUSE_S)


def read(client: Client, options: Options, positions: dict[int, int], partition: int, address: tuple[str, int]) -> None:
    part = FetchRequest.Topic.Partition(
        partition=partition, fetch_offset=positions.get(partition, 0), partition_max_bytes=1 << 20
    )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 25,
        topics=[FetchRequest.Topic(topic=options.topic, partitions=[part])],
        session_epoch=-1,
        rack_id=options.rack,
    )
    answer = client.ask(address, request, FETCH_VERSION).responses[0].partitions[0]
    if answer.error_code:
        client.leaders.pop(options.topic, None)
        raise ConnectionError(f"{options.topic}-{partition}: error {answer.error_code}")
    for batch in iter_batches(answer.records):
        positions[partition] = batch.last_offset + 1


if __name__ == "__main__":
    main(read_options())
