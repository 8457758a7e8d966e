"""Over the wire: every API and version that a running cluster advertises, well-formed requests and damaged ones.

A well-formed request is answered with a response that decodes in that version, or waits where its API may. A damaged
one is answered too, or has its connection closed, with one logged line that says why; it is never met with silence.
Nothing else is logged, nothing is raised, and the cluster goes on serving another connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import protocol
from mockbroker import MockCluster
from mockbroker.api import SERVED
from protocol.apis.acls import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.classic_group import JoinGroupRequest, SyncGroupRequest
from protocol.apis.cluster import UnregisterBrokerRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.share_fetch import ShareAcknowledgeRequest, ShareFetchRequest
from protocol.apis.share_group import ShareGroupDescribeRequest, ShareGroupHeartbeatRequest
from protocol.apis.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from protocol.framing import frame
from protocol.fuzz import Draws, damaged, messages
from protocol.records import Record, build_batch
from tests.families import asks_all
from tests.fixture_data import golden_vectors
from tests.progress import while_it_works

API_VERSIONS, JOIN_GROUP, PRODUCE = ApiVersionsRequest.api_key, JoinGroupRequest.api_key, ProduceRequest.api_key
MAY_WAIT = {FetchRequest.api_key, JOIN_GROUP, SyncGroupRequest.api_key, PRODUCE}
PREVIEWS = {ShareGroupHeartbeatRequest, ShareGroupDescribeRequest, ShareFetchRequest, ShareAcknowledgeRequest}
"""Their version 0 was a preview, which Kafka 4.1 has dropped: declared and in golden bytes, but not served."""
TELEMETRY = {GetTelemetrySubscriptionsRequest.api_key, PushTelemetryRequest.api_key}
"""Answered, but not advertised: brokers without a reporter that receives metrics hide them (KIP-714)."""
BROKERS = {0, 1, 2}
LATER_MS = 3_600_000  # when no call waits any more
MAX_HOURS = 100
MEMBER = "the member that joined last"  # as a member id, it stands for whatever id the cluster gave

EACH_API = pytest.mark.parametrize(
    "request_class",
    [protocol.message_class(key, "request") for key in sorted(SERVED)],
    ids=lambda one: one.name,
)
FEW = settings(
    max_examples=settings().max_examples // 6 if asks_all() else 2,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
SOME = settings(FEW, max_examples=settings().max_examples)


def new_cluster() -> MockCluster:
    """Three brokers in three racks, a topic of each kind, and the same ids each time; also versions still to change."""
    all_versions = {"unstable.api.versions.enable": "true"}
    return MockCluster(topics={"orders": 3}, diskless_topics={"events": 2}, settings=all_versions)


@cache
def draws() -> Draws:
    """Values that mean something to that cluster, and some that mean nothing anywhere."""
    cluster = new_cluster()
    ids = [topic.id for topic in cluster.state.topics.values()]
    small = st.sampled_from([0, 1, 2, -1, 3, 5, 100])
    integers = {
        code: st.one_of(small, st.sampled_from([(1 << bits - 1) - 1, -(1 << bits - 1)]))
        for code, bits in {"b": 8, "h": 16, "l": 32, "q": 64}.items()
    }
    integers |= {code: small.map(abs) for code in "BHL"}
    integers["l"] |= st.sampled_from([6_000, 10_000])  # session timeouts that pass
    good = build_batch([Record(value=b"v", timestamp=1_000)])
    old = build_batch([Record(value=b"v")], magic=0)
    blobs = st.sampled_from([b"", good, good * 2, old, good[:-1], b"\0" * 70]) | st.binary(max_size=30)
    names = ["orders", "events", "new", "", "a", MEMBER, "consumer", "range", "retention.ms", "räck", "x" * 300]
    return Draws(
        texts=st.sampled_from(names),
        blobs=blobs,
        uuids=st.sampled_from([*ids, bytes(16), bytes(range(16))]),
        integers=integers,
        long_arrays=False,
    )


class Scene:
    """A running cluster, connections to it, what it logged, and what went wrong where nobody looked."""

    def __init__(self, cluster: MockCluster) -> None:
        self.cluster = cluster
        self.records: list[logging.LogRecord] = []
        self.raised: list[dict[str, Any]] = []
        self.lines: list[Line] = []
        self.asked_to_go: set[int] = set()  # brokers that a request has unregistered, or may have

    def hears(self, request: Any) -> None:
        """Note what a request does that other connections see: Kafka forgets a broker that is up as well."""
        if isinstance(request, UnregisterBrokerRequest):
            self.asked_to_go |= {request.broker_id} & BROKERS

    @property
    def closings(self) -> list[str]:
        """One line for each connection that the cluster ended; asserts that nothing else was logged or raised."""
        assert self.raised == []
        lines = [record.getMessage() for record in self.records]
        for record, line in zip(self.records, lines, strict=True):
            assert (record.levelno, record.exc_info) == (logging.WARNING, None), line
            assert " closes the connection of " in line
            assert "cannot be written" not in line, line
            assert "\n" not in line
        return lines

    async def connect(self, broker: int) -> Line:
        address = self.cluster.state.brokers[broker]
        line = Line(*await asyncio.open_connection(address.host, address.port))
        self.lines.append(line)
        return line


@asynccontextmanager
async def running() -> AsyncIterator[Scene]:
    """A cluster of which all that is logged is collected, and all that fails in tasks and callbacks of its loop."""
    async with new_cluster() as cluster:
        scene = Scene(cluster)
        handler = logging.Handler(logging.INFO)
        handler.emit = scene.records.append  # type: ignore[method-assign]
        loggers = [logging.getLogger(name) for name in ("mockbroker", "asyncio")]
        asyncio.get_running_loop().set_exception_handler(lambda _, context: scene.raised.append(context))
        for logger in loggers:
            logger.addHandler(handler)
            logger.propagate = False
        try:
            yield scene
            await still_serves(scene, await scene.connect(2))
        finally:
            for logger in loggers:
                logger.removeHandler(handler)
                logger.propagate = True
            for line in scene.lines:
                line.writer.close()
                with suppress(ConnectionError):
                    await line.writer.wait_closed()
    assert scene.closings == []


class SentRequest(NamedTuple):
    """What was asked; Produce with acks=0 has no answer."""

    api_key: int
    version: int
    may_be_silent: bool


class Line:
    """One connection: what was asked, and what came back by the time that both sides had hung up."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.asked: list[SentRequest] = []

    def say(self, request: Any, version: int) -> None:
        """Write a well-formed request; correlation ids count from 0."""
        silent = type(request).api_key == PRODUCE and request.acks == 0
        self.writer.write(framed(request, version, len(self.asked)))
        self.asked.append(SentRequest(type(request).api_key, version, silent))

    async def answers(self) -> list[bytes]:
        """Hang up, and read the frames of all answers that came; an answer cut off would fail here."""
        received = b""
        with suppress(OSError):  # the other side may have hung up first
            self.writer.write_eof()
        with suppress(ConnectionError):
            async with while_it_works("the end of the answers"):
                received = await self.reader.read()
        self.writer.close()
        reader = protocol.FrameReader()
        frames = reader.feed(received)
        assert sum(4 + len(one) for one in frames) == len(received)
        return frames

    async def first_answer(self) -> bytes | None:
        """The frame of the next answer; None where the other side hangs up in its place."""
        try:
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            return await self.reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            assert not getattr(error, "partial", b""), "an answer was cut off"
            return None

    async def checked_answers(self) -> list[Any]:
        """The messages that answered what was said, each in its version, in the order of asking."""
        found, frames = [], await self.answers()
        for number, (api_key, version, silent) in enumerate(self.asked):
            if frames and int.from_bytes(frames[0][:4], "big") == number:
                header, message = protocol.read_response(frames.pop(0), api_key, version)
                assert header.correlation_id == number
                found.append(message)
            elif not silent:
                break
        assert frames == []
        return found


def framed(request: Any, version: int, correlation_id: int) -> bytes:
    return protocol.request_frame(request, version, correlation_id=correlation_id, client_id="fuzz")


def served_versions(request_class: Any) -> range:
    versions = request_class.valid_versions
    return range(max(versions.lowest, int(request_class in PREVIEWS)), versions.highest + 1)


def refusal(request: Any, version: int) -> str | None:
    """Why Kafka ends the connection in place of an answer, if it does: a version it has no more, or, in requests about
    ACLs, a number that stands for 'unknown', over which its request classes fail while they read.
    """
    served = served_versions(type(request))
    if version not in served:
        known = f"{served[0]}" if len(served) == 1 else f"{served[0]}-{served[-1]}"
        return f"expected {type(request).name} version {known}, got {version}"
    if isinstance(request, CreateAclsRequest):
        entries = [
            (one.resource_type, one.resource_pattern_type, one.operation, one.permission_type)
            for one in request.creations
        ]
        return "expected known numbers in an entry" if any(0 in entry for entry in entries) else None
    if isinstance(request, DeleteAclsRequest | DescribeAclsRequest):
        filters = request.filters if isinstance(request, DeleteAclsRequest) else [request]
        entries = [
            (one.resource_type_filter, one.pattern_type_filter, one.operation, one.permission_type) for one in filters
        ]
        return "expected known numbers in a filter" if any(0 in entry for entry in entries) else None
    return None


async def still_serves(scene: Scene, witness: Line) -> set[int]:
    """A connection that was there before gets its answer; the ids of the brokers in it."""
    witness.writer.write(framed(MetadataRequest(topics=None), 12, 7))
    async with while_it_works("the answer to a witness"):
        size = int.from_bytes(await witness.reader.readexactly(4), "big")
        header, answer = protocol.read_response(await witness.reader.readexactly(size), MetadataRequest.api_key, 12)
    assert header.correlation_id == 7
    brokers = {broker.node_id for broker in answer.brokers}
    assert BROKERS - scene.asked_to_go <= brokers <= BROKERS
    return brokers


def test_the_cluster_advertises_what_is_asked_here():
    async def main() -> None:
        async with running() as scene:
            line = await scene.connect(0)
            line.say(ApiVersionsRequest(), 0)
            (answer,) = await line.checked_answers()
            advertised = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
            asked = {key: served_versions(protocol.message_class(key, "request")) for key in SERVED}
            assert advertised == {
                key: (versions[0], versions[-1]) for key, versions in asked.items() if key not in TELEMETRY
            }
            assert len(advertised) >= 24

    asyncio.run(main())


@EACH_API
def test_requests_in_kafkas_own_bytes_are_answered(request_class):
    vectors = golden_vectors(request_class.name)
    assert vectors
    read = [(protocol.decode_named(one.message, one.version, one.body), one.version) for one in vectors]
    asyncio.run(check_each_request(read))


@EACH_API
@FEW
@given(st.data())
def test_well_formed_requests_are_answered_in_their_version(request_class, data):
    versions = request_class.valid_versions
    asyncio.run(
        check_each_request([(data.draw(messages(request_class, version, draws())), version) for version in versions])
    )


async def check_each_request(said: list[tuple[Any, int]]) -> None:
    """Each request, on a connection of its own, is answered, or waits if it may, or ends it where Kafka ends it."""
    async with running() as scene:
        witness = await scene.connect(1)
        for turn, (request, version) in enumerate(said):
            line = await scene.connect(turn % 3)
            line.say(request, version)
            refused = refusal(request, version)
            if refused is None:
                scene.hears(request)
            answers = await line.checked_answers()
            (asked,) = line.asked
            if asked.may_be_silent:
                assert answers == []
                scene.records.clear()  # acks=0: an error is told by hanging up
            elif refused is not None:
                assert answers == []
                (closing,) = scene.closings
                assert refused in closing
                scene.records.clear()
            else:
                assert scene.closings == [], (request, version)
                assert answers or asked.api_key in MAY_WAIT, (request, version)
        assert await still_serves(scene, witness) == BROKERS - scene.asked_to_go


@EACH_API
@FEW
@given(st.data())
def test_each_damaged_request_is_answered_or_ends_its_connection_with_one_line(request_class, data):
    streams = []
    for version in request_class.valid_versions:
        whole = framed(data.draw(messages(request_class, version, draws())), version, 1)
        if data.draw(st.booleans(), "damage the length as well"):
            streams.append(data.draw(damaged(whole)))
        else:
            streams.append(frame(data.draw(damaged(whole[4:]))))
    asyncio.run(check_each_stream(streams))


async def check_each_stream(streams: list[bytes]) -> None:
    """Each piece of bytes on a connection of its own brings an answer that decodes, or one line about the end.

    Only what is no whole request is met with silence, since the rest may come yet, and a Produce that asks for it.
    """
    async with running() as scene:
        witness = await scene.connect(1)
        for turn, stream in enumerate(streams):
            line = await scene.connect(turn % 3)
            scene.hears(request_in(stream))
            line.writer.write(stream)
            answers = []
            if has_whole_frame(stream) and not wants_silence(stream):
                answer = await answer_in_time(scene, line, witness)
                if answer is None:
                    assert len(scene.closings) == 1, stream
                else:
                    answers.append(answer)
            answers += await line.answers()
            assert len(scene.closings) <= 1
            scene.records.clear()
            assert len(answers) <= 1
            for answer in answers:
                api_key, version = (int.from_bytes(stream[at : at + 2], "big", signed=True) for at in (4, 6))
                header, _ = protocol.read_response(answer, api_key, version)
                assert header.correlation_id == int.from_bytes(stream[8:12], "big", signed=True)
        await still_serves(scene, witness)


def has_whole_frame(stream: bytes) -> bool:
    """Whether there are as many bytes as the length in front says, or no frame has that length."""
    return len(stream) >= 4 and len(stream) - 4 >= int.from_bytes(stream[:4], "big", signed=True)


def wants_silence(stream: bytes) -> bool:
    """Whether this is a Produce that reads, damage and all, as one with acks=0."""
    request = request_in(stream)
    return isinstance(request, ProduceRequest) and request.acks == 0


def request_in(stream: bytes) -> Any:
    """The request that these bytes read as, damage and all; None if they do not."""
    size = int.from_bytes(stream[:4], "big", signed=True)
    try:
        _, request = protocol.read_request(stream[4 : 4 + size], trailing="ignore")
    except protocol.ProtocolError:
        return None
    return request


async def answer_in_time(scene: Scene, line: Line, witness: Line) -> bytes | None:
    """The answer to what was said, an hour of cluster time passing each time that another connection was served."""
    reading = asyncio.create_task(line.first_answer())
    for hour in range(1, MAX_HOURS):
        await still_serves(scene, witness)
        if reading.done():
            return reading.result()
        scene.cluster.engine.advance(scene.cluster.now_ms() + hour * LATER_MS)
    reading.cancel()
    raise AssertionError("neither an answer nor an end")


@st.composite
def conversations(draw: Any) -> list[tuple[int, Any, int]]:
    """Requests of any kind in a row, each with the broker it goes to and its version."""
    said = []
    for _ in range(draw(st.integers(2, 12))):
        request_class = protocol.message_class(draw(st.sampled_from(sorted(SERVED))), "request")
        version = draw(st.sampled_from(served_versions(request_class)))
        request = draw(messages(request_class, version, draws()))
        if refusal(request, version) is not None:
            continue  # the end of the connection would be that of the conversation
        if request_class is ProduceRequest and request.acks == 0:
            request.acks = 1  # errors under acks=0 end the connection, and the conversation with it
        said.append((draw(st.integers(0, 2)), request, version))
    return said


@SOME
@given(conversations())
def test_requests_of_all_kinds_in_a_row_are_all_answered_in_time(said):
    asyncio.run(check_conversation(said))


async def check_conversation(said: list[tuple[int, Any, int]]) -> None:
    """All in one cluster, on one connection a broker; then an hour passes, and nothing waits any more."""
    async with running() as scene:
        witness = await scene.connect(1)
        lines = [await scene.connect(broker) for broker in range(3)]
        for broker, request, version in said:
            if getattr(request, "member_id", None) == MEMBER:
                request.member_id = last_member(scene.cluster)
            scene.hears(request)
            lines[broker].say(request, version)
            await still_serves(scene, witness)
        for hour in range(1, 1 + len(said)):  # behind a call that waited there may be others
            scene.cluster.engine.advance(scene.cluster.now_ms() + hour * LATER_MS)
        assert scene.cluster.engine.parked_calls == 0
        for line in lines:
            answers = await line.checked_answers()
            assert len(answers) == len(line.asked)
        assert scene.closings == []
        assert await still_serves(scene, witness) == BROKERS - scene.asked_to_go


def last_member(cluster: MockCluster) -> str:
    """The id of the member that joined a group last, or one that nobody has."""
    members = [member for group in cluster.state.groups.select() for member in group.members]
    return members[-1] if members else "nobody"
