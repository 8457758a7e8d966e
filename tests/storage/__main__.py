"""``python -m tests.storage record [stopped|killed]``: data directories of a real Kafka; Java and Maven are needed."""

import sys

from tests.storage.data_directories import KINDS
from tests.storage.recorder import record

if __name__ == "__main__":
    if sys.argv[1:2] != ["record"] or not set(sys.argv[2:]) <= set(KINDS):
        sys.exit(__doc__)
    for kind in sys.argv[2:] or KINDS:
        record(kind)
