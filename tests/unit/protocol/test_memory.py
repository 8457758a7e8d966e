"""What reading allocates at its peak: a small multiple of a large message, next to nothing for a hostile one."""

import gc
import random
import tracemalloc

import pytest

import protocol
from protocol.codec import codec
from tests.bench.memory import peak_bytes
from tests.bench.messages import fetch, join_group, metadata, offset_commit
from tests.fixture_data import golden_vectors

MOST_TIMES_ITS_SIZE = 8
MOST_FOR_A_HOSTILE_MESSAGE = 64 * 1024
HUGE = [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f", b"\x7f\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\xe3\x01"]


@pytest.fixture(autouse=True)
def _nothing_traced_before():
    yield
    assert not tracemalloc.is_tracing()


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: metadata(240_000, topics=4_000), id="metadata"),
        pytest.param(lambda: metadata(200_000, topics=60_000), id="metadata of small topics"),
        pytest.param(lambda: metadata(200_000, topics=4_000, first_broker=1001), id="metadata with large broker ids"),
        pytest.param(lambda: fetch(40_000), id="fetch"),
        pytest.param(lambda: offset_commit(500_000), id="offset commit"),
        pytest.param(lambda: join_group(90_000), id="join group"),
    ],
)
def test_decoding_ten_megabytes_allocates_at_most_eight_times_as_much(make):
    sample = make()
    compiled = codec(protocol.named_class(sample.name), sample.version)
    compiled.decode(sample.data)
    assert len(sample.data) > 8_000_000
    assert peak_bytes(lambda: compiled.decode(sample.data)) <= MOST_TIMES_ITS_SIZE * len(sample.data)


def hostile_messages(message, version):
    """About a hundred bytes each: good ones with lengths made huge in places that a seed chooses, and noise."""
    rng = random.Random(f"{message.name} {version}")
    good = [vector.body for vector in golden_vectors(message.name) if vector.version == version]
    for body in good[:2]:
        for _ in range(2):
            place = rng.randrange(len(body) + 1)
            yield (body[:place] + rng.choice(HUGE) + body[place:])[:100].ljust(100, rng.choice([b"\0", b"\1", b"\xff"]))
    for fill in (b"\0", b"\1", b"\2", b"\x7f", b"\xff", b"\0\0\0\1", b"\0\1\0\0"):
        yield (fill * 100)[:100]
    yield rng.randbytes(100)


@pytest.mark.slow
def test_a_hostile_message_of_a_hundred_bytes_allocates_at_most_64_kilobytes():
    worst = (0, "")
    for message in protocol.messages():
        version = message.valid_versions.highest
        compiled = codec(message, version)
        refused(compiled, protocol.encode(message(), version))
        for vector in golden_vectors(message.name):
            if vector.version == version:
                compiled.decode(vector.body)
                refused(compiled, vector.body[:-1])
        gc.collect()
        for data in hostile_messages(message, version):
            worst = max(worst, (peak_without_collecting(compiled, data), f"{message.name} v{version} {data.hex()}"))
    assert worst[0] <= MOST_FOR_A_HOSTILE_MESSAGE, worst


def peak_without_collecting(compiled, data):
    tracemalloc.start()
    try:
        refused(compiled, data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(compiled, data):
    """Whether the bytes are refused as they should be, by DecodeError; others may well be a message."""
    try:
        compiled.decode(data)
    except protocol.DecodeError:
        return True
    return False
