"""What large messages hold is given back piece by piece."""

from __future__ import annotations

import weakref

from mockbroker.call import QUICK_ITEMS
from mockbroker.core.freeing import FEW, freed, long_lists, weight
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.apis.produce import ProduceRequest


def test_long_lists_are_found_wherever_they_stand_and_stay_as_they_are():
    names = [MetadataRequest.Topic(name=str(number)) for number in range(FEW + 1)]
    request = MetadataRequest(topics=names)
    partitions = [ProduceRequest.Topic.Partition(index=index) for index in range(FEW + 1)]
    produced = ProduceRequest(topic_data=[ProduceRequest.Topic(name="orders", partition_data=partitions)])
    found = long_lists(None, request, produced)
    assert [one is whole for one, whole in zip(found, (names, partitions), strict=True)] == [True, True]
    for _ in freed(found):
        pass
    assert (found, len(names), len(partitions)) == ([], FEW + 1, FEW + 1)


def test_lists_are_cleared_that_their_messages_have_left():
    class Kept:
        pass

    kept = Kept()
    gone = weakref.ref(kept)
    freeing = freed([[kept, *range(QUICK_ITEMS)]])
    del kept
    next(freeing)
    assert gone() is not None
    next(freeing)
    assert gone() is not None, "the end is cleared first"
    next(freeing)
    assert gone() is None


def test_short_lists_are_left_to_their_owners():
    assert long_lists(MetadataRequest(topics=None), MetadataRequest(topics=[MetadataRequest.Topic(name="a")])) == []


def test_thousands_are_freed_at_a_time_and_fewer_where_each_holds_much():
    assert sum(1 for _ in freed([[1] * (2 * QUICK_ITEMS + 1)])) == 1 + 3
    topic = MetadataResponse.Topic(partitions=[MetadataResponse.Topic.Partition()] * (QUICK_ITEMS // 2))
    assert weight(topic) > QUICK_ITEMS // 2
    assert sum(1 for _ in freed([[topic] * 5])) == 1 + 5
