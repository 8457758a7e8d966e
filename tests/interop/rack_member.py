"""One kafka-python consumer with one of our assignors, as a process: ``python -m tests.interop.rack_member ORDER``.

ORDER is JSON: servers, group, topic, kind, rack, metadata_age_ms. A line of JSON goes out whenever its partitions or
the brokers that it knows change; it leaves the group when its standard input ends.
"""

from __future__ import annotations

import json
import sys
import threading

from kafka import KafkaConsumer

from kafka_rack.assignment.clients import kafka_python

POLL_MS = 50


def client_id(rack: str | None) -> str:
    """The client id of a member, by which the coordinator's answers show where it is."""
    return f"in-{rack}"


def main(order: dict) -> None:
    assignor = getattr(kafka_python, f"RackAware{order['kind']}Assignor")(order["rack"])
    consumer = KafkaConsumer(
        order["topic"],
        bootstrap_servers=order["servers"],
        client_id=client_id(order["rack"]),
        group_id=order["group"],
        client_rack=order["rack"],
        heartbeat_interval_ms=200,
        metadata_max_age_ms=order["metadata_age_ms"],
        partition_assignment_strategy=[assignor],
    )
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    consumer.partitions_for_topic(
        order["topic"]
    )  # or it may take itself for joined when it is not; see the demo's client
    told = None
    while not over.is_set():
        consumer.poll(POLL_MS)
        now = {
            "partitions": sorted(part.partition for part in consumer.assignment()),
            "brokers": sorted(broker.node_id for broker in consumer._cluster.brokers()),
        }
        if now != told:
            told = now
            print(json.dumps(now), flush=True)
    consumer.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
