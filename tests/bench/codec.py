"""The codec beside its peers: one message of each large kind, then a corpus in which every API has its share.

A figure under a peer says how many times as long as ours it takes for the same bytes, and for writing back what it read
from them; below 1 the peer is faster. A dash: the peer does not know the version or gives other bytes back.

`python -m tests.bench.codec` prints the tables alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .measure import geometric_mean, machine, side_by_side
from .messages import corpus, large
from .peers import Paths, Peer, kafka_python, kio, ours, plain_construct

PEERS: dict[str, Peer] = {"kio": kio, "kafka-python": kafka_python, "construct": plain_construct}
LARGE_SECONDS, LARGE_ROUNDS = 0.6, 15
CORPUS_SECONDS, CORPUS_ROUNDS = 0.02, 9
CONSTRUCT_LIMIT = 100_000  # bytes above which construct itself is left out: it takes a second for each reading
EXTREMES = 5  # messages shown at each end of the corpus
MIN_DECODE, MIN_ENCODE = {"kio": 2, "kafka-python": 8}, {"kio": 30}
"""The aims of the native codec: how many times as long as it a peer takes, on average."""
MIN_DECODE_OF_ONE = {"kio": 1.2}
"""The same for each message."""


class Row(NamedTuple):
    """Our seconds, and each peer's as a multiple of them."""

    label: str
    size_bytes: int
    decode: float
    encode: float
    decode_ratios: dict[str, float]
    encode_ratios: dict[str, float]


def large_rows() -> Iterator[Row]:
    """A row for each large message."""
    for label, sample in large().items():
        names = [name for name in PEERS if name != "construct" or len(sample.data) < CONSTRUCT_LIMIT]
        found = {name: paths for name in names if (paths := PEERS[name](sample)) is not None}
        yield compared(label, len(sample.data), ours(sample), found, LARGE_SECONDS, LARGE_ROUNDS)


def compared(label: str, size: int, own: Paths, peers: dict[str, Paths], seconds: float, rounds: int) -> Row:
    """Measure ours and the peers in turns."""
    names = list(peers)
    decode = side_by_side([own.decode, *(peers[name].decode for name in names)], seconds=seconds, rounds=rounds)
    encode = side_by_side([own.encode, *(peers[name].encode for name in names)], seconds=seconds, rounds=rounds)
    return Row(
        label,
        size,
        decode[0],
        encode[0],
        {name: time / decode[0] for name, time in zip(names, decode[1:], strict=True)},
        {name: time / encode[0] for name, time in zip(names, encode[1:], strict=True)},
    )


def corpus_rows(peer: str) -> Iterator[Row]:
    """A row for each message of the corpus that the peer knows, over the samples that it knows."""
    for name, samples in corpus().items():
        pairs = [(ours(sample), paths) for sample in samples if (paths := PEERS[peer](sample)) is not None]
        if pairs:
            size = sum(len(sample.data) for sample in samples)
            own, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
            yield compared(name, size, together(own), {peer: together(theirs)}, CORPUS_SECONDS, CORPUS_ROUNDS)


def together(paths: Sequence[Paths]) -> Paths:
    """Several samples as one piece of work."""
    decodes, encodes = [path.decode for path in paths], [path.encode for path in paths]

    def run(calls: list[Callable[[], Any]]) -> Any:
        for call in calls:
            call()

    return Paths(lambda: run(decodes), lambda: run(encodes))


def main() -> None:
    """Print both tables."""
    print(machine())
    print()
    print(table(list(large_rows())))
    print()
    samples = corpus()
    print(f"Corpus: {sum(map(len, samples.values())):,} samples of {len(samples)} messages.")
    for peer in PEERS:
        print()
        print(corpus_lines(peer, list(corpus_rows(peer))))


def table(rows: list[Row]) -> str:
    """The large messages, geometric means last."""
    lines = [
        f"{'':55} {'':>9}   {'decode, times ours':^37}   {'encode, times ours':^37}",
        f"{'message':55} {'bytes':>9}   {'ours':>9}{heads()}   {'ours':>9}{heads()}",
    ]
    for row in rows:
        decoded, encoded = cells(row.decode, row.decode_ratios), cells(row.encode, row.encode_ratios)
        lines.append(f"{row.label:55} {row.size_bytes:>9,}   {decoded}   {encoded}")
    means = [
        {
            peer: geometric_mean([ratios(row)[peer] for row in rows if peer in ratios(row)])
            for peer in PEERS
            if any(peer in ratios(row) for row in rows)
        }
        for ratios in (lambda row: row.decode_ratios, lambda row: row.encode_ratios)
    ]
    lines.append(f"{'geometric mean':55} {'':>9}   {cells(None, means[0])}   {cells(None, means[1])}")
    return "\n".join(lines)


def heads() -> str:
    """The peers' names over their columns."""
    return "".join(f"{name:>13}" if name == "kafka-python" else f"{name:>10}" for name in PEERS)


def cells(seconds: float | None, ratios: dict[str, float]) -> str:
    """Our time, and the peers' ratios."""
    shown = "" if seconds is None else f"{seconds * 1e6:,.0f} µs"
    columns = (f"{ratios[name]:.2f}" if name in ratios else "-" for name in PEERS)
    return f"{shown:>9}" + "".join(
        f"{column:>13}" if name == "kafka-python" else f"{column:>10}"
        for name, column in zip(PEERS, columns, strict=True)
    )


def corpus_lines(peer: str, rows: list[Row]) -> str:
    """The geometric means over the corpus, and the messages at both ends."""
    lines = [f"{peer}: {len(rows)} messages"]
    for verb, ratios, aim, aim_of_one in (
        ("decode", {row.label: row.decode_ratios[peer] for row in rows}, MIN_DECODE, MIN_DECODE_OF_ONE),
        ("encode", {row.label: row.encode_ratios[peer] for row in rows}, MIN_ENCODE, {}),
    ):
        ordered = sorted(ratios.items(), key=lambda pair: pair[1])
        ends = [", ".join(f"{name} {ratio:.2f}" for name, ratio in part) for part in (ordered[:EXTREMES], ordered[-2:])]
        slower = sum(ratio < 1 for ratio in ratios.values())
        mean = geometric_mean(list(ratios.values()))
        lines.append(f"  {verb}: geometric mean {mean:.2f}{aimed(aim, peer)}, below 1 for {slower}")
        lines.append(f"    least {ends[0]}{aimed(aim_of_one, peer)}; most {ends[1]}")
    return "\n".join(lines)


def aimed(aims: Mapping[str, float], peer: str) -> str:
    """The aim for a peer, to be shown after its figure; "" without one."""
    return f" (aim: {aims[peer]})" if peer in aims else ""


if __name__ == "__main__":
    main()
