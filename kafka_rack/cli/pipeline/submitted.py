"""A job of `kafka-rack pipeline` as a program of `spark-submit`; its arguments are the job's.

`kafka-rack pipeline pack` writes it beside what workers need. The driver has this package: its environment does, or in
deploy mode `cluster` the archive.
"""

from __future__ import annotations

import sys

from kafka_rack.cli import main

if __name__ == "__main__":
    sys.exit(main(["pipeline", *sys.argv[1:]]))
