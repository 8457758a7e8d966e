"""LeaderEpochCache, held against what Kafka's own LeaderEpochFileCache holds and answers."""

from __future__ import annotations

from mockbroker.state.logs.log import LeaderEpochCache
from tests.cases import for_each
from tests.fixture_data import oracle


def lines():
    return [(f"line {number}", (line,)) for number, line in enumerate(oracle("leader-epochs"), start=1)]


@for_each(lines)
def test_epochs_begin_and_end_where_they_do_in_kafka(line):
    cache = LeaderEpochCache()
    for (operation, *arguments), expected in zip(line["input"], line["expect"], strict=True):
        getattr(cache, operation)(*arguments)
        end = expected["log_end_offset"]
        assert [list(entry) for entry in cache.entries] == expected["entries"]
        asked = range(-1, len(expected["end_offsets"]) - 1)
        assert [list(cache.end_offset_for(epoch, end)) for epoch in asked] == expected["end_offsets"]
        assert [cache.epoch_for_offset(offset) for offset in range(end + 1)] == expected["epoch_of_offset"]
        latest = expected["entries"][-1][0] if expected["entries"] else -1
        assert cache.latest_epoch() == latest
