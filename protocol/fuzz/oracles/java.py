"""Apache Kafka's own classes as an oracle, in one Java process that lives as long as the oracle."""

import json
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .base import Unfit

SOURCE = Path(__file__).with_name("MessageOracle.java")


class JavaOracle:
    """Kafka's generated classes, from the jars in a folder: kafka-clients, Jackson, and any other with messages.

    Args:
        jars: the folder; Maven's ``dependency:copy-dependencies`` fills one.
        java: the command.

    Raises: OSError: there is no such command.
    """

    name = "Apache Kafka"

    def __init__(self, jars: Path, java: str = "java") -> None:
        self.process = subprocess.Popen(  # noqa: S603 - the caller names the command, no input reaches it
            [java, "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", str(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self.versions = cache(self._versions)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def supports(self, message: str, version: int) -> bool:
        lowest, highest = self.versions(message)
        return lowest <= version <= highest

    def rewritten(self, message: str, version: int, data: bytes) -> bytes:
        return self.read(message, version, data)[0]

    def read(self, message: str, version: int, data: bytes) -> tuple[bytes, Any]:
        """The bytes that Kafka writes for the message it read, and its converter's JSON; records are empty there.

        Raises: Unfit.
        """
        words = self._asked("json", message, str(version), data.hex()).split(" ", 1)
        return bytes.fromhex(words[0]), json.loads(words[1])

    def written(self, message: str, version: int, value: Any) -> bytes:
        """The bytes that Kafka writes for a message in its JSON form.

        Raises: Unfit.
        """
        return bytes.fromhex(self._asked("bytes", message, str(version), json.dumps(value)))

    def _versions(self, message: str) -> tuple[int, int]:
        try:
            lowest, highest = self._asked("versions", message).split()
        except Unfit:
            return (0, -1)
        return int(lowest), int(highest)

    def _asked(self, *words: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"Java ended with exit code {self.process.wait()}")
        verdict, _, rest = answer.rstrip("\n").partition(" ")
        if verdict != "ok":
            raise Unfit(rest or "no such message")
        return rest
