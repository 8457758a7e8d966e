"""The logs of a real broker's directory are read as that broker gave them out, and nothing in it changes."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys

import pytest

from mockbroker.adapters.storage.kafka_directory import KafkaDirectory, KafkaDirectoryError
from mockbroker.adapters.storage.kafka_metadata import read_metadata
from mockbroker.adapters.storage.read_only_cluster import check_image, open_read_only
from mockbroker.adapters.storage.read_only_store import ReadOnlyLogStore
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.errors import ApiError
from mockbroker.state.image.image import Image
from protocol.embedded.metadata_brokers import RegisterBrokerRecord
from protocol.embedded.metadata_settings import FeatureLevelRecord
from tests.storage.data_directories import KINDS, recorded, unpack


@pytest.fixture(params=KINDS)
def opened(request, tmp_path):
    """The kind, and a store on the directory of this kind."""
    store = ReadOnlyLogStore(KafkaDirectory.open(unpack(request.param, tmp_path)))
    yield request.param, store
    store.close()


def log_of(store, topic_id, partition):
    return store.open(base64.urlsafe_b64decode(topic_id + "=="), partition)


def test_each_fetch_gives_the_bytes_that_kafka_gave(opened):
    kind, store = opened
    compared = 0
    for one in recorded(kind).after:
        if one.api != "Fetch" or one.request["isolationLevel"] != 0:
            continue
        (topic,) = one.request["topics"]
        (wanted,) = topic["partitions"]
        (answer,) = one.answer["responses"][0]["partitions"]
        log = log_of(store, topic["topicId"], wanted["partition"])
        data = b"".join(log.read(wanted["fetchOffset"], 1 << 20))
        assert {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} == answer["records"]
        assert (log.start_offset, log.end_offset) == (answer["logStartOffset"], answer["highWatermark"])
        compared += bool(data)
    assert compared >= 10


def test_a_log_takes_nothing(opened):
    _, store = opened
    topic_id, partition = next(iter(store.directory.partitions))
    with pytest.raises(ApiError, match="read-only"):
        store.open(topic_id, partition).append(b"", 0, 0, 0)


def test_what_is_torn_off_the_end_of_a_log_is_not_served(tmp_path):
    place = unpack("killed", tmp_path)
    (segment,) = place.glob("*/codecs-0/*.log")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1])
    store = ReadOnlyLogStore(KafkaDirectory.open(place))
    (key,) = [key for key, path in store.directory.partitions.items() if path.name == "codecs-0"]
    log = store.open(*key)
    assert log.end_offset == 16
    assert whole.startswith(b"".join(log.read(0, 1 << 20)))
    assert segment.read_bytes() == whole[:-1]
    store.close()


def test_a_batch_that_is_damaged_is_told_of_and_never_served(tmp_path, caplog):
    place = unpack("stopped", tmp_path)
    (segment,) = place.glob("*/codecs-0/*.log")
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    store = ReadOnlyLogStore(KafkaDirectory.open(place))
    (key,) = [key for key, path in store.directory.partitions.items() if path.name == "codecs-0"]
    log = store.open(*key)
    with pytest.raises(ApiError, match="byte 0 cannot be served") as caught:
        log.read(0, 1 << 20)
    assert caught.value.code == 56
    assert "cannot be served" in caplog.text
    assert log.read(8, 1 << 20)
    store.close()


def test_a_compaction_that_was_only_to_be_finished_counts_as_done(tmp_path):
    place = unpack("stopped", tmp_path)
    (folder,) = place.glob("*/accounts-0")
    newest = folder / "00000000000000000047.log"
    before = b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")) if path != newest)
    for path in folder.glob("*.log"):
        if path != newest:
            path.write_bytes(b"to be replaced by the compaction's result")
    (folder / "00000000000000000000.log.swap").write_bytes(before)
    store = ReadOnlyLogStore(KafkaDirectory.open(place))
    (key,) = [key for key, path in store.directory.partitions.items() if path == folder]
    log = store.open(*key)
    assert b"".join(batch.data for batch in log.batches()) == before + newest.read_bytes()
    store.close()


# which directories are refused


def test_a_directory_that_is_no_brokers_is_refused(tmp_path):
    with pytest.raises(KafkaDirectoryError, match=r"there is no meta\.properties"):
        KafkaDirectory.open(tmp_path)


@pytest.mark.parametrize("version", ["0", "2"])
def test_a_directory_of_another_version_is_refused(tmp_path, version):
    (tmp_path / "meta.properties").write_text(f"version={version}\nbroker.id=1\n")
    with pytest.raises(KafkaDirectoryError, match=f"expected version 1, .* got {version}"):
        KafkaDirectory.open(tmp_path)


def test_directories_of_two_brokers_are_refused(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.properties").write_text(f"version=1\nnode.id={ord(name)}\ncluster.id=c\n")
    with pytest.raises(KafkaDirectoryError, match=r"node\.id is 97 and 98"):
        KafkaDirectory.open(tmp_path)


def test_a_directory_on_which_a_broker_runs_is_refused(tmp_path):
    place = unpack("stopped", tmp_path)
    (place / "one" / ".lock").touch()
    program = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); input()"
    )
    command = [sys.executable, "-c", program, str(place / "one" / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as broker:
        assert broker.stdout is not None
        broker.stdout.readline()
        with pytest.raises(KafkaDirectoryError, match="a broker is running on it"):
            KafkaDirectory.open(place)
        broker.communicate(b"\n")
    KafkaDirectory.open(place).close()


@pytest.mark.parametrize(
    ("level", "brokers", "words"),
    [
        (99, (0,), r"expected metadata\.version 7 to 33, which Kafka 4\.4 opens, got 99"),
        (None, (0,), "got None"),
        (33, (0, 1), "expected a cluster of broker 0 alone, but 0, 1 registered"),
        (33, (), "but no broker registered"),
    ],
)
def test_what_kafka_would_not_open_or_was_not_alone_is_refused(tmp_path, level, brokers, words):
    image = Image()
    if level is not None:
        image.apply(FeatureLevelRecord(name="metadata.version", feature_level=level))
    for broker in brokers:
        image.apply(RegisterBrokerRecord(broker_id=broker))
    with pytest.raises(KafkaDirectoryError, match=words):
        check_image(tmp_path, image, 0)


def test_a_directory_without_the_metadata_log_is_refused_and_given_back(tmp_path):
    place = unpack("stopped", tmp_path)
    shutil.rmtree(place / "one" / "__cluster_metadata-0")
    with pytest.raises(KafkaDirectoryError, match="expected __cluster_metadata-0"):
        open_read_only(place, [Broker(0, None)])


def test_the_metadata_log_goes_on_behind_its_newest_snapshot_and_ends_where_it_is_torn(tmp_path):
    (directory,) = unpack("stopped", tmp_path).glob("*/__cluster_metadata-0")
    whole = read_metadata(directory)
    assert set(whole.scram_credentials) == {("alice", 1)}  # made behind the snapshot
    log = directory / "00000000000000000000.log"
    log.write_bytes(log.read_bytes() + b"torn")
    assert read_metadata(directory).features == whole.features
    for path in directory.glob("*058-*.checkpoint"):
        path.unlink()
    assert read_metadata(directory).topics.keys() == whole.topics.keys()
