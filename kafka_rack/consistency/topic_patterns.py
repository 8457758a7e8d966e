"""What topics were set to, which is not on the wire, by patterns of their names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from kafka_rack.consistency.permission import HistorySettings
from kafka_rack.consistency.wire import topic_of


@dataclass(frozen=True, slots=True)
class TopicPatterns:
    """Gives the settings of a topic; ``*`` in patterns stands for anything.

    >>> TopicPatterns(HistorySettings(), compacts=("*-changelog",))("store-changelog").compacts
    True
    """

    settings: HistorySettings
    unclean_leader_election: tuple[str, ...] = ()
    deletes_records: tuple[str, ...] = ()
    compacts: tuple[str, ...] = ()

    def __call__(self, label: str) -> HistorySettings:
        """``label`` is what a history calls the topic."""
        topic = topic_of(label)

        def names(patterns: tuple[str, ...]) -> bool:
            return any(fnmatchcase(topic, pattern) for pattern in patterns)

        return replace(
            self.settings,
            unclean_leader_election=names(self.unclean_leader_election),
            deletes_records=names(self.deletes_records),
            compacts=names(self.compacts),
        )
