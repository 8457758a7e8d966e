"""Apache Kafka's own message classes in Spark's JVM, called by tasks as a function of Spark SQL.

No Java compiler needs to be installed: Spark contains one, Janino, for its generated code, and it compiles the few
lines between Spark and Kafka (KafkaClasses.java) too. They are sent to the workers as a jar, with Kafka's.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse
from zipfile import BadZipFile, ZipFile, ZipInfo

import protocol
from kafka_rack.pipeline.fuzz.checks import Disagreement, FuzzCheck, as_text, cut, first_difference, without_tags
from protocol.codec import codec
from protocol.versions import VersionRange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Path(__file__).with_name("KafkaClasses.java")
CLASS = "kafka_rack.fuzz.KafkaClasses"
FUNCTION = "kafka_rack_kafka_classes"
NAME = "java"
CONVERTER = "JsonConverter.class"
# Kafka prints records as an empty string and reads none.
WITH_RECORDS = {"FetchResponse", "FetchSnapshotResponse", "ProduceRequest", "ShareFetchResponse"}
RECORDS = ("records", "unalignedRecords")
NAMES_OF_TODAY = (4, 4)  # earlier, some fields had other names in JSON; the bytes are the same
# Message versions that Kafka had before this release as a draft with other fields.
DRAFTS = {"ReadShareGroupStateSummaryResponse": (VersionRange(0, 0), (4, 1))}


class KafkaMissing(Exception):
    """Kafka's classes are not available; the text says what is missing."""


class KafkaSide:
    """Kafka's classes in a session.

    Attributes:
        release: as ``4.4.0``.
        classes: message -> its Java class.
        versions: message -> the versions that it knows.
    """

    def __init__(self, release: str, classes: dict[str, str], instance: Any) -> None:
        self.release, self.classes, self.instance = release, classes, instance
        numbers = tuple(int(part) if part.isdigit() else 0 for part in release.split(".")[:2])
        self.names_of_today = numbers >= NAMES_OF_TODAY
        self.versions: dict[str, VersionRange] = {}
        for message, name in classes.items():
            known = str(instance.versions(name)).split()
            if len(known) == 2 and all(part.lstrip("-").isdigit() for part in known):
                self.versions[message] = VersionRange(int(known[0]), int(known[1]))
        self.drafts = {message: versions for message, (versions, since) in DRAFTS.items() if numbers < since}

    def supports(self, message: str, version: int) -> bool:
        return version in self.versions.get(message, ()) and version not in self.drafts.get(message, ())


class JavaCheck(FuzzCheck):
    """The check ``java`` for one example at a time, from the driver; tasks use the SQL function instead."""

    name = NAME

    def __init__(self, side: KafkaSide) -> None:
        self.side = side

    def supports(self, message: str, version: int) -> bool:
        return self.side.supports(message, version)

    def fault(self, message: Any, version: int, value: Any) -> Disagreement | None:
        data, tree = question(message, version, value)
        answer = self.side.instance.call(self.side.classes[message.name], version, data, tree)
        return judged(message, version, value, str(answer), names_of_today=self.side.names_of_today)


def question(message: Any, version: int, value: Any) -> tuple[bytes, str]:
    """The input for Kafka's classes: a message's bytes, and its JSON, empty if Kafka could not parse that."""
    data = codec(message, version).encode(value)
    if message.name in WITH_RECORDS:
        return data, ""
    try:
        return data, json.dumps(protocol.to_json(value, version), allow_nan=False)
    except ValueError:  # an infinite number
        return data, ""


def judged(message: Any, version: int, value: Any, answer: str, *, names_of_today: bool) -> Disagreement | None:
    """The fault in Kafka's answer, if any.

    Args:
        names_of_today: the release has our names of fields in JSON; else only the bytes count.
    """
    again, printed, written = answer.split("\n")
    data = codec(message, version).encode(value)
    if again.startswith("!"):
        return Disagreement(f"Kafka refuses: {again[1:].partition(':')[0]}", data.hex(), cut(again[1:]))
    if again != data.hex():
        return Disagreement("Kafka writes other bytes", data.hex(), again)
    _, tree = question(message, version, value)
    if not names_of_today or (not tree and message.name not in WITH_RECORDS):
        return None
    ours = without_records(protocol.to_json(value, version))
    if printed.startswith("!"):
        return Disagreement(f"Kafka prints no JSON: {printed[1:].partition(':')[0]}", as_text(ours), cut(printed[1:]))
    theirs = without_records(json.loads(printed))
    where = first_difference(ours, theirs)
    if where is not None:
        return Disagreement(f"Kafka's JSON differs at {where}", as_text(ours), as_text(theirs))
    if not tree:
        return None
    plain = codec(message, version).encode(without_tags(value)).hex()  # JSON has no unknown tagged fields
    if written != plain:
        what = f"refuses: {written[1:].partition(':')[0]}" if written.startswith("!") else "gives other bytes"
        return Disagreement(f"Kafka's reading of JSON {what}", plain, cut(written))
    return None


def without_records(tree: Any) -> Any:
    """JSON without the records, which Kafka prints as empty."""
    if isinstance(tree, dict):
        return {name: without_records(one) for name, one in tree.items() if name not in RECORDS}
    return [without_records(one) for one in tree] if isinstance(tree, list) else tree


# -- into Spark's JVM --------------------------------------------------------------------------------------------------


def jars_at(path: Path) -> list[Path]:
    """The jar, or the jars of a folder, with Kafka's message classes.

    Raises: KafkaMissing.
    """
    if not path.exists():
        raise KafkaMissing(f"{path}: no such file or folder")
    found = sorted(path.glob("*.jar")) if path.is_dir() else [path]
    kept = [jar for jar in found if list(message_classes([jar]))]
    if not kept:
        raise KafkaMissing(f"{path} has none of Kafka's message classes; kafka-clients-4.4.0.jar has")
    return kept


def message_classes(jars: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Kafka's messages with their classes: each has a converter to JSON beside it.

    Raises: KafkaMissing: a file is no jar.
    """
    for jar in jars:
        try:
            with ZipFile(jar) as packed:
                names = packed.namelist()
        except (OSError, BadZipFile) as error:
            raise KafkaMissing(f"{jar}: {getattr(error, 'strerror', None) or error}") from None
        for name in names:
            if name.startswith("org/apache/kafka/") and name.endswith(CONVERTER):
                full = name.removesuffix(CONVERTER).replace("/", ".")
                yield full.rpartition(".")[2], full


@contextmanager
def kafka_side(spark: SparkSession, jars: Sequence[Path]) -> Iterator[KafkaSide]:
    """Kafka's classes in a session: from these jars, or, without any, from Spark's own class path.

    Raises: KafkaMissing.
    """
    context: Any = spark.sparkContext
    gateway, jvm, session = context._gateway, context._jvm, spark._jsparkSession  # no public way leads to the JVM
    with tempfile.TemporaryDirectory(prefix="kafka-rack-") as folder:
        for jar in jars:
            spark.sql(f"ADD JAR '{jar.resolve().as_uri()}'")
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        found = jars or [class_path_jar(loader)]
        named = dict(message_classes(found))
        ours = ((one.name, one.name, f"{one.name}Data") for one in protocol.messages())
        classes = {name: named.get(data, named.get(plain, "")) for name, plain, data in ours}
        made = Path(folder) / "kafka-rack-kafka-classes.jar"
        compiled(jvm, loader, made)
        spark.sql(f"ADD JAR '{made.as_uri()}'")
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        kind = loader.loadClass(CLASS)
        empty = gateway.new_array(jvm.java.lang.Class, 0), gateway.new_array(jvm.java.lang.Object, 0)
        instance = kind.getConstructor(empty[0]).newInstance(empty[1])
        session.udf().register(FUNCTION, instance, jvm.org.apache.spark.sql.types.DataTypes.StringType)
        parser = loader.loadClass("org.apache.kafka.common.utils.AppInfoParser")
        release = str(parser.getMethod("getVersion", empty[0]).invoke(None, empty[1]))
        yield KafkaSide(release, {name: full for name, full in classes.items() if full}, instance)


def compiled(jvm: Any, loader: Any, target: Path) -> None:
    """Compile KafkaClasses.java by Janino into a jar; the same source always gives the same jar."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(SOURCE.read_text(encoding="utf-8"))
    made = compiler.getBytecodes()
    with ZipFile(target, "w") as packed:
        for name in sorted(made):
            packed.writestr(ZipInfo(f"{name.replace('.', '/')}.class"), bytes(made[name]))


def class_path_jar(loader: Any) -> Path:
    """The jar of kafka-clients on Spark's class path.

    Raises: KafkaMissing.
    """
    from py4j.protocol import Py4JJavaError

    try:
        kind = loader.loadClass("org.apache.kafka.common.message.MetadataRequestData")
    except Py4JJavaError:
        raise KafkaMissing(
            "Kafka's classes are not on Spark's class path: give --kafka-clients-jar kafka-clients-4.4.0.jar"
        ) from None
    place = kind.getProtectionDomain().getCodeSource().getLocation().toString()
    return Path(unquote(urlparse(str(place)).path))
