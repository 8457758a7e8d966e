"""The settings of a cluster during the capture, from DescribeConfigs, ApiVersions, redirects and the user.

They are never inferred from behaviour. A note names sources that contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_rack.assignment import SERVER_ASSIGNORS
from kafka_rack.errors import InputError
from kafka_rack.locality.evidence import ASSIGNORS, DISKLESS, REBALANCE_PROTOCOLS, SELECTOR, Setting
from kafka_rack.locality.reasons import FIRST_FETCH_WITH_RACK
from kafka_rack.what_if.change import from_followers
from kafka_rack.what_if.workload import Workload

SERVER_CLASSES = {
    f"org.apache.kafka.coordinator.group.assignor.{name}Assignor": name.lower() for name in ("Uniform", "Range")
}
Answer = tuple[bool | None, str]
"""A setting, None if the source does not have it; and the source."""


def decided(what: str, answers: Iterable[Answer], notes: list[str]) -> bool | None:
    """The first answer; a note names the sources that say otherwise.

    >>> notes = []
    >>> decided("the selector", [(None, "redirects"), (True, "--captured-with"), (False, "DescribeConfigs")], notes)
    True
    >>> notes
    ['the selector: yes by --captured-with, but no by DescribeConfigs; the first one counts']
    """
    said = [(answer, source) for answer, source in answers if answer is not None]
    if not said:
        return None
    first, by = said[0]
    others = ", ".join(source for answer, source in said if answer != first)
    if others:
        words = ("no", "yes")
        notes.append(f"{what}: {words[first]} by {by}, but {words[not first]} by {others}; the first one counts")
    return first


def set_known_settings(
    workload: Workload,
    settings: Mapping[Setting, str],
    anywhere: Iterable[str],
    *,
    redirected: bool,
    captured_with: bool | None = None,
) -> None:
    """Decide the settings of a workload's cluster.

    Args:
        settings: from DescribeConfigs and ApiVersions.
        anywhere: topics whose partitions several brokers lead at a time, as Metadata reports diskless topics.
        redirected: a reader was redirected to a follower.
        captured_with: the user's statement whether brokers had the rack-aware selector.
    """
    notes, versions = workload.notes, {name: value for (kind, _, name), value in settings.items() if kind == "api"}

    def of_brokers(name: str) -> list[str]:
        return sorted({value for (kind, _, own), value in settings.items() if kind == "broker" and own == name})

    selectors: list[Answer] = [(captured_with, "--captured-with"), (redirected or None, "a redirect to a follower")]
    for value in of_brokers(SELECTOR):
        try:
            selectors.append((bool(from_followers(value or None)), f"DescribeConfigs ({SELECTOR}={value})"))
        except InputError:
            notes.append(f"{SELECTOR}={value} is not one of Kafka's: which replica it selects is not known")
    if "Fetch" in versions and int(versions["Fetch"].partition("-")[2]) < FIRST_FETCH_WITH_RACK:
        selectors.append((False, f"ApiVersions (Fetch {versions['Fetch']} carries no rack)"))
    selector = decided("a rack-aware replica selector", selectors, notes)
    workload.reads_from_followers = bool(selector)
    if selector is None and any(position.named for position in workload.positions.values()):
        notes.append(
            f"nothing says whether brokers have a replica selector: none is assumed (--captured-with {SELECTOR}=)"
        )

    uses = any(group.protocol == "consumer" for group in workload.groups.values())
    protocols: list[Answer] = [(uses or None, "a group that uses it")]
    protocols += [("consumer" in value, f"DescribeConfigs ({value})") for value in of_brokers(REBALANCE_PROTOCOLS)]
    if "Fetch" in versions:
        protocols.append(("ConsumerGroupHeartbeat" in versions, "ApiVersions"))
    workload.serves_consumer_protocol = decided("the consumer protocol", protocols, notes)
    for value in of_brokers(ASSIGNORS):
        first = value.partition(",")[0].strip()
        if SERVER_CLASSES.get(first, first) in SERVER_ASSIGNORS:
            workload.assignor = SERVER_CLASSES.get(first, first)

    reported = {
        topic: value == "true" for (kind, topic, name), value in settings.items() if (kind, name) == ("topic", DISKLESS)
    }
    led_anywhere = {*anywhere}
    diskless = {
        topic: decided(
            f"topic {topic} is diskless",
            [(reported.get(topic), f"DescribeConfigs ({DISKLESS})"), (topic in led_anywhere or None, "Metadata")],
            notes,
        )
        for topic in sorted({*reported, *led_anywhere})
    }
    workload.diskless = frozenset(topic for topic, is_so in diskless.items() if is_so)
