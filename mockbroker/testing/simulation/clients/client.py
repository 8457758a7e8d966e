"""What every client does: connect, ask, learn who leads what and who coordinates whom, wait and try again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mockbroker.testing.simulation.network import ClientConnection
from mockbroker.testing.simulation.scheduler import Future, Signal, Task
from mockbroker.testing.simulation.world import World
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from protocol.framing import FrameReader
from protocol.headers import read_response, request_frame

REQUEST_TIMEOUT_MS = 5_000
RETRY_BACKOFF_MS, MAX_RETRY_BACKOFF_MS = 50, 1_000
METADATA_MAX_AGE_MS = 10_000
READS_FIRST_MS = 1
"""How long a client that thaws reads what has come before it looks at the clock, as Kafka's does."""
GROUP, TRANSACTION = 0, 1  # what a coordinator is asked for
API_VERSIONS_VERSION = 3
NO_LEADER = -1
TopicPartition = tuple[str, int]


class ConnectionLostError(Exception):
    """The connection ended, or the answer took too long, before there was an answer."""


@dataclass(slots=True)
class InFlightRequest:
    """A request whose answer has not come."""

    api_key: int
    version: int
    answer: Future[Any]


class BrokerLink:
    """A client's connection to one broker; a new one takes its place when it has ended."""

    def __init__(self, client: Client, broker_id: int) -> None:
        self.client, self.broker_id = client, broker_id
        self.in_flight: deque[InFlightRequest] = deque()
        self._connection: ClientConnection | None = None
        self._connections = 0
        self._reader = FrameReader()

    def send(self, request: Any, version: int, *, has_answer: bool) -> InFlightRequest:
        if self._connection is None or not self._connection.is_open:
            self._lost()  # a client that has just thawed may not have heard of it
            self._reader = FrameReader()
            self._connections += 1
            client, number = self.client, self._connections
            self._connection = client.world.network.connect(
                client.name, client.rack, self.broker_id, self._received, lambda: self._ended(number)
            )
        sent = InFlightRequest(type(request).api_key, version, Future())
        self.client.requests_sent += 1
        frame = request_frame(
            request, version, correlation_id=self.client.requests_sent, client_id=self.client.client_id
        )
        if has_answer:
            self.in_flight.append(sent)
        else:
            sent.answer.resolve(None)
        self._connection.send(frame)
        return sent

    def close(self) -> None:
        """End the connection; whoever waits for an answer is told."""
        if self._connection is not None:
            self._connection.close()
        self._lost()

    def _received(self, data: bytes) -> None:
        for frame in self._reader.feed(data):
            sent = self.in_flight.popleft()
            _, answer = read_response(frame, sent.api_key, sent.version)
            sent.answer.resolve(answer)

    def _ended(self, number: int) -> None:
        if number == self._connections:
            self._lost()

    def _lost(self) -> None:
        in_flight, self.in_flight = self.in_flight, deque()
        self._connection = None
        for sent in in_flight:
            sent.answer.fail(ConnectionLostError(f"broker {self.broker_id}"))


@dataclass(slots=True)
class ClientTopic:
    """What a client knows of a topic: its id, and of each partition the leader and its epoch."""

    id: bytes
    leaders: list[int] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)


class Client:
    """A client named ``name`` in a rack, which draws from a Random of its own.

    ``versions`` has the newest version that it speaks of an API, by request class, where that is not the protocol's.
    """

    def __init__(
        self, world: World, name: str, rack: str, rng: Random, versions: dict[type, int] | None = None
    ) -> None:
        self.world, self.name, self.rack, self.rng = world, name, rack, rng
        self.client_id = name.partition("#")[0]
        self.versions = dict(versions or {})
        self.served: dict[int, tuple[int, int]] | None = None
        self.topics: dict[str, ClientTopic] = {}
        self.wanted: dict[str, None] = {}
        self.broker_racks: dict[int, str | None] = {}
        self.metadata_at_ms = -METADATA_MAX_AGE_MS
        self.metadata_changed = Signal()
        self.requests_sent = 0
        self.is_closed = False
        self._links: dict[int, BrokerLink] = {}
        self._tasks: list[Task[Any]] = []
        self._refreshing: Task[bool] | None = None
        self._coordinators: dict[tuple[int, str], int] = {}

    # tasks and time

    @property
    def now_ms(self) -> int:
        return self.world.now_ms

    def spawn(self, coroutine: Coroutine[Any, None, Any]) -> Task[Any]:
        """Have a task run until the client is closed."""
        self._tasks = [task for task in self._tasks if not task.is_done]
        task = self.world.scheduler.spawn(coroutine)
        self._tasks.append(task)
        return task

    def sleep(self, ms: int) -> Future[None]:
        """Done after so many ms; a frozen client notices once it has thawed."""
        future: Future[None] = Future()
        scheduler = self.world.scheduler
        scheduler.call_at(scheduler.now_ms + ms, lambda: self._awake(future))
        return future

    def _awake(self, future: Future[None]) -> None:
        scheduler = self.world.scheduler
        thaws_ms = self.world.network.frozen.get(self.name, 0)
        if thaws_ms > scheduler.now_ms:
            scheduler.call_at(thaws_ms + READS_FIRST_MS, lambda: self._awake(future))
        else:
            future.resolve(None)

    async def wait(self, future: Future[Any], timeout_ms: int) -> bool:
        """Wait for a future, or so long; whether it is done. Its error is left in it."""
        if future.is_done:
            return True
        either = self.sleep(timeout_ms)
        future.on_done(lambda: either.resolve(None))
        await either
        return future.is_done

    def back_off(self, attempt: int = 0) -> Future[None]:
        """Wait before the next attempt: longer each time, and never the same for two clients."""
        ms = min(RETRY_BACKOFF_MS << min(attempt, 6), MAX_RETRY_BACKOFF_MS)
        return self.sleep(self.rng.randint(ms * 4 // 5, ms * 6 // 5))

    def close(self) -> None:
        """Be gone at once, without a word to anybody."""
        self.is_closed = True
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()
        for link in self._links.values():
            link.close()
        self._links.clear()

    # requests

    def version_of(self, request_class: Any) -> int:
        """The version to speak with these brokers: the newest that both sides have."""
        newest = int(self.versions.get(request_class, request_class.stable_versions.highest))
        if self.served is not None and request_class.api_key in self.served:
            newest = min(newest, self.served[request_class.api_key][1])
        return newest

    def serves(self, request_class: Any, version: int = 0) -> bool:
        """Whether the brokers serve an API in this version or a later one, as far as is known."""
        return self.served is not None and self.served.get(request_class.api_key, (0, -1))[1] >= version

    def in_flight(self, broker_id: int) -> int:
        link = self._links.get(broker_id)
        return 0 if link is None else len(link.in_flight)

    def send(self, broker_id: int, request: Any, *, version: int | None = None, has_answer: bool = True) -> Future[Any]:
        """Send a request to a broker, behind those on the way; gives the answer's future, which may fail."""
        link = self._links.get(broker_id)
        if link is None:
            link = self._links[broker_id] = BrokerLink(self, broker_id)
        return link.send(
            request, self.version_of(type(request)) if version is None else version, has_answer=has_answer
        ).answer

    async def ask(
        self, broker_id: int, request: Any, *, version: int | None = None, timeout_ms: int = REQUEST_TIMEOUT_MS
    ) -> Any:
        """Send a request, and give the answer. Raises ConnectionLostError, after a time-out too."""
        answer = self.send(broker_id, request, version=version)
        await self.answered(broker_id, answer, timeout_ms)
        return answer.result

    async def answered(self, broker_id: int, answer: Future[Any], timeout_ms: int = REQUEST_TIMEOUT_MS) -> None:
        """Wait for an answer; one that takes too long ends the connection, and all on it."""
        if not await self.wait(answer, timeout_ms):
            self._links[broker_id].close()

    def any_broker(self) -> int:
        """A broker to ask what any can answer: one that metadata showed, or one of those that the client began with."""
        known = sorted(self.broker_racks) or list(range(len(self.world.cluster.racks)))
        return known[self.rng.randrange(len(known))]

    # metadata

    async def start(self) -> None:
        """Learn which versions the brokers serve."""
        attempt = 0
        while self.served is None:
            try:
                request = ApiVersionsRequest(client_software_name="simulation", client_software_version="1")
                answer = await self.ask(self.any_broker(), request, version=API_VERSIONS_VERSION)
            except ConnectionLostError:
                await self.back_off(attempt)
                attempt += 1
                continue
            if answer.error_code == 0:
                self.served = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
            else:
                await self.back_off(attempt)

    async def refresh(self) -> bool:
        """Ask for metadata of the topics that are wanted, once for all who ask meanwhile; whether it was answered."""
        if self._refreshing is None or self._refreshing.is_done:
            self._refreshing = self.spawn(self._refresh())
        return await self._refreshing

    async def _refresh(self) -> bool:
        broker = self.any_broker()
        request = MetadataRequest(
            topics=[MetadataRequest.Topic(name=name) for name in self.wanted], allow_auto_topic_creation=False
        )
        try:
            answer = await self.ask(broker, request, version=min(12, self.version_of(MetadataRequest)))
        except ConnectionLostError:
            self.broker_racks.pop(broker, None)  # try another
            await self.back_off()
            return False
        if answer.brokers:
            self.broker_racks = {one.node_id: one.rack for one in answer.brokers}
        for topic in answer.topics:
            if topic.error_code:
                self._forget_topic(topic)
                continue
            known = self.topics.get(topic.name)
            partitions = sorted(topic.partitions, key=lambda one: one.partition_index)
            leaders = [one.leader_id for one in partitions]
            epochs = [one.leader_epoch for one in partitions]
            if known is not None and known.id == topic.topic_id:  # an older answer does not take a leader back
                for index, epoch in enumerate(known.epochs[: len(epochs)]):
                    if epoch > epochs[index]:
                        leaders[index], epochs[index] = known.leaders[index], epoch
            self.topics[topic.name] = ClientTopic(topic.topic_id, leaders, epochs)
        self.metadata_at_ms = self.now_ms
        self.metadata_changed.set()
        return True

    def _forget_topic(self, topic: Any) -> None:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self.topics.pop(topic.name, None)

    def is_metadata_old(self) -> bool:
        return self.now_ms - self.metadata_at_ms >= METADATA_MAX_AGE_MS

    def leader_of(self, place: TopicPartition) -> int:
        """Who leads a partition, as far as is known; -1 while nobody is."""
        topic = self.topics.get(place[0])
        return NO_LEADER if topic is None or place[1] >= len(topic.leaders) else topic.leaders[place[1]]

    def epoch_of(self, place: TopicPartition) -> int:
        topic = self.topics.get(place[0])
        return -1 if topic is None or place[1] >= len(topic.epochs) else topic.epochs[place[1]]

    def name_of(self, topic_id: bytes) -> str | None:
        return next((name for name, topic in self.topics.items() if topic.id == topic_id), None)

    async def know(self, *topics: str) -> None:
        """Wait until metadata has these topics."""
        for topic in topics:
            self.wanted[topic] = None
        attempt = 0
        while any(topic not in self.topics for topic in topics):
            await self.refresh()
            if any(topic not in self.topics for topic in topics):
                await self.back_off(attempt)
                attempt += 1

    # coordinators

    def forget_coordinator(self, key: str, kind: int = GROUP) -> None:
        self._coordinators.pop((kind, key), None)

    async def coordinator(self, key: str, kind: int = GROUP) -> int:
        """Who coordinates a group or a transactional id; asks until somebody does."""
        attempt = 0
        while (kind, key) not in self._coordinators:
            broker = self.any_broker()
            version = self.version_of(FindCoordinatorRequest)
            request = FindCoordinatorRequest(key_type=kind)
            if version >= 4:
                request.coordinator_keys = [key]
            else:
                request.key = key
            try:
                answer = await self.ask(broker, request)
            except ConnectionLostError:
                await self.refresh()
                await self.back_off(attempt)
                attempt += 1
                continue
            found = answer.coordinators[0] if version >= 4 else answer
            if found.error_code == 0:
                self._coordinators[kind, key] = found.node_id
            else:
                await self.back_off(attempt)
                attempt += 1
        return self._coordinators[kind, key]

    async def ask_coordinator(
        self,
        key: str,
        make: Callable[[], Any],
        error_of: Callable[[Any], int],
        *,
        kind: int = GROUP,
        timeout_ms: int = REQUEST_TIMEOUT_MS,
        also_retry: tuple[ErrorCode, ...] = (),
    ) -> Any:
        """Ask a coordinator, wherever it is by now, until the answer is none that a client tries again after.

        Raises ConnectionLostError: an answer was lost, so nobody knows whether it was carried out.
        """
        attempt = 0
        while True:
            broker = await self.coordinator(key, kind)
            request = make()
            try:
                answer = await self.ask(broker, request, timeout_ms=timeout_ms)
            except ConnectionLostError:
                self.forget_coordinator(key, kind)
                raise
            error = ErrorCode(error_of(answer))
            if error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                self.forget_coordinator(key, kind)
            elif error is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and error not in also_retry:
                return answer
            await self.back_off(attempt)
            attempt += 1
