"""The orderly end of a cluster under load: what it took is answered, and clients read it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import protocol
from mockbroker.adapters.server import MockCluster
from protocol.apis.fetch import FetchRequest
from protocol.apis.produce import ProduceRequest
from protocol.records import Record, build_batch
from tests.progress import until
from tests.torture.target import Client, request_bytes

HOUR_MS = 3_600_000
FETCH_VERSION, PRODUCE_VERSION = 11, 9
PIPELINED = 5
LONG_S = 600.0


def waiting_fetch() -> bytes:
    """A fetch of more than there will be, that waits an hour for it."""
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 30)
    topic = FetchRequest.Topic(topic="orders", partitions=[partition])
    request = FetchRequest(max_wait_ms=HOUR_MS, min_bytes=1 << 30, max_bytes=1 << 30, session_epoch=-1, topics=[topic])
    return request_bytes(request, FETCH_VERSION)


def small_produce() -> bytes:
    partition = ProduceRequest.Topic.Partition(index=1, records=build_batch([Record(value=b"order")]))
    topic = ProduceRequest.Topic(name="orders", partition_data=[partition])
    return request_bytes(ProduceRequest(acks=-1, timeout_ms=HOUR_MS, topic_data=[topic]), PRODUCE_VERSION)


class Producer(threading.Thread):
    """Sends requests five at a time until its connection ends; counts the answers."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._client = Client(address)
        self.answers = 0
        self.end: OSError | None = None

    def run(self) -> None:
        question = small_produce() * PIPELINED
        with self._client:
            try:
                while True:
                    self._client.send(question)
                    for _ in range(PIPELINED):
                        self._client.receive()
                        self.answers += 1
            except OSError as error:
                self.end = error


async def test_what_was_taken_before_the_end_is_answered_and_read(tmp_path: Path) -> None:
    capture = tmp_path / "capture.jsonl"
    async with MockCluster(1, topics={"orders": (2, 1)}, capture=capture, capture_bytes=1 << 40) as cluster:
        producers = [Producer(cluster.bootstrap_servers) for _ in range(4)]
        with Client(cluster.bootstrap_servers) as fetching:
            fetching.send(waiting_fetch())
            for producer in producers:
                producer.start()
            await until(lambda: all(producer.answers > PIPELINED for producer in producers), "answers")
            await until(lambda: cluster.engine.parked_calls, "a fetch that waits")
            ending = threading.Event()
            answers: list[bytes] = []

            def read_to_the_end() -> None:
                answers.append(fetching.receive())
                answers.append(fetching.socket.recv(1))
                fetching.socket.close()
                ending.set()

            threading.Thread(target=read_to_the_end, daemon=True).start()
            await cluster.finish(LONG_S)
            await until(ending.is_set, "the end of the connection")
    for producer in producers:
        producer.join()
    answer = protocol.read_response(answers[0], FetchRequest.api_key, FETCH_VERSION)[1]
    assert (answer.error_code, [len(topic.partitions) for topic in answer.responses], answers[1]) == (0, [1], b"")
    assert [type(producer.end) for producer in producers] == [ConnectionError] * 4  # the end of the stream, no reset
    frames = [json.loads(line) for line in capture.read_text().splitlines()]
    taken = sum(frame.get("dir") == "req" for frame in frames)
    assert taken == sum(frame.get("dir") == "resp" for frame in frames)
    assert taken == 1 + sum(producer.answers for producer in producers)


async def test_a_write_that_waits_for_replicas_is_waited_for_no_longer_than_said() -> None:
    async with MockCluster(2, topics={"orders": (2, 2)}) as cluster:
        leader, follower = cluster.state.topics["orders"].partitions[1].replicas
        cluster.set_follower_lag(follower, 1)
        broker = cluster.state.brokers[leader]
        with Client(f"{broker.host}:{broker.port}") as client:
            client.send(small_produce())
            await until(lambda: cluster.engine.parked_calls, "a write that waits")
            await cluster.finish(0.05)
            assert cluster.engine.parked_calls == 1
    assert cluster.engine.parked_calls == 0
