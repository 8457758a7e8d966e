"""The kinds of anomalies. Their names and meanings are those of Jepsen's public analyses of Kafka-like systems."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal[
    "lost-write",
    "duplicate",
    "inconsistent-offsets",
    "aborted-read",
    "precommitted-read",
    "unseen",
    "poll-skip",
    "internal-poll-skip",
    "nonmonotonic-poll",
    "internal-nonmonotonic-poll",
    "send-skip",
    "internal-send-skip",
    "nonmonotonic-send",
    "internal-nonmonotonic-send",
    "double-ownership",
]

KINDS: dict[Kind, str] = {
    "lost-write": "a record was acknowledged, and nobody who read past its offset was given it",
    "duplicate": "one record stands at several offsets",
    "inconsistent-offsets": "one offset has several records",
    "aborted-read": "a record was read whose transaction was aborted or whose send failed",
    "precommitted-read": "a record was read before the commit of its transaction began",
    "unseen": "a record was acknowledged, and nobody read as far as its offset",
    "poll-skip": "a consumer's next poll passed over a record that others read",
    "internal-poll-skip": "one poll passed over a record that others read",
    "nonmonotonic-poll": "a consumer's next poll went back to offsets that it had read",
    "internal-nonmonotonic-poll": "one poll gave a lower offset after a higher one",
    "send-skip": "records of other producers lie between two sends of a producer",
    "internal-send-skip": "records of other producers lie between two sends of a transaction",
    "nonmonotonic-send": "a producer's later send has the lower offset",
    "internal-nonmonotonic-send": "a later send of the same transaction has the lower offset",
    "double-ownership": "two members of a group owned a partition in one generation",
}
assert tuple(KINDS) == get_args(Kind)
