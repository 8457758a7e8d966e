"""Coverage-guided fuzzing of the decoder by atheris: a message or a DecodeError, nothing else.

    python -m tests.fuzz.atheris_decode build/fuzz/found build/fuzz/corpus -max_total_time=60

Arguments are libFuzzer's. What an input means is said in tests/fuzz/corpus.py. Every input is read by both readers,
which have to agree; what decodes is written and read again.
"""

from __future__ import annotations

import sys
from pathlib import Path

CORPUS = Path("build/fuzz/corpus")
FOUND = Path("build/fuzz/found")


def main() -> None:
    """Hand over to libFuzzer, which ends the process. Raises ImportError: atheris is not installed."""
    import atheris

    with atheris.instrument_imports(include=["protocol"]):  # so nothing of it may be loaded before
        import protocol
        from tests.fuzz.corpus import unpack_into, unpacked
        from tests.fuzz.mutate import Tally, check

    def one_input(data: bytes) -> None:
        if len(data) >= 2:
            message, version, body = unpacked(data)
            check(message, version, body, Tally(), thoroughly=True)

    unpack_into(CORPUS)
    FOUND.mkdir(parents=True, exist_ok=True)
    arguments = sys.argv if len(sys.argv) > 1 else [sys.argv[0], str(FOUND), str(CORPUS), "-max_total_time=60"]
    protocol.messages()
    atheris.Setup(arguments, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
