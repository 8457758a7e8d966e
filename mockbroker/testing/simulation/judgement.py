"""What was not right in a run, by what clients saw and by what is left at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_rack.consistency import Assignment, HistorySettings, check
from kafka_rack.consistency.sharing import check_sharing
from mockbroker.testing.simulation.clients.client import TopicPartition
from mockbroker.testing.simulation.clients.pipeline import SEPARATOR, PipelineSettings
from mockbroker.testing.simulation.history import ClientHistory

if TYPE_CHECKING:
    from mockbroker.testing.simulation.plan import SimulationPlan, TopicPlan

MAX_EXAMPLES = 3
SHARE_LOCK, SHARE_DELIVERIES = "group.share.record.lock.duration.ms", "group.share.delivery.count.limit"


class Violation(NamedTuple):
    """``kind`` says in a word what went wrong, ``text`` in a sentence with what shows it."""

    kind: str
    text: str


def settings_of(topic: TopicPlan) -> HistorySettings:
    """What Kafka promises of a topic."""
    return HistorySettings(
        unclean_leader_election=topic.is_unclean,
        deletes_records=topic.deletes_records,
        auto_offset_reset="earliest",
        reads_to_end=True,
    )


def history_problems(history: ClientHistory, plan: SimulationPlan) -> list[Violation]:
    """The anomalies in what clients saw that Kafka does not permit."""
    by_name = {topic.name: settings_of(topic) for topic in plan.topics}
    report = check(
        history.operations,
        settings_of_topic=lambda name: by_name.get(name, HistorySettings()),
        max_examples=MAX_EXAMPLES,
    )
    return [Violation(anomaly.kind, anomaly.evidence) for anomaly in report.forbidden]


def unexpected_answers(history: ClientHistory, plan: SimulationPlan) -> list[Violation]:
    """Answers that say that records were lost or an order was broken, where that cannot be."""
    unclean = {topic.name for topic in plan.topics if topic.is_unclean}
    return [Violation("unexpected-answer", text) for topic, text in history.unexpected if topic not in unclean]


def fenced_commits(history: ClientHistory) -> list[Violation]:
    """Offsets that were taken from a generation of the past: the next one had begun before they were sent."""
    found = []
    for commit in history.commits:
        later = [
            one
            for one in history.generations
            if one.group == commit.group and one.generation > commit.generation and one.at < commit.asked_at
        ]
        if later:
            found.append(
                Violation(
                    "fenced-commit",
                    f"{commit.client} committed offset {commit.offset} of {commit.topic}-{commit.partition} for group "
                    f"{commit.group} in generation {commit.generation} at {commit.asked_at} ms; generation "
                    f"{later[0].generation} had begun at {later[0].at} ms",
                )
            )
    return found


def commits_by_former_owners(history: ClientHistory) -> list[Violation]:
    """Offsets that were taken of a partition that the group had given to another member by then. In groups of the
    consumer protocol nobody gets a partition before the last owner has given it up or is out of the group.
    """
    classic = {one.group for one in history.generations}
    told: dict[tuple[str, TopicPartition], list[Assignment]] = defaultdict(list)
    for one in history.operations:
        if isinstance(one, Assignment) and one.group not in classic:
            for place in one.partitions:
                told[one.group, (place[0], place[1])].append(one)
    found = []
    for commit in history.commits:
        owners = told.get((commit.group, (commit.topic, commit.partition)), ())
        last = next((one for one in reversed(owners) if one.at < commit.asked_at), None)
        if last is not None and last.client != commit.client:
            found.append(
                Violation(
                    "fenced-commit",
                    f"{commit.client} committed offset {commit.offset} of {commit.topic}-{commit.partition} for group "
                    f"{commit.group} in epoch {commit.generation} at {commit.asked_at} ms; {last.client} had got the "
                    f"partition in epoch {last.generation} at {last.at} ms",
                )
            )
    return found


def sharing_problems(
    history: ClientHistory, plan: SimulationPlan, expected: Mapping[tuple[str, str, int], Iterable[int]]
) -> list[Violation]:
    """What share groups did that they must not; ``expected`` has the offsets that they should be done with."""
    found = check_sharing(
        history.sharing.deliveries,
        history.sharing.acknowledgements,
        history.sharing.lost,
        lock_ms=int(plan.settings[SHARE_LOCK]),
        max_delivery_count=int(plan.settings[SHARE_DELIVERIES]),
        expected=expected,
    )
    return [Violation(one.kind, one.evidence) for one in found[:MAX_EXAMPLES]]


def pipeline_problems(plan: SimulationPlan, values: Mapping[TopicPartition, Iterable[bytes]]) -> list[Violation]:
    """Input records that did not lead to exactly one committed output record."""
    settings = next((one.settings for one in plan.clients if isinstance(one.settings, PipelineSettings)), None)
    if settings is None:
        return []
    inputs: Counter[bytes] = Counter()
    outputs: Counter[bytes] = Counter()
    for (topic, _), there in values.items():
        if topic == settings.source:
            inputs.update(there)
        elif topic == settings.target:
            outputs.update(value.partition(SEPARATOR)[0] for value in there)
    wrong = [value for value in sorted(inputs | outputs) if inputs[value] != outputs[value]]
    return [
        Violation(
            "not-exactly-once",
            f"{value.decode()} stands {inputs[value]} times in {settings.source}, and {outputs[value]} times in what "
            f"was committed to {settings.target}",
        )
        for value in wrong[:MAX_EXAMPLES]
    ]
