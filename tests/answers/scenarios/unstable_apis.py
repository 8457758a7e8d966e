"""Brokers that serve versions of APIs that are still to change (``unstable.api.versions.enable``)."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.scenarios.handshake import SOFTWARE, apis_of
from tests.answers.story import Story

SETTINGS = {"unstable.api.versions.enable": "true"}


@scenario("unstable apis/listed v{version}", versions="ApiVersions")
def listed(story: Story, version: int) -> None:
    for broker in (0, 2):
        story.ask(f"broker {broker}", "ApiVersions", version, SOFTWARE, to=broker, only=apis_of)


@scenario("unstable apis/asked")
def asked(story: Story) -> None:
    """The one version of Kafka 4.4 that is unstable, two-phase commit, and the next that there is not."""
    transactional_id = story.named("x")
    at = story.coordinator(transactional_id, 1)
    begins = {"transactionalId": transactional_id, "transactionTimeoutMs": 60_000}
    story.until(lambda: not story.quiet("InitProducerId", 5, begins, to=at)["errorCode"], "an id")
    for step, fields in {
        "plain": {"enable2Pc": False, "keepPreparedTxn": False},
        "two-phase commit": {"enable2Pc": True, "keepPreparedTxn": False},
        "a prepared one": {"enable2Pc": False, "keepPreparedTxn": True},
        "both": {"enable2Pc": True, "keepPreparedTxn": True},
    }.items():
        story.ask(step, "InitProducerId", 6, {**begins, **fields}, to=at)
    frame = (22).to_bytes(2) + (7).to_bytes(2) + (77).to_bytes(4) + (2).to_bytes(2) + b"me" + bytes(20)
    story.driver.send(0, "v7", frame)
    story.keep(
        "the next version", "InitProducerId", 7, {}, {"closed": story.driver.received(0, "v7", 77, 10_000) == b""}
    )
