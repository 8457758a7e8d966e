"""A Spark session with the settings that the jobs need, and Java found or asked for in one line."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.extras import pip_install
from kafka_rack.pipeline.spark.settings import (
    AVAILABLE_NOW,
    LOOPBACK,
    administrators_settings,
    fitted,
    has_logging_of_its_own,
    is_secret,
    on_this_machine,
    sets_its_own_environment,
    spark_home,
)

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

MIN_JAVA_VERSION = 17
INSTALL_JAVA = (
    "Spark needs Java 17 or newer: install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew "
    "install openjdk@17) or set JAVA_HOME"
)
INSTALL_SPARK = f"the pipeline needs Spark: {pip_install('spark')}"
OLDEST_SPARK, SCALA = "4.0.0", "2.13"
SPARK_CORE = re.compile(r"spark-core_(?P<scala>\d+\.\d+)-(?P<spark>\d.*)\.jar")


def spark_release() -> tuple[str, str]:
    """The versions of Spark and of Scala that a session here runs: those of SPARK_HOME, or of the pyspark installed.

    Without either they are the oldest that this package takes.
    """
    home = spark_home()
    for jar in sorted(home.glob("jars/spark-core_*.jar")) if home is not None else ():
        if found := SPARK_CORE.fullmatch(jar.name):
            return found["spark"], found["scala"]
    try:
        return version("pyspark"), SCALA
    except PackageNotFoundError:
        return OLDEST_SPARK, SCALA


def spark_version() -> str:
    return spark_release()[0]


def kafka_connector() -> str:
    """Spark's own source and sink for Kafka, as Maven calls those of the Spark that runs here."""
    spark, scala = spark_release()
    return f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}"


KAFKA_CONNECTOR = kafka_connector()
STANDALONE = "spark://"
STOPPED = "stopped SparkContext"
"""In what Spark says when its master has not answered for a minute, or a try's worth, and it has given up by itself."""
MASTER_ANSWERS_S = 10.0
QUIET = "OFF"
"""What Spark would log as an error comes as an exception too."""
LOGGING = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n
"""


CONNECT_HAS_NO_TASKS = (
    "a session of Spark Connect has no SparkContext, by which jobs share out their work: run them with --master or by "
    "spark-submit; what works over Connect is to read captures, as spark.read.format('kafka-wire')"
)


class SparkMissing(Exception):
    """Spark or Java is not there; the text says how to get it."""


def find_java() -> str:
    """The Java to run, JAVA_HOME's or that of PATH. Raises SparkMissing."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = java_version(java) if java else None
    if java is not None and version is not None and version >= MIN_JAVA_VERSION:
        return java
    if version is not None:
        raise SparkMissing(f"{java} is version {version}; {INSTALL_JAVA}")
    if home:
        raise SparkMissing(f"JAVA_HOME is {home}, where no Java runs; {INSTALL_JAVA}")
    raise SparkMissing(INSTALL_JAVA)


def java_version(java: str) -> int | None:
    """Its major version, None if it does not run."""
    try:
        told = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else None


def spark_session(
    master: str | None = None,
    *,
    app_name: str = "kafka-rack",
    driver_memory: str | None = None,
    log_level: str | None = None,
    packages: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    with_source: bool = True,
) -> SparkSession:
    """Start a session, or give the one that runs; it knows the format ``kafka-wire``.

    What the cluster's administrator has set counts, and what ``spark-submit`` was told; ``settings.OURS`` are for what
    nobody has said. A session that runs is left as it is: of all arguments only settings that Spark lets change in one,
    and a log level, count for it.

    Args:
        master: local[*] where neither this nor a setting names one. On a cluster, the workers' Python is the setting
            ``spark.pyspark.python`` or PYSPARK_PYTHON, else that of this process; docs/pipeline.md has
            the settings that bring them this package.
        driver_memory: 2g on this machine if nobody says it, else Spark's own default.
        log_level: OFF if not given, unless the administrator has a log4j2 file.
        packages: Maven coordinates of what Spark is to fetch (once) from Maven Central and load, as KAFKA_CONNECTOR.
        with_source: without, ``kafka-wire`` is unknown, which spares who does not read it seconds at the start.

    Raises SparkMissing: without Spark, without Java 17 or newer, or a start that failed; Java says why on stderr.
    """
    try:
        import pyspark.sql  # noqa: F401
    except ImportError:
        raise SparkMissing(INSTALL_SPARK) from None
    asked = dict(settings or {})
    running = running_session()
    if running is not None:
        for name, value in asked.items():
            if running.conf.isModifiable(name):
                running.conf.set(name, value)
        spark = running
    else:
        if master is not None:
            asked["spark.master"] = master
        if driver_memory is not None:
            asked["spark.driver.memory"] = driver_memory
        if packages:
            asked["spark.jars.packages"] = ",".join(filter(None, [asked.get("spark.jars.packages"), *packages]))
        spark = new_session(asked, app_name, log_level)
    if log_level is None and not started_elsewhere() and running is None and not has_logging_of_its_own():
        log_level = QUIET
    if log_level is not None and not is_remote(spark):
        spark.sparkContext.setLogLevel(log_level)
    if with_source:
        register(spark)
    return spark


@contextmanager
def session_for_a_while(**asked: Any) -> Iterator[SparkSession]:
    """A session as ``spark_session`` gives it, stopped afterwards unless it was there before."""
    there = running_session() is not None
    spark = spark_session(**asked)
    try:
        yield spark
    finally:
        if not there:
            spark.stop()


def running_session() -> SparkSession | None:
    """The session that this process has, whoever started it: a notebook, Databricks, a program of yours."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkException:
        return None


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is a client of Spark Connect, which has neither a context nor a JVM here."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def context_of(spark: SparkSession) -> SparkContext:
    """The SparkContext of a session. Raises SparkMissing: one of Spark Connect has none."""
    if is_remote(spark):
        raise SparkMissing(CONNECT_HAS_NO_TASKS)
    return spark.sparkContext


def taking_all_there_is(spark: SparkSession) -> SparkSession:
    """A session whose streams, told to take what there is, do that also behind a batch that an earlier one had begun.

    That of somebody else may lack the setting; then it is another on the same context, with all of its settings.
    """
    if spark.conf.get(AVAILABLE_NOW, "false") == "true":
        return spark
    context: Any = context_of(spark)
    other = type(spark)(context, spark._jsparkSession.cloneSession())
    other.conf.set(AVAILABLE_NOW, "true")
    return other


def started_elsewhere() -> bool:
    """Whether the driver's JVM is there before this program, as below ``spark-submit``."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def register(spark: SparkSession) -> None:
    """Make ``kafka-wire`` known to a session; with what `where` asks for pushed down to it, where Spark does that."""
    from kafka_rack.pipeline.spark.pushdown import source_for

    spark.dataSource.register(source_for(spark))


def new_session(asked: Mapping[str, str], app_name: str, log_level: str | None) -> SparkSession:
    """A session with these settings, and with the administrator's and ours for the rest."""
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    if "SPARK_REMOTE" in os.environ or "spark.remote" in asked:
        raise SparkMissing(CONNECT_HAS_NO_TASKS)
    if started_elsewhere():
        SparkContext._ensure_initialized()
        already = dict(SparkConf().getAll())
        if already.get("spark.app.name", "").endswith(".py"):
            del already["spark.app.name"]  # the file's, for want of a name
    else:
        if not sets_its_own_environment():
            find_java()
        already = administrators_settings()
    chosen = fitted({**({} if "spark.app.name" in already else {"spark.app.name": app_name}), **asked}, already)
    effective = {**already, **chosen}
    check_master(effective["spark.master"])
    python = workers_python(effective["spark.master"], effective)
    with (
        tempfile.TemporaryDirectory(prefix="kafka-rack-") as folder,
        environment(PYSPARK_PYTHON=python, PYSPARK_DRIVER_PYTHON=sys.executable),
        environment(**javas_environment(effective, log_level, Path(folder))),
        packages_for_planning(python),
    ):
        told = SparkConf(loadDefaults=False)  # on the command line of Java, where everybody sees it
        for name, value in chosen.items():
            if not is_secret(name):
                told.set(name, value)
        try:
            SparkContext._ensure_initialized(conf=told)
        except PySparkRuntimeError:
            raise SparkMissing("Spark did not start: its Java ended, and said above why") from None
        builder = SparkSession.builder
        for name, value in chosen.items():
            builder = builder.config(name, value)
        try:
            return builder.getOrCreate()
        except Py4JJavaError as error:
            reason = innermost(error.java_exception)
            if STOPPED in reason and effective["spark.master"].startswith(STANDALONE):
                reason = f"who listens there did not answer as a master of Spark {spark_version()}"
            where = "" if on_this_machine(effective["spark.master"]) else f" on {effective['spark.master']}"
            raise SparkMissing(f"Spark did not start{where}: {reason}") from None


def innermost(error: Any) -> str:
    """What the last of Java's causes says."""
    while error.getCause() is not None:
        error = error.getCause()
    return " ".join(str(error.getMessage() or error.toString()).split())


def javas_environment(settings: Mapping[str, str], log_level: str | None, folder: Path) -> dict[str, str]:
    """Variables for the driver's Java: the level of its log, and the loopback address on this machine."""
    told = {}
    if log_level is not None or not has_logging_of_its_own():
        logging = folder / "log4j2.properties"
        logging.write_text(LOGGING.format(level=log_level or QUIET))
        before = os.environ.get("SPARK_SUBMIT_OPTS", "")
        told["SPARK_SUBMIT_OPTS"] = f"{before} -Dlog4j2.configurationFile={logging.as_uri()}".strip()
    if on_this_machine(settings["spark.master"]) and "SPARK_LOCAL_IP" not in os.environ:
        told["SPARK_LOCAL_IP"] = LOOPBACK
    return told


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Environment variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def check_master(master: str) -> None:
    """Raises SparkMissing where no standalone master listens: Spark itself would ask for a minute."""
    if not master.startswith(STANDALONE):
        return
    reasons = []
    for address in master.removeprefix(STANDALONE).split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), MASTER_ANSWERS_S).close()
        except (OSError, ValueError, OverflowError) as error:
            reasons.append(f"{address}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise SparkMissing(
        f"{master}: no master of Spark there ({'; '.join(reasons)}); expected the address that its page and log say, "
        "as spark://HOST:7077"
    )


def workers_python(master: str, settings: Mapping[str, str]) -> str:
    """The Python that workers run: on this machine this one, on a cluster what the user says."""
    if master == "local" or master.startswith("local["):
        return sys.executable
    return settings.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable


@contextmanager
def packages_for_planning(python: str) -> Iterator[None]:
    """Let a Python that Spark starts beside the driver find what this one finds.

    Spark asks a data source for its partitions there, but with the workers' Python, which may have no packages.
    """
    if python == sys.executable:
        yield
        return
    with environment(PYTHONPATH=os.pathsep.join(path for path in sys.path if Path(path).is_dir())):
        yield
