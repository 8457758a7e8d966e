"""Kafka's command line tools print the same of ours and of real brokers of Kafka 4.4."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from mockbroker.adapters.blocking import BlockingMockCluster
from mockbroker.adapters.server import MockCluster
from tests.interop.fetched import java_program, skipped_without_tools
from tests.interop.java_brokers import LIGHT, SOURCES, TOOLS_VERSION, broker_jars, kafka_brokers, tool_jars

RACKS = ("a", "b", "c")
SETTINGS = {
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "leader.imbalance.check.interval.seconds": "300",
}
TOOLS = "org.apache.kafka.tools."
CONFIGS = "kafka.admin.ConfigCommand"
FORMATTERS = f"{TOOLS}consumer."
UNLIKE = (
    (re.compile(r"\b\d{13}\b"), "<time>"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r"localhost:\d+"), "<address>"),
    (re.compile(r'(TopicId: |"topicId":")[\w-]{22}'), r"\1<id>"),
    (re.compile(r"^t +\t\d+ +\t\d+ +"), "t <coordinator> <producer>"),
    (re.compile(r'"(p\w+ProducerId|producerId)":\d+'), r'"\1":"<producer>"'),
    (re.compile(r"(\w+Exception): .*"), r"\1"),  # texts of errors may differ
    (re.compile(r"^\s+at .*|^\s*\.\.\. \d+ more"), ""),
)
ISR = re.compile(r"Isr: (\d[\d,]*)")
"""Kafka promises no order of it."""


class Tools:
    """Kafka's tools in one Java, for one cluster; ``paths``: the words for its log directories in what they print."""

    def __init__(self, process: subprocess.Popen[str], servers: str, paths: Mapping[str, str]) -> None:
        self.process, self.servers, self.paths = process, servers, paths

    def run(self, name: str, *arguments: str, to: str = "--bootstrap-server", servers: str | None = None) -> list[str]:
        """The lines that a tool prints, and its exit status, without what differs between two clusters."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join([name, to, servers or self.servers, *arguments]) + "\n")
        self.process.stdin.flush()
        lines: list[str] = []
        for line in self.process.stdout:
            plain = self.plain(line.rstrip())
            if plain.strip():
                lines.append(plain)
            if line.startswith("EXIT "):
                return lines
        raise AssertionError(f"{name} ended the process: {lines}")

    def plain(self, line: str) -> str:
        for path, word in self.paths.items():
            line = line.replace(path, word)
        for pattern, word in UNLIKE:
            line = pattern.sub(word, line)
        return ISR.sub(lambda found: "Isr: " + ",".join(sorted(found[1].split(","))), line)


MAX_TRIES = 300
"""Runs of a tool until a change has arrived: minutes, even on a busy machine."""
READS = {"--describe", f"{TOOLS}GetOffsetShell"}
"""Words of commands that only read, and so can be repeated."""


@contextmanager
def tools_for(servers: str, paths: Mapping[str, str]) -> Iterator[Tools]:
    older = broker_jars(TOOLS_VERSION)
    command = ["java", *LIGHT, *java_program(SOURCES / "Tools.java", older)]
    command[command.index("-cp") + 1] += f":{tool_jars()}/*"
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Tools(process, servers, paths)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tools, Tools]]:
    """The tools at real brokers, and at ours; each broker has two log directories."""
    folder: Path = tmp_path_factory.mktemp("kafka")
    names = ("one", "two")
    with skipped_without_tools():
        tool_jars()
        settings = {**SETTINGS, "log.dirs": "{data}/one,{data}/two"}
        ours = {**SETTINGS, "log.dirs": "/data/one,/data/two"}
        with (
            kafka_brokers(RACKS, folder, settings) as running,
            BlockingMockCluster(MockCluster(brokers=3, racks=list(RACKS), settings=ours)) as cluster,
        ):
            real = {f"{folder}/data-{node}/{name}": f"<{name}>" for node in range(3) for name in names}
            mocked = {f"/data/{name}": f"<{name}>" for name in names}
            with (
                tools_for(running.addresses[0], real) as first,
                tools_for(cluster.bootstrap_servers.split(",")[0], mocked) as second,
            ):
                yield first, second


def both(clusters: tuple[Tools, Tools], name: str, *arguments: str, to: str = "--bootstrap-server") -> list[str]:
    """The output of a tool, the same for both; Kafka's brokers show a change some time after it was made."""
    for _ in range(MAX_TRIES if READS.intersection((name, *arguments)) else 1):
        kafkas, ours = [tools.run(name, *arguments, to=to) for tools in clusters]
        if ours == kafkas:
            break
    assert ours == kafkas
    return ours


def test_brokers_loggers_are_set_and_shown(clusters):
    of = ("--entity-type", "broker-loggers", "--entity-name", "0")
    assert both(clusters, CONFIGS, *of, "--alter", "--add-config", "root=DEBUG")[-1] == "EXIT 0"
    shown = [tools.run(CONFIGS, *of, "--describe") for tools in clusters]
    assert all("  root=DEBUG sensitive=false synonyms={}" in lines for lines in shown)
    for change in (("--add-config", "no.such=DEBUG"), ("--add-config", "root=LOUD"), ("--delete-config", "root")):
        assert both(clusters, CONFIGS, *of, "--alter", *change)[-1] == "EXIT 1"
    both(clusters, CONFIGS, *of[:2], "--entity-name", "7", "--describe")


def test_brokers_configs_are_set_for_one_listener_one_broker_and_all(clusters):
    config = "listener.name.plaintext.max.connections"
    for of in (("--entity-name", "0"), ("--entity-default",)):
        entity = ("--entity-type", "brokers", *of)
        for change in (f"{config}=500", "log.cleaner.threads=2", "no.such.config=1", "background.threads=0"):
            both(clusters, CONFIGS, *entity, "--alter", "--add-config", change)
            both(clusters, CONFIGS, *entity, "--describe")
        for name in (config, "log.cleaner.threads", "no.such.config", "never.set"):
            both(clusters, CONFIGS, *entity, "--alter", "--delete-config", name)
        assert both(clusters, CONFIGS, *entity, "--describe")[-1] == "EXIT 0"


@pytest.mark.parametrize(
    ("entity", "changes"),
    [
        (("groups", "g"), ("streams.heartbeat.interval.ms=6000", "streams.num.standby.replicas=9", "no.such=1")),
        (("ips", "10.1.2.3"), ("connection_creation_rate=5", "connection_creation_rate=-1", "producer_byte_rate=1")),
        (("ips", "no address"), ("connection_creation_rate=5",)),
        (("users", "ann"), ("producer_byte_rate=5000", "connection_creation_rate=5", "request_percentage=x")),
        (("clients", "c"), ("consumer_byte_rate=5000", "controller_mutation_rate=0")),
        (("client-metrics", "m"), ("interval.ms=1000", "interval.ms=5")),
    ],
)
def test_configs_and_quotas_of_entities_are_set_shown_and_deleted(clusters, entity, changes):
    of = ("--entity-type", entity[0], "--entity-name", entity[1])
    for change in changes:
        both(clusters, CONFIGS, *of, "--alter", "--add-config", change)
        both(clusters, CONFIGS, *of, "--describe")
    deletes = ("--alter", "--delete-config", changes[0].partition("=")[0])
    assert both(clusters, CONFIGS, *of, *deletes)[-1].startswith("EXIT")
    assert both(clusters, CONFIGS, *of, "--describe")[-1].startswith("EXIT")


def test_the_quorum_is_described(clusters):
    status = [tools.run(f"{TOOLS}MetadataQuorumCommand", "describe", "--status") for tools in clusters]
    changing = re.compile(r"(ClusterId|HighWatermark|LeaderEpoch|MaxFollowerLag\w*|CurrentVoters|CurrentObservers):.*")
    kafkas, ours = [[changing.sub(r"\1", line) for line in lines] for lines in status]
    assert ours == kafkas
    replication = [tools.run(f"{TOOLS}MetadataQuorumCommand", "describe", "--replication") for tools in clusters]
    kafkas, ours = [sorted((line.split()[0], line.split()[-1]) for line in lines) for lines in replication]
    assert ours == kafkas
    assert [status for _, status in ours] == ["Leader", "Observer", "Observer", "0", "Status"]


def test_a_broker_is_no_controller_to_a_tool(clusters):
    lines = both(clusters, f"{TOOLS}MetadataQuorumCommand", "describe", "--status", to="--bootstrap-controller")
    assert lines[-1] == "EXIT 1"


def moves(tools: Tools, folder: Path, *partitions: dict[str, object]) -> tuple[str, str]:
    file = folder / f"{id(tools)}.json"
    file.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return "--reassignment-json-file", str(file)


def partition(index: int, *replicas: int, topic: str = "moved", paths: list[str] | None = None) -> dict[str, object]:
    found: dict[str, object] = {"topic": topic, "partition": index, "replicas": list(replicas)}
    return found if paths is None else found | {"log_dirs": paths}


def test_partitions_move_between_brokers_and_directories_under_throttles(clusters, tmp_path):
    create = ("--create", "--topic", "moved", "--replica-assignment", "0:1,1:2,2:0")
    assert both(clusters, f"{TOOLS}TopicCommand", *create)[-1] == "EXIT 0"
    reassign = f"{TOOLS}reassign.ReassignPartitionsCommand"

    def run(wanted: list[dict[str, object]], *options: str) -> list[str]:
        lines = [tools.run(reassign, *moves(tools, tmp_path, *wanted), *options) for tools in clusters]
        assert lines[1] == lines[0]
        return lines[1]

    def finished(wanted: list[dict[str, object]]) -> None:
        for tools in clusters:
            plan = moves(tools, tmp_path, *wanted)
            until(lambda tools=tools, plan=plan: not still_moving(tools.run(reassign, *plan, "--verify")))

    throttled = ("--throttle", "5000000", "--replica-alter-log-dirs-throttle", "5000000")
    more = [partition(0, 0, 1, 2), partition(1, 1, 0), partition(2, 2)]
    assert run(more, "--execute", *throttled)[-1] == "EXIT 0"
    finished(more)
    assert run(more, "--verify")[-1] == "EXIT 0"
    for broker in ("0", "1", "2"):
        both(clusters, CONFIGS, "--entity-type", "brokers", "--entity-name", broker, "--describe")
    both(clusters, f"{TOOLS}TopicCommand", "--describe", "--topic", "moved")
    assert run([partition(0, 0, 9)], "--execute")[-1] == "EXIT 1"
    assert run([partition(0, 0, 0)], "--execute")[-1] == "EXIT 1"
    assert run([partition(9, 0)], "--execute")[-1] == "EXIT 1"
    assert run(more, "--cancel")[-1] == "EXIT 0"
    both(clusters, reassign, "--list")

    def placed(tools: Tools) -> list[dict[str, object]]:
        paths = {word: path for path, word in tools.paths.items() if "data-1" in path or path.startswith("/data/")}
        return [partition(0, 1, 2, paths=[paths["<two>"], "any"]), partition(1, 1, 0, paths=[paths["<one>"], "any"])]

    for tools in clusters:
        plan = moves(tools, tmp_path, *placed(tools))
        lines = tools.run(reassign, *plan, "--execute")
        assert lines[-1] == "EXIT 0", lines
        until(lambda tools=tools, plan=plan: not still_moving(tools.run(reassign, *plan, "--verify")))
    done = [tools.run(reassign, *moves(tools, tmp_path, *placed(tools)), "--verify") for tools in clusters]
    assert done[1] == done[0]
    assert "Reassignment of replica moved-0-1 completed successfully." in done[0]


def still_moving(lines: list[str]) -> bool:
    return any("progress" in line or "still" in line or "not found" in line for line in lines)


def until(holds: Callable[[], bool]) -> None:
    for _ in range(MAX_TRIES):
        if holds():
            return
    raise AssertionError("it does not come to an end")


def test_offsets_of_all_specs_are_shown(clusters):
    assert both(clusters, f"{TOOLS}TopicCommand", "--create", "--topic", "empty", "--partitions", "2")[-1] == "EXIT 0"
    specs = ("latest", "earliest", "max-timestamp", "earliest-local", "latest-tiered", "0", "-6", "-7", "soon")
    for spec in specs:
        both(clusters, f"{TOOLS}GetOffsetShell", "--topic", "empty", "--time", spec)


def test_groups_offsets_and_transactions_are_printed_by_formatters(clusters):
    topic, group = ("--topic", "printed"), ("--group", "readers")
    both(clusters, f"{TOOLS}TopicCommand", "--create", *topic, "--replica-assignment", "0:1:2")
    reset = ("--reset-offsets", *group, *topic, "--to-earliest", "--execute")
    groups = f"{TOOLS}consumer.group.ConsumerGroupCommand"
    assert both(clusters, groups, *reset)[-1] == "EXIT 0"
    both(clusters, groups, "--list", "--state", "--type")
    both(clusters, groups, "--describe", "--group", "nobody")
    both(clusters, f"{TOOLS}GroupsCommand", "--list", "--group-type", "classic")
    records = ("--transactional-id", "t", "--num-records", "3", "--record-size", "5", "--throughput", "-1", *topic)
    for tools in clusters:
        servers = f"bootstrap.servers={tools.servers}"
        written = tools.run(f"{TOOLS}ProducerPerformance", *records, to="--producer-props", servers=servers)
        assert written[-1] == "EXIT 0", written
    # Ours begins the log of this topic with the first who reads it.
    look = ("--topic", "__consumer_offsets", "--partition", "0", "--offset", "earliest", "--timeout-ms", "4000")
    both(clusters, f"{FORMATTERS}ConsoleConsumer", *look, "--formatter", f"{FORMATTERS}OffsetsMessageFormatter")
    member = ("--group", "members", "--from-beginning", "--max-messages", "3", "--timeout-ms", "60000", *topic)
    for tools in clusters:
        assert tools.run(f"{FORMATTERS}ConsoleConsumer", *member)[-1] == "EXIT 0"
    transactions = f"{TOOLS}TransactionsCommand"
    for options in ((), ("--duration-filter", "60000"), ("--transactional-id-pattern", "no.*")):
        both(clusters, transactions, "list", *options)
    for name in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter"):
        lines = both(clusters, f"{FORMATTERS}ConsoleConsumer", *look, "--formatter", f"{FORMATTERS}{name}")
        assert lines[0].startswith("{"), lines
    look = ("--topic", "__transaction_state", *look[2:])
    last = []
    for tools in clusters:
        formatter = f"{FORMATTERS}TransactionLogMessageFormatter"
        lines = tools.run(f"{FORMATTERS}ConsoleConsumer", *look, "--formatter", formatter)
        last.append(lines[0].partition("Processed")[0].rpartition("}{")[2].removeprefix("{"))
    assert last[1] == last[0]
    assert last[0].startswith('"key":{"type":0,"data":{"transactionalId":"t"}}')
