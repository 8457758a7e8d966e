"""tshark on a pcap, in its fastest form that dissects Kafka, and in the one that gives all it found.

tshark knows no flexible Produce, Fetch v12+ or Metadata v10+ (4.0; others may): it marks those malformed and reads no
further, which spares it work that is done here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PORTS = "tcp.port==22100-22102,kafka"
FIELDS = (
    "frame.time_epoch",
    "tcp.stream",
    "kafka.len",
    "kafka.request_key",
    "kafka.request.version",
    "kafka.correlation_id",
    "kafka.client_id",
    "kafka.topic_name",
    "kafka.partition_id",
)
"""What the tables hold too, of those that all versions of its dissector have."""


def found() -> str | None:
    """The program, None where it is not installed."""
    return shutil.which("tshark")


def version(program: str) -> str:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return told.split("\n", 1)[0].split(" (")[0].replace("TShark", "tshark")


def fields(program: str, path: Path, names: tuple[str, ...] = FIELDS) -> bytes:
    """The fields of each packet."""
    given = [part for name in names for part in ("-e", name)]
    command = [program, "-n", "-r", str(path), "-d", PORTS, "-T", "fields", *given]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def everything(program: str, path: Path) -> None:
    """All that it dissects, as PDML."""
    command = [program, "-n", "-r", str(path), "-d", PORTS, "-T", "pdml"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def frames(program: str, path: Path) -> int:
    """How many frames of Kafka it sees."""
    return sum(len(line.split(b",")) for line in fields(program, path, ("kafka.len",)).splitlines() if line)
