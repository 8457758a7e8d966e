"""Makes data directories with a real Kafka and keeps them, with its answers, in fixtures/data_directories.

Each has one broker with two log directories. ``stopped`` was shut down in order; ``killed`` had its process killed, so
that its indexes are as large as they were made and its checkpoints old, and has a transaction open. The same is asked
of the Kafka that wrote it (``before``), and of a Kafka that opened the directory afterwards (``after``).
"""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.interop.java_brokers import RunningKafka, kafka_brokers
from tests.progress import wait_until
from tests.storage import history
from tests.storage.data_directories import DIRECTORIES
from tests.storage.questions import OLDEST, READ_UNCOMMITTED, AnsweredQuestion, Asker, everything, list_offsets

PATIENCE_S = 120.0
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "log.index.size.max.bytes": "1020",  # what a killed broker leaves of them is as large as this
    "log.retention.ms": "-1",
    "log.cleaner.backoff.ms": "500",
    "log.initial.task.delay.ms": "500",
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "metadata.max.idle.interval.ms": "0",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
LOG_DIRS = ("one", "two")
NOT_KEPT = (".lock",)


def record(kind: str) -> None:
    """Make one directory and write its files."""
    began_ms = int(time.time() * 1000)
    times = [began_ms - 1, began_ms + 3, began_ms + 100]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        with broker(made) as running:
            history.happen(running.addresses[0], began_ms, unfinished=kind == "killed")
            before = list(everything(running.addresses[0], history.GROUPS, times))
            if kind == "stopped":
                running.stop(0)
        kept = made / "kept"
        for name in LOG_DIRS:
            shutil.copytree(made / name, kept / name, ignore=shutil.ignore_patterns(*NOT_KEPT))
        with broker(made) as running:
            wait_until(lambda: leads_all(running.addresses[0]), "Kafka, opened again", quiet_s=PATIENCE_S)
            after = list(everything(running.addresses[0], history.GROUPS, times))
        write(kind, kept, {"times": times, "groups": history.GROUPS}, {"before": before, "after": after})


@contextmanager
def broker(folder: Path) -> Iterator[RunningKafka]:
    """One broker with its log directories below a folder; where they are there already, it goes on with them."""
    with kafka_brokers(
        "a", folder, {**SETTINGS, "log.dirs": ",".join(str(folder / name) for name in LOG_DIRS)}
    ) as running:
        yield running


def leads_all(address: str) -> bool:
    """Whether a broker gives out each partition, and the offsets of each group."""
    with Asker(address) as asker:
        topics = asker.ask("Metadata", 13, {"topics": None}).topics
        for topic in topics:
            wanted = list_offsets(topic.name, range(len(topic.partitions)), OLDEST, READ_UNCOMMITTED)
            (found,) = asker.ask("ListOffsets", 10, wanted).topics
            if any(one.error_code for one in found.partitions):
                return False
        groups = [{"groupId": name, "topics": None} for name in history.GROUPS]
        offsets = asker.ask("OffsetFetch", 9, {"groups": groups}).groups
        names = {"transactionalIds": ["cashier"]}
        transactions = asker.ask("DescribeTransactions", 0, names).transaction_states
        return bool(topics) and not any(one.error_code for one in (*offsets, *transactions))


def write(kind: str, kept: Path, told: Mapping[str, object], answers: Mapping[str, list[AnsweredQuestion]]) -> None:
    DIRECTORIES.mkdir(exist_ok=True)
    with tarfile.open(DIRECTORIES / f"{kind}.tar.xz", "w:xz", preset=9) as archive:
        for path in sorted(kept.rglob("*")):
            archive.add(path, str(path.relative_to(kept)), recursive=False, filter=anonymous)
    lines = [json.dumps(told)]
    for when, asked in answers.items():
        lines += [json.dumps({"when": when, **one._asdict()}) for one in asked]
    data = gzip.compress("".join(f"{line}\n" for line in lines).encode(), 9, mtime=0)
    (DIRECTORIES / f"{kind}.jsonl.gz").write_bytes(data)
    for path in sorted(DIRECTORIES.glob(f"{kind}.*")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
