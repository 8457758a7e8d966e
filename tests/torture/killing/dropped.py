"""``python -m tests.torture.killing.dropped [--kafka] [--records 1]``: a transaction of librdkafka's that is nowhere.

The answer to a Produce in a transaction is lost, with the connection; the transaction is aborted as soon as the broker
is back, and the next one committed. Printed is what the client was told, and what there is to read then.
"""

from __future__ import annotations

import argparse
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined, unused-ignore]

from tests.ports import free_ports
from tests.torture.killing.server import KilledKafka, KilledServer

TOPIC, PRODUCE = "ledger", 0
PATIENCE_S, AWAY_S, TRY_S = 60, 2.5, 1.0
CORRELATION_ID = slice(4, 8)  # of a request; an answer begins with it
CLIENT = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}


class Relay:
    """Stands in front of a broker. Once armed it keeps back the next answer to Produce and ends all connections, and
    takes no other for a while.
    """

    def __init__(self, port: int, broker: int) -> None:
        self.is_armed = self.is_away = False
        self.has_cut = threading.Event()
        self._broker = broker
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def come_back(self) -> None:
        self.is_away = False

    def _accept(self) -> None:
        while True:
            client, _ = self._listening.accept()
            if self.is_away:
                client.close()
                continue
            broker = socket.create_connection(("127.0.0.1", self._broker))
            self._sockets += [client, broker]
            asked: dict[bytes, int] = {}
            threading.Thread(target=self._forward, args=(client, broker, asked), daemon=True).start()
            threading.Thread(target=self._answer, args=(broker, client, asked), daemon=True).start()

    def _forward(self, client: socket.socket, broker: socket.socket, asked: dict[bytes, int]) -> None:
        with suppress(OSError):
            for size, frame in frames(client):
                asked[frame[CORRELATION_ID]] = int.from_bytes(frame[:2])
                broker.sendall(size + frame)

    def _answer(self, broker: socket.socket, client: socket.socket, asked: dict[bytes, int]) -> None:
        with suppress(OSError):
            for size, frame in frames(broker):
                if asked.pop(frame[:4], None) == PRODUCE and self.is_armed:
                    self._cut()
                    return
                client.sendall(size + frame)

    def _cut(self) -> None:
        self.is_armed, self.is_away = False, True
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._sockets.clear()
        self.has_cut.set()


def frames(connection: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    """Size and frame, one after the other."""
    file = connection.makefile("rb")
    while len(size := file.read(4)) == 4:
        yield size, file.read(int.from_bytes(size))


class ToldProducer:
    """A transactional producer that says what it is told."""

    def __init__(self, bootstrap: str) -> None:
        self.producer = Producer({**CLIENT, "bootstrap.servers": bootstrap, "transactional.id": TOPIC})
        self.producer.init_transactions(PATIENCE_S)

    def begin(self, name: str, records: int = 1) -> None:
        self.producer.begin_transaction()
        for number in range(records):
            self.producer.produce(TOPIC, f"{name} {number}", partition=0, on_delivery=self._delivered)

    def commit(self) -> None:
        try:
            while len(self.producer):
                self.producer.flush(TRY_S)
            self.producer.commit_transaction(PATIENCE_S)
        except (KafkaException, SystemError) as exception:  # the second where a delivery is told beside a fatal error
            print(f"commit_transaction: {exception.__cause__ or exception}")
        else:
            print("commit_transaction gave no error")

    def abort(self) -> None:
        """Try until it works, as the client asks for."""
        while True:
            try:
                self.producer.abort_transaction(TRY_S)
            except KafkaException as exception:
                print(f"abort_transaction: {exception.args[0].name()}")
                if not exception.args[0].retriable():
                    raise
            else:
                print("abort_transaction gave no error")
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        said = "delivered" if error is None else error.name()
        print(f"{(message.value() or b'').decode()!r}: {said}, offset {message.offset()}")


def read(bootstrap: str, isolation: str) -> list[str]:
    consumer = Consumer(
        {
            **CLIENT,
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found = []
    while (message := consumer.poll(PATIENCE_S)) is not None and message.error() is None:
        found.append((message.value() or b"").decode())
    consumer.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.killing.dropped")
    parser.add_argument("--kafka", action="store_true", help="a real Kafka is the broker")
    parser.add_argument("--records", type=int, default=1, help="of the transaction after the one that is aborted")
    arguments = parser.parse_args()
    (front,) = free_ports(1)
    bootstrap = f"127.0.0.1:{front}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = KilledKafka(folder, front) if arguments.kafka else KilledServer(folder, brokers=1, advertised=front)
        server.start()
        relay = Relay(front, server.ports[0])
        try:
            admin = AdminClient({"bootstrap.servers": bootstrap})
            for made in admin.create_topics([NewTopic(TOPIC, 1, 1)]).values():
                made.result(PATIENCE_S)
            told = ToldProducer(bootstrap)
            told.begin("first")
            told.commit()
            relay.is_armed = True
            told.begin("broken off")
            relay.has_cut.wait(PATIENCE_S)
            threading.Timer(AWAY_S, relay.come_back).start()
            told.abort()
            told.begin("committed", arguments.records)
            told.commit()
            time.sleep(TRY_S)
            for isolation in ("read_committed", "read_uncommitted"):
                print(f"{isolation}: {read(bootstrap, isolation)}")
        finally:
            server.kill()


if __name__ == "__main__":
    main()
