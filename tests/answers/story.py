"""What a scenario is told in: requests to a cluster of three brokers, real or ours, and the answers that are kept."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import protocol
from protocol.headers import read_response, request_frame
from protocol.records import CompressionCodec, Record, build_batch
from protocol.registry import message_class
from tests.answers.drivers import CLOSED, Driver
from tests.answers.normal import Names, normal

Fields = dict[str, Any]
PATIENCE_MS = 60_000
CLOSED_ANSWER: Final = {"~": "closed"}
NO_ANSWER: Final = {"~": "no answer, connection open"}
STEP = re.compile(r"\[\d+\]|\w+")
BROKERS = (0, 1, 2)
LOADING = (14, 15, 16)  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that a scenario made: ``replicas`` by partition, leader first."""

    name: str
    id: str
    replicas: tuple[tuple[int, ...], ...]

    def leader(self, index: int = 0) -> int:
        return self.replicas[index][0]

    def other(self, index: int = 0) -> int:
        """A broker that does not lead the partition."""
        return (self.leader(index) + 1) % len(BROKERS)


@dataclass(slots=True)
class Exchange:
    """A step that is kept."""

    scenario: str
    step: str
    api: str
    version: int
    request: Any
    answer: Any


@dataclass(slots=True)
class Pending:
    """A request that was sent, whose answer is not taken yet."""

    story: Story
    step: str | None
    api: str
    version: int
    request: Fields
    broker: int
    connection: str
    correlation_id: int
    sent_ms: int
    only: Callable[[Any], Any] | None = None
    waits_ms: int | None = None

    def is_answered(self, within_ms: int = 0) -> bool:
        """Whether the answer has come; it can be taken afterwards."""
        frame = self.story.driver.received(self.broker, self.connection, self.correlation_id, within_ms)
        if frame is not None:
            self.story.kept_frames[self.broker, self.connection, self.correlation_id] = frame
        return frame is not None

    def answer(self, patience_ms: int = PATIENCE_MS) -> Fields:
        """Wait for the answer, keep it under the step's name, and give it as it came."""
        story = self.story
        key = self.broker, self.connection, self.correlation_id
        frame = story.kept_frames.pop(key, None)
        if frame is None:
            frame = story.driver.received(*key, patience_ms)
        given: Any
        if frame is None:
            given = dict(NO_ANSWER)
        elif frame == CLOSED:
            given = dict(CLOSED_ANSWER)
        else:
            api_key = key_of(self.api)
            given = protocol.to_json(read_response(frame, api_key, self.version)[1], self.version)
        if self.step is not None:
            kept = self.only(given) if self.only is not None and "~" not in given else given
            if self.waits_ms is not None and isinstance(kept, dict):
                waited = story.driver.now_ms() - self.sent_ms >= self.waits_ms * 0.8
                kept = {**kept, "~waited": waited}
            story.keep(self.step, self.api, self.version, self.request, kept)
        return given


@dataclass(slots=True)
class Story:
    """A scenario under way.

    ``kept`` has what was answered so far, made comparable. Names of topics, groups and so on are to be made by
    ``named``, so that scenarios do not meet each other on the cluster that they share while Kafka is recorded.
    """

    name: str
    driver: Driver
    begun_ms: int = 0
    kept: list[Exchange] = field(default_factory=list)
    names: Names = field(init=False)
    kept_frames: dict[tuple[int, str, int], bytes] = field(default_factory=dict)
    next_correlation_id: int = 1
    client_id: str | None = "answers"

    def __post_init__(self) -> None:
        self.begun_ms = self.driver.now_ms()
        self.names = Names(self.begun_ms)

    @property
    def prefix(self) -> str:
        return re.sub(r"[ /,]+", "-", self.name)

    def named(self, short: str) -> str:
        """A name of this scenario's own: ``metadata-v10.t``."""
        return f"{self.prefix}.{short}"

    def time(self, ms: int = 0) -> int:
        """A time stamp that is the same in all runs once it is made comparable: ms after the scenario began."""
        return self.begun_ms + ms

    # asking

    def ask(
        self,
        step: str | None,
        api: str,
        version: int,
        request: Mapping[str, Any] | None = None,
        *,
        to: int = 0,
        on: str = "main",
        only: Callable[[Any], Any] | None = None,
        waits_ms: int | None = None,
        client_id: str | None = "",
        patience_ms: int = PATIENCE_MS,
    ) -> Fields:
        """Ask, keep the answer under the step's name, and give it as it came, in Kafka's JSON.

        Args:
            step: what is special here; the API and its version stand in front of it. Unique in the scenario. None: it
                is set-up, whose answer is not kept.
            api: Kafka's name without Request, as "OffsetFetch".
            request: its fields in Kafka's JSON names. Those that the version does not have are left out. ``bytes``
                are written as they are.
            to: which broker.
            on: which connection to that broker; it is made when first used.
            only: what of the answer to keep, as a function from the whole.
            waits_ms: keep also, as ``~waited``, whether the answer took this long.
            client_id: another than the story's.

        ``{"~": "closed"}`` is the answer where the broker closes the connection, ``{"~": "no answer, ..."}`` where
        none comes.
        """
        pending = self.begin(
            step, api, version, request, to=to, on=on, only=only, waits_ms=waits_ms, client_id=client_id
        )
        if api == "Produce" and (request or {}).get("acks") == 0:
            return self.unanswered(pending)
        return pending.answer(patience_ms)

    def quiet(self, api: str, version: int, request: Mapping[str, Any] | None = None, **where: Any) -> Fields:
        """Ask without keeping the answer: for what has to happen before."""
        return self.ask(None, api, version, request, **where)

    def begin(
        self,
        step: str | None,
        api: str,
        version: int,
        request: Mapping[str, Any] | None = None,
        *,
        to: int = 0,
        on: str = "main",
        only: Callable[[Any], Any] | None = None,
        waits_ms: int | None = None,
        client_id: str | None = "",
    ) -> Pending:
        """Send a request whose answer may take until something else has happened; take it by ``.answer()``."""
        fields = jsonable(request or {})
        message = message_of(f"{api}Request", version, fields)
        number, self.next_correlation_id = self.next_correlation_id, self.next_correlation_id + 1
        client = self.client_id if client_id == "" else client_id
        frame = request_frame(message, version, correlation_id=number, client_id=client)[4:]
        self.driver.send(to, on, frame)
        return Pending(self, step, api, version, fields, to, on, number, self.driver.now_ms(), only, waits_ms)

    def raw(
        self, step: str, api: str, version: int, body: bytes, *, to: int = 0, on: str = "raw", **header: Any
    ) -> Fields:
        """Ask by a body that is no message of ours, behind a right header; else as ``ask``."""
        number, self.next_correlation_id = self.next_correlation_id, self.next_correlation_id + 1
        flexible = message_class(key_of(api), "request").flexible_versions
        start = key_of(api).to_bytes(2) + version.to_bytes(2) + number.to_bytes(4)
        client = (self.client_id or "").encode()
        start += len(client).to_bytes(2) + client
        if flexible and version >= flexible.lowest:
            start += b"\0"
        self.driver.send(to, on, start + body)
        wanted = {"bytes": body.hex()}
        return Pending(self, step, api, version, wanted, to, on, number, self.driver.now_ms()).answer()

    def keep(self, step: str, api: str, version: int, request: Any, answer: Any) -> None:
        """Keep an answer, or what a scenario makes of one, under a step's name."""
        step = f"{api} v{version}, {step}"
        assert all(one.step != step for one in self.kept), f"{self.name}: two steps have the name {step!r}"
        self.kept.append(Exchange(self.name, step, api, version, request, normal(answer, self.names, api)))

    def unanswered(self, pending: Pending) -> Fields:
        """Kafka gives no answer to acks=0: what comes next shows whether it took the connection for good."""
        if self.driver.received(pending.broker, pending.connection, pending.correlation_id, 0) == CLOSED:
            given = CLOSED_ANSWER
        else:
            after = self.begin(None, "ApiVersions", 0, to=pending.broker, on=pending.connection)
            given = CLOSED_ANSWER if "~" in after.answer() else NO_ANSWER
        if pending.step is not None:
            self.keep(pending.step, pending.api, pending.version, pending.request, dict(given))
        return dict(given)

    # time

    def wait(self, ms: int) -> None:
        """Let time pass: in a simulation at once."""
        self.driver.wait(ms)

    def until(self, condition: Callable[[], Any], what: str = "a condition") -> Any:
        """Look until a condition holds, and give what it gave."""
        begun = self.driver.now_ms()
        while True:
            found = condition()
            if found:
                return found
            assert self.driver.now_ms() - begun < PATIENCE_MS, f"{self.name}: {what} did not come"
            self.driver.wait(20)

    def settle(self) -> None:
        """Wait until every broker has the metadata that the controller has written."""

        def same() -> bool:
            request = {"topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]}
            quorum = self.quiet("DescribeQuorum", 1, request, on="settle")["topics"][0]["partitions"][0]
            ends = [one["logEndOffset"] for one in (*quorum["currentVoters"], *quorum["observers"])]
            return min(ends) >= wanted

        if self.driver.is_real:
            wanted = 0
            request = {"topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]}
            quorum = self.quiet("DescribeQuorum", 1, request, on="settle")["topics"][0]["partitions"][0]
            wanted = quorum["highWatermark"]
            self.until(same, "the metadata at all brokers")
            self.wait(60)
        else:
            self.wait(10)

    # what there is

    def topic(
        self,
        short: str = "t",
        partitions: int = 1,
        replicas: int = 3,
        configs: Mapping[str, str] | None = None,
        assignments: Iterable[Iterable[int]] | None = None,
    ) -> Topic:
        """A new topic that all brokers know. Partition i is led by broker i modulo 3, unless told otherwise."""
        if assignments is None:
            assignments = [[(index + shift) % len(BROKERS) for shift in range(replicas)] for index in range(partitions)]
        placed = tuple(tuple(one) for one in assignments)
        name = self.named(short)
        topic: Fields = {
            "name": name,
            "numPartitions": -1,
            "replicationFactor": -1,
            "assignments": [{"partitionIndex": index, "brokerIds": list(one)} for index, one in enumerate(placed)],
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
        }
        answer = self.quiet("CreateTopics", 5, {"topics": [topic], "timeoutMs": 30_000, "validateOnly": False})
        assert answer["topics"][0]["errorCode"] == 0, answer
        return Topic(name, self.known(name, placed), placed)

    def known(self, name: str, placed: tuple[tuple[int, ...], ...] = ()) -> str:
        """Wait until all brokers that answer know a topic, with its leaders; gives its id, which has a name then."""
        for broker in BROKERS:

            def there(broker: int = broker) -> str | None:
                wanted = {"topics": [{"name": name}], "allowAutoTopicCreation": False}
                topic = self.quiet("Metadata", 10, wanted, to=broker, on="settle")["topics"][0]
                leaders = [
                    one["leaderId"] for one in sorted(topic["partitions"], key=lambda one: one["partitionIndex"])
                ]
                right = [one[0] for one in placed] if placed else [one for one in leaders if one >= 0]
                return topic["topicId"] if topic["errorCode"] == 0 and leaders == right else None

            topic_id: str = self.until(there, f"topic {name} at broker {broker}")
        self.names.know(topic_id, f"<id of {name}>")
        return topic_id

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until no broker knows it."""
        self.quiet("DeleteTopics", 5, {"topicNames": [name], "timeoutMs": 30_000})
        for broker in BROKERS:
            wanted = {"topics": [{"name": name}], "allowAutoTopicCreation": False}
            self.until(
                lambda broker=broker, wanted=wanted: (
                    self.quiet("Metadata", 10, wanted, to=broker, on="settle")["topics"][0][  # type: ignore[misc]
                        "errorCode"
                    ]
                    == 3
                ),
                f"topic {name} gone at broker {broker}",
            )

    def coordinator(self, key: str, kind: int = 0) -> int:
        """The broker that coordinates a group (kind 0), a transactional id (1) or a share partition (2), ready to."""

        def found() -> tuple[int] | None:
            wanted = {"coordinatorKeys": [key], "keyType": kind}
            (answer,) = self.quiet("FindCoordinator", 6, wanted, on="settle")["coordinators"]
            if answer["errorCode"]:
                return None
            node: int = answer["nodeId"]
            if kind == 0:
                ready = self.quiet("DescribeGroups", 5, {"groups": [key]}, to=node, on="settle")["groups"][0]
            elif kind == 1:
                ids = {"transactionalIds": [key]}
                ready = self.quiet("DescribeTransactions", 0, ids, to=node, on="settle")["transactionStates"][0]
            else:
                ready = {"errorCode": 0}
            return None if ready["errorCode"] in LOADING else (node,)

        (node,) = self.until(found, f"the coordinator of {key}")
        return int(node)

    def not_coordinator(self, key: str, kind: int = 0) -> int:
        """A broker that is not."""
        return (self.coordinator(key, kind) + 1) % len(BROKERS)

    def producer_id(self, to: int = 0) -> int:
        """A new producer id, of an idempotent producer, from a broker that has some by then."""

        def found() -> tuple[int] | None:
            wanted = {"transactionalId": None, "transactionTimeoutMs": 60_000}
            answer = self.quiet("InitProducerId", 1, wanted, to=to)
            return None if answer["errorCode"] else (answer["producerId"],)

        (given,) = self.until(found, "a producer id")
        return int(given)

    def batch(
        self,
        *values: bytes | tuple[bytes | None, bytes | None],
        at: int = 0,
        codec: CompressionCodec = CompressionCodec.NONE,
        **fields: Any,
    ) -> bytes:
        """Records by value, or by key and value, of the time ``time(at)``; ``fields`` as of ``build_batch``."""
        pairs = [one if isinstance(one, tuple) else (None, one) for one in values]
        records = [Record(key=key, value=value, timestamp=self.time(at)) for key, value in pairs]
        return build_batch(records, codec=codec, **fields)

    def produced(self, topic: Topic, *values: bytes, index: int = 0, **fields: Any) -> int:
        """Write records, unkept, and give the offset of the first."""
        partition = {"index": index, "records": self.batch(*values, **fields)}
        wanted = {"acks": -1, "timeoutMs": 30_000, "topicData": [{"name": topic.name, "partitionData": [partition]}]}
        answer = self.quiet("Produce", 9, wanted, to=topic.leader(index))
        given = answer["responses"][0]["partitionResponses"][0]
        assert given["errorCode"] == 0, given
        return int(given["baseOffset"])

    def stop(self, broker: int) -> None:
        """Stop a broker, and wait until the others have heard of it."""
        self.driver.stop_broker(broker)
        self._listed(broker, False)

    def start(self, broker: int) -> None:
        """Start it again, and wait until all have heard of it."""
        self.driver.start_broker(broker)
        self._listed(broker, True)

    def _listed(self, broker: int, is_up: bool) -> None:
        for other in BROKERS:
            if other == broker and not is_up:
                continue

            def right(other: int = other) -> bool:
                answer = self.quiet("DescribeCluster", 0, {}, to=other, on="settle")
                return is_up == (broker in [one["brokerId"] for one in answer["brokers"]])

            self.until(right, f"broker {broker} {'up' if is_up else 'down'} at broker {other}")


def mine(story: Story, *lists: str) -> Callable[[Any], Any]:
    """For ``only``: of these lists what belongs to the scenario, by name, for answers that list all there is."""

    def filtered(answer: Any) -> Any:
        kept = dict(answer)
        for name in lists:
            kept[name] = [one for one in answer[name] if belongs(one, story.prefix)]
        return kept

    return filtered


def belongs(entry: Any, prefix: str) -> bool:
    texts = entry.values() if isinstance(entry, dict) else [entry]
    return any(isinstance(one, str) and one.startswith(f"{prefix}.") for one in texts)


@cache
def key_of(api: str) -> int:
    """The number of an API, by Kafka's name of it."""
    for one in protocol.messages():
        if one.name == f"{api}Request":
            assert one.api_key is not None
            return int(one.api_key)
    raise KeyError(api)


def name_of(api_key: int) -> str:
    """Kafka's name of an API, by its number."""
    return message_class(api_key, "request").name.removesuffix("Request")


def jsonable(value: Any) -> Any:
    """Fields with their bytes as Kafka's JSON has them."""
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: jsonable(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(one) for one in value]
    return value


def message_of(name: str, version: int, fields: Fields) -> Any:
    """A request without the fields that its version does not have."""
    fields = jsonable(fields)
    while True:
        try:
            return protocol.from_json(name, version, fields)
        except protocol.EncodeError as error:
            if not error.reason.startswith("no such field"):
                raise
            *way, last = [int(one[1:-1]) if one[0] == "[" else one for one in STEP.findall(error.path)]
            place: Any = fields
            for one in way:
                place = place[one]
            del place[last]
