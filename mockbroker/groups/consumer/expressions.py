"""Regular expressions by which members subscribe: RE2's syntax, matched by the coordinator.

Source: TopicRegexResolver and GroupMetadataManager.maybeUpdateRegularExpressions, Apache Kafka 4.4, which matches
in the background; here matching happens after the heartbeat is answered.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mockbroker.groups.consumer.group import ConsumerMember
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.patterns import PatternError, compiled
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.groups.consumer.group import ConsumerGroup
    from mockbroker.groups.kind import Sender
    from protocol.embedded.consumer_group_log import ConsumerGroupRegularExpressionValue

NOT_GROUPS = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*+(?:\]|$)", re.DOTALL)
"""Quoted text, or a class."""
GROUP_NAME = re.compile(r"\(\?P?<(\w+)>")
MIN_REFRESH_MS = 10_000  # GroupMetadataManager.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS


def takes_effect(
    group: ConsumerGroup, before: ConsumerMember, after: ConsumerMember, new_records: list[CoordinatorRecord]
) -> bool:
    """True if a heartbeat sets another expression whose matches are known, or none; others have yet to be matched.

    Raises ApiError: INVALID_REGULAR_EXPRESSION.
    """
    if before.expression == after.expression:
        return False
    subscribers = group.subscribers()
    if subscribers[before.expression or ""] == 1:
        new_records.append(group.no_expression(before.expression or ""))
    if after.expression and after.expression not in subscribers:
        check_expression(after.expression)
        return False
    return after.expression in group.resolved if after.expression else bool(before.expression)


def refresh(
    group: ConsumerGroup, last: ConsumerGroupRegularExpressionValue | None, now_ms: int, sender: Sender
) -> None:
    """Match the group's expressions again if that may change the result; if it does, the group's epoch increases.

    Args:
        last: the matches of one expression before the heartbeat that caused this refresh.
        sender: of that heartbeat; expressions match the topics that it may see.
    """
    expressions = group.subscribers().keys()
    if not expressions:
        return
    topics, wall_ms = group.groups.topics, group.groups.clock.at(now_ms)
    if last is not None:
        if wall_ms <= last.timestamp + MIN_REFRESH_MS:
            return
        refresh_ms: int = group.groups.config("group.consumer.regex.refresh.interval.ms")
        if (
            expressions == group.resolved.keys()
            and group.matched_topics.issuperset(topics.by_id)
            and wall_ms <= last.timestamp + refresh_ms
        ):
            return
    names = list(filter(sender.may_see, topics.by_name))
    version, group.matched_topics = topics.version(), frozenset(topics.by_id)
    old = {text: one.topics for text, one in group.resolved.items() if one.topics}
    new = {text: sorted(filter(compiled(text).fullmatch, names)) for text in sorted(expressions)}
    found = [group.expression_record(text, matches, version, wall_ms) for text, matches in new.items()]
    named = (member.topics for member in group.members.values())
    metadata_hash = topics.hash_of(frozenset().union(*named, *new.values()))
    if old != {text: matches for text, matches in new.items() if matches} or metadata_hash != group.metadata_hash:
        found.append(group.epoch_record(group.epoch + 1, metadata_hash))
        group.metadata_refreshed()
    group.write(found)


def check_expression(text: str) -> None:
    """Raises ApiError: INVALID_REGULAR_EXPRESSION."""
    try:
        compiled(text)
    except PatternError as error:
        problem = str(error)
    else:
        names = GROUP_NAME.findall(NOT_GROUPS.sub("", text))
        if len(set(names)) == len(names):
            return
        problem = "duplicate capture group name"  # Kafka's RE2 rejects it, this one does not
    problem = f"SubscribedTopicRegex `{text}` is not a valid regular expression: {problem}."
    raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, problem)
