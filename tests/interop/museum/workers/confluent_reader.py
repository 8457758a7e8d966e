"""A worker with confluent-kafka: reads in a group until SIGTERM. It runs where nothing of ours is installed."""

import os
import signal
import threading


def main() -> None:
    from confluent_kafka import Consumer

    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
            "client.rack": os.environ["KAFKA_CLIENT_RACK"],
            "group.id": os.environ["KAFKA_GROUP_ID"],
            "auto.offset.reset": "earliest",
            "log_level": 2,
        }
    )
    consumer.subscribe([os.environ["KAFKA_TOPIC"]])
    while not over.is_set():
        consumer.poll(0.2)
    consumer.close()


if __name__ == "__main__":
    main()
