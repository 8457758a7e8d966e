"""``python -m tests.bench.pipeline``: the pipeline's benchmark alone, as small or as large as wanted."""

import argparse

from tests.bench.pipeline import LARGE_MB, RUNS, SIZE_MB, main


def sizes(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


parser = argparse.ArgumentParser(prog="python -m tests.bench.pipeline", description=__doc__)
parser.add_argument("--size-mb", type=float, default=SIZE_MB, help="of the capture that all read; %(default)s")
parser.add_argument("--runs", type=int, default=RUNS, help="of each; %(default)s")
parser.add_argument("--large", action="store_true", help="how time and the driver's memory grow, too")
parser.add_argument(
    "--sizes", type=sizes, default=LARGE_MB, metavar="MB,MB,...", help="of the captures for --large; 10,100,1000"
)
given = parser.parse_args()
main(large=given.large, size_mb=given.size_mb, runs=given.runs, sizes_mb=given.sizes)
