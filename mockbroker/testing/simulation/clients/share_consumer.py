"""A consumer of a share group: acquires records, and says of each what became of it, or lets its lock run out.

Source: ShareConsumeRequestManager and ShareSessionHandler, Apache Kafka 4.4; KIP-932.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kafka_rack.consistency.sharing import (
    AcknowledgeType,
    LostShareFetch,
    ShareAcknowledgement,
    ShareDelivery,
)
from mockbroker.testing.simulation.clients.client import (
    NO_LEADER,
    REQUEST_TIMEOUT_MS,
    Client,
    ConnectionLostError,
    TopicPartition,
)
from mockbroker.testing.simulation.clients.share_membership import ShareMembership
from protocol.apis.share_fetch import ShareAcknowledgeRequest, ShareFetchRequest
from protocol.apis.share_group import ShareGroupHeartbeatRequest
from protocol.error_codes import ErrorCode
from protocol.records import iter_batch_records, iter_batches

SHARED_SINCE = 1  # the version of the heartbeat that is no preview
MAX_WAIT_MS = 500
MAX_BYTES = 1 << 20
FIRST_EPOCH = 0
TYPES: dict[AcknowledgeType, int] = {"accept": 1, "release": 2, "reject": 3, "renew": 4}
RENEWING_VERSION = 2  # of ShareAcknowledge (KIP-1222)
RENEW_WITHIN_MS = 1_500
FORGET = "forget"
LINGER_MS = 2_600
"""How long work on records takes at times: longer than locks last here."""


@dataclass(frozen=True, slots=True)
class ShareConsumerSettings:
    """What a share consumer is set to. With ``implicit`` acknowledgements all is accepted with the next fetch."""

    topics: tuple[str, ...]
    group: str
    acknowledgement_mode: Literal["implicit", "explicit"] = "explicit"
    max_records: int = 20


@dataclass(slots=True, eq=False)
class ClientShareSession:
    """A member's session at one broker, which last answered at ``heard_at``. ``given`` is what it gave; ``unsaid`` goes
    with the next request.
    """

    epoch: int = FIRST_EPOCH
    heard_at: int = 0
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    given: list[ShareDelivery] = field(default_factory=list)
    unsaid: list[ShareAcknowledgement] = field(default_factory=list)


class ShareConsumer:
    """Acquires and acknowledges for as long as the client lives."""

    def __init__(self, client: Client, settings: ShareConsumerSettings) -> None:
        self.client, self.settings = client, settings
        self.membership = ShareMembership(client, settings.group, settings.topics)
        self.records = 0
        self._has_api = True
        self._sessions: dict[int, ClientShareSession] = {}

    @property
    def is_served(self) -> bool:
        """False once brokers have said that they have no share groups."""
        return self._has_api and not self.membership.is_refused

    @property
    def is_done(self) -> bool:
        """A member is done when its group is: whoever runs it looks at the share partitions."""
        return True

    def progress(self) -> str:
        return f"{self.records} records acquired; epoch {self.membership.epoch}"

    async def run(self) -> None:
        client = self.client
        await client.start()
        if not client.serves(ShareGroupHeartbeatRequest, SHARED_SINCE):
            self._has_api = False
            return
        client.spawn(self.membership.keep_alive())
        while self.is_served:
            if client.is_metadata_old():
                await client.refresh()
            by_broker: dict[int, list[TopicPartition]] = {}
            for place in self.membership.assigned:
                leader = client.leader_of(place)
                if leader != NO_LEADER:
                    by_broker.setdefault(leader, []).append(place)
            for broker in [*self._sessions]:
                if broker not in by_broker:
                    await self._close(broker)
            if not by_broker:
                await client.refresh()
                await client.back_off(2)
                continue
            rounds = [client.spawn(self._round(broker, places)) for broker, places in by_broker.items()]
            for one in rounds:
                await one

    # one broker

    async def _round(self, broker: int, places: list[TopicPartition]) -> None:
        """Fetch once from a broker, and work on what it gave."""
        client = self.client
        session = self._sessions.setdefault(broker, ClientShareSession())
        said = [] if session.epoch == FIRST_EPOCH else session.unsaid
        session.unsaid = []
        request = self._fetch_request(session, places, said)
        asked_at, before = client.now_ms, {place: self._leadership(place) for place in places}
        fetch = LostShareFetch(self.settings.group, tuple(places), asked_at)
        history = client.world.history.sharing
        history.lost[fetch] = None
        self._say(said)
        try:
            answer = await client.ask(broker, request, timeout_ms=MAX_WAIT_MS + REQUEST_TIMEOUT_MS)
        except ConnectionLostError:
            self._end_session(broker)
            await client.refresh()
            await client.back_off()
            return
        if answer.error_code != ErrorCode.NONE:
            self._end_session(broker)
            await client.back_off()
            return
        del history.lost[fetch]
        session.epoch, session.heard_at = session.epoch + 1, client.now_ms
        session.partitions = dict.fromkeys(places)
        refused: dict[TopicPartition, None] = {}
        new: list[ShareDelivery] = []
        must_refresh = False
        for topic in answer.responses:
            name = client.name_of(topic.topic_id)
            for entry in topic.partitions:
                place = (str(name), int(entry.partition_index))
                if entry.acknowledge_error_code != ErrorCode.NONE:
                    refused[place] = None
                if entry.error_code != ErrorCode.NONE:
                    must_refresh = True
                elif entry.acquired_records:
                    new += self._take(place, entry, asked_at, before.get(place))
        self._answered(said, refused)
        session.given += new
        if must_refresh:
            await client.refresh()
            await client.back_off()
        if new:
            await self._work(broker, session, new)

    def _fetch_request(
        self, session: ClientShareSession, places: list[TopicPartition], said: Sequence[ShareAcknowledgement]
    ) -> Any:
        client = self.client
        topics: dict[str, Any] = {}
        taken = acknowledgement_batches(said, ShareFetchRequest.Topic.Partition.AcknowledgementBatch)
        forgotten = [place for place in session.partitions if place not in places]
        for place in dict.fromkeys([*places, *taken]):
            if place[0] not in client.topics or (place in session.partitions and place not in taken):
                continue
            if place not in places and place not in forgotten:
                forgotten.append(place)
            topic = topics.get(place[0])
            if topic is None:
                topic = topics[place[0]] = ShareFetchRequest.Topic(topic_id=client.topics[place[0]].id)
            topic.partitions.append(
                ShareFetchRequest.Topic.Partition(
                    partition_index=place[1], acknowledgement_batches=taken.get(place, [])
                )
            )
        kind = ShareFetchRequest.ForgottenTopic
        return ShareFetchRequest(
            group_id=self.settings.group,
            member_id=self.membership.member_id,
            share_session_epoch=session.epoch,
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            max_records=self.settings.max_records,
            batch_size=self.settings.max_records,
            topics=list(topics.values()),
            forgotten_topics_data=[
                kind(topic_id=client.topics[name].id, partitions=[index])
                for name, index in forgotten
                if name in client.topics
            ],
        )

    def _leadership(self, place: TopicPartition) -> Hashable:
        """What stands for who leads a partition now, as only the simulation can know it."""
        cluster = self.client.world.cluster
        topic = cluster.state.topics[place[0]]
        return len(cluster.journals), topic.partitions[place[1]].leader_epoch

    def _take(self, place: TopicPartition, entry: Any, asked_at: int, before: Hashable) -> list[ShareDelivery]:
        """Put down what was acquired."""
        client, history = self.client, self.client.world.history
        data = entry.records or b""
        there = {
            record.offset
            for header in iter_batches(data)
            if not header.partial
            for record in iter_batch_records(data, header)
        }
        leadership = (before, self._leadership(place))
        new = []
        for acquired in entry.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                if offset not in there:
                    text = f"{client.name} acquired offset {offset} of {place[0]}-{place[1]} without its record"
                    history.unexpected.append((place[0], text))
                    continue
                self.records += 1
                delivery = ShareDelivery(
                    client.name,
                    self.settings.group,
                    *place,
                    offset,
                    acquired.delivery_count,
                    asked_at,
                    client.now_ms,
                    leadership,
                )
                new.append(delivery)
        history.sharing.deliveries += new
        return new

    # acknowledgements

    async def _work(self, broker: int, session: ClientShareSession, records: Sequence[ShareDelivery]) -> None:
        """Decide what becomes of records, after a while, and say so now or with the next fetch."""
        client, rng = self.client, self.client.rng
        is_implicit = self.settings.acknowledgement_mode == "implicit"
        if rng.random() < 0.3:
            await client.sleep(rng.randint(1, LINGER_MS))
        if not is_implicit and client.version_of(ShareAcknowledgeRequest) >= RENEWING_VERSION and rng.random() < 0.25:
            await client.sleep(rng.randint(1, RENEW_WITHIN_MS))
            if not await self._renew(broker, session, records):
                return
            await client.sleep(rng.randint(1, LINGER_MS))
        types: Any = ["accept"] * 15 + ["release"] * 3 + ["reject", FORGET]
        said = []
        for delivery in records:
            becomes: Any = "accept" if is_implicit else rng.choice(types)
            if becomes != FORGET:
                said.append(ShareAcknowledgement(delivery, becomes, asked_at=-1))
        session.unsaid += said
        if not is_implicit and rng.random() < 0.6:
            await self._acknowledge(broker, session, session.epoch)

    async def _acknowledge(self, broker: int, session: ClientShareSession, epoch: int) -> None:
        """Say what became of records, by a request of its own."""
        said, session.unsaid = session.unsaid, []
        self._say(said)
        refused = await self._send_acknowledgements(broker, session, epoch, said)
        if refused is not None:
            self._answered(said, refused)

    async def _renew(self, broker: int, session: ClientShareSession, records: Sequence[ShareDelivery]) -> bool:
        """Have the locks on records renewed; False where the session ended."""
        asked_at = self.client.now_ms
        renewals = [ShareAcknowledgement(delivery, "renew", asked_at) for delivery in records]
        refused = await self._send_acknowledgements(broker, session, session.epoch, renewals)
        if refused is None:
            return False
        for delivery in records:
            if (delivery.topic, delivery.partition) not in refused:
                delivery.renewed = (asked_at, self.client.now_ms)
        return True

    async def _send_acknowledgements(
        self, broker: int, session: ClientShareSession, epoch: int, said: Sequence[ShareAcknowledgement]
    ) -> dict[TopicPartition, None] | None:
        """Send these, and give the partitions that refused them; None where the session ended with it."""
        client = self.client
        batches = acknowledgement_batches(said, ShareAcknowledgeRequest.Topic.Partition.AcknowledgementBatch)
        topics: dict[str, Any] = {}
        refused: dict[TopicPartition, None] = {}
        for (name, index), taken in batches.items():
            if name not in client.topics:
                refused[name, index] = None
                continue
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = ShareAcknowledgeRequest.Topic(topic_id=client.topics[name].id)
            topic.partitions.append(
                ShareAcknowledgeRequest.Topic.Partition(partition_index=index, acknowledgement_batches=taken)
            )
        request = ShareAcknowledgeRequest(
            group_id=self.settings.group,
            member_id=self.membership.member_id,
            share_session_epoch=epoch,
            topics=list(topics.values()),
            is_renew_ack=any(one.type == "renew" for one in said),
        )
        try:
            answer = await client.ask(broker, request)
        except ConnectionLostError:
            self._end_session(broker)
            return None
        if answer.error_code != ErrorCode.NONE:
            self._end_session(broker)
            return None
        session.epoch, session.heard_at = session.epoch + 1, client.now_ms
        names = {topic.topic_id: name for name, topic in topics.items()}
        for topic in answer.responses:
            for entry in topic.partitions:
                if entry.error_code != ErrorCode.NONE:
                    refused[names[topic.topic_id], int(entry.partition_index)] = None
        return refused

    def _say(self, said: Sequence[ShareAcknowledgement]) -> None:
        """Put down that acknowledgements leave now."""
        for one in said:
            one.asked_at = self.client.now_ms
        self.client.world.history.sharing.acknowledgements.extend(said)

    def _answered(self, said: Sequence[ShareAcknowledgement], refused: dict[TopicPartition, None]) -> None:
        for one in said:
            one.answered_at = self.client.now_ms
            one.is_taken = (one.delivery.topic, one.delivery.partition) not in refused

    # sessions

    async def _close(self, broker: int) -> None:
        """End a session at a broker that leads nothing for the member any more."""
        session = self._sessions[broker]
        if session.epoch != FIRST_EPOCH:
            await self._acknowledge(broker, session, -1)
        self._end_session(broker)

    def _end_session(self, broker: int) -> None:
        """There is no session any more, perhaps since the last answer: what it gave may be given to others."""
        session = self._sessions.pop(broker, None)
        if session is not None:
            for one in session.given:
                one.released_at = session.heard_at
                one.may_linger = self.client.name in self.client.world.network.frozen

    def forsake(self) -> None:
        """The client ends, and its sessions with it."""
        for broker in [*self._sessions]:
            self._end_session(broker)


def acknowledgement_batches(said: Sequence[ShareAcknowledgement], kind: Any) -> dict[TopicPartition, list[Any]]:
    """Acknowledgements as requests have them, by partition: neighbours together, one type for all where it is one.

    >>> from protocol.apis.share_fetch import ShareAcknowledgeRequest
    >>> kind = ShareAcknowledgeRequest.Topic.Partition.AcknowledgementBatch
    >>> def said(offset, type):
    ...     delivery = ShareDelivery("one", "workers", "orders", 0, offset, 1, 0, 0)
    ...     return ShareAcknowledgement(delivery, type, asked_at=0)
    >>> batches = acknowledgement_batches([said(4, "accept"), said(5, "reject"), said(9, "release")], kind)
    >>> [(one.first_offset, one.last_offset, one.acknowledge_types) for one in batches["orders", 0]]
    [(4, 5, [1, 3]), (9, 9, [2])]
    """
    found: dict[TopicPartition, list[Any]] = {}
    for one in sorted(said, key=lambda one: (one.delivery.topic, one.delivery.partition, one.delivery.offset)):
        delivery = one.delivery
        batches = found.setdefault((delivery.topic, delivery.partition), [])
        if batches and batches[-1].last_offset == delivery.offset - 1:
            batches[-1].last_offset = delivery.offset
            batches[-1].acknowledge_types.append(TYPES[one.type])
        else:
            batches.append(
                kind(first_offset=delivery.offset, last_offset=delivery.offset, acknowledge_types=[TYPES[one.type]])
            )
    for batches in found.values():
        for batch in batches:
            if len(set(batch.acknowledge_types)) == 1:
                batch.acknowledge_types = batch.acknowledge_types[:1]
    return found
