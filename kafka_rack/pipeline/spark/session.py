"""A Spark session with the settings that the jobs need, and Java found or asked for in one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_rack.extras import pip_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOWEST_JAVA = 17
INSTALL_JAVA = (
    "Spark needs Java 17 or newer: install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew "
    "install openjdk@17) or set JAVA_HOME"
)
INSTALL_SPARK = f"the pipeline needs Spark: {pip_install('spark')}"
KAFKA_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
"""Spark's own source and sink for Kafka, of the one version of Spark that this package takes; kafka-clients 3.9."""
LOOPBACK = "127.0.0.1"
LOGGING = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n
"""


class SparkMissing(Exception):
    """Spark or Java is not there; the text says how to get it."""


def find_java() -> str:
    """The Java to run, JAVA_HOME's or that of PATH. Raises SparkMissing."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = java_version(java) if java else None
    if java is not None and version is not None and version >= LOWEST_JAVA:
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
    master: str = "local[*]",
    *,
    app_name: str = "kafka-rack",
    driver_memory: str = "2g",
    log_level: str = "ERROR",
    packages: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start a session, or give the one that runs; it knows the format ``kafka-wire``.

    Args:
        master: on a cluster, the workers' Python is the setting ``spark.pyspark.python`` or PYSPARK_PYTHON, else that
            of this process; ``shipping.shipped`` has the settings that bring them this package.
        packages: Maven coordinates of what Spark is to fetch (once) from Maven Central and load, as KAFKA_CONNECTOR.
            A session that runs takes no more of them.

    Raises SparkMissing: without Spark, without Java 17 or newer, or without packages that cannot be fetched.
    """
    find_java()
    os.environ["PYSPARK_PYTHON"] = workers_python(master, settings or {})
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    on_this_machine = master.startswith("local")
    if on_this_machine:
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkMissing(INSTALL_SPARK) from None
    from kafka_rack.pipeline.spark.source import kafka_wire

    builder = SparkSession.builder.master(master).appName(app_name)
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.streaming.triggerAvailableNowWrapper.enabled": "true",  # else a batch begun before is all it takes
        "spark.driver.memory": driver_memory,
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        **({"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK} if on_this_machine else {}),
        **({"spark.jars.packages": ",".join(packages)} if packages else {}),
        **(settings or {}),
    }
    with tempfile.TemporaryDirectory(prefix="kafka-rack-") as folder:
        logging = Path(folder) / "log4j2.properties"
        logging.write_text(LOGGING.format(level=log_level))
        chosen.setdefault("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={logging.as_uri()}")
        for name, value in chosen.items():
            builder = builder.config(name, value)
        try:
            with quiet_start(log_level), packages_for_planning():
                spark = builder.getOrCreate()
        except PySparkRuntimeError as error:
            if not packages:
                raise
            raise SparkMissing(
                f"Spark did not start; most likely {', '.join(packages)} could not be fetched from Maven Central: "
                "log_level='WARN' shows what it says"
            ) from error
    spark.sparkContext.setLogLevel(log_level)
    spark.dataSource.register(kafka_wire(spark))
    return spark


def workers_python(master: str, settings: Mapping[str, str]) -> str:
    """The Python that workers run: on this machine this one, on a cluster what the user says."""
    if master == "local" or master.startswith("local["):
        return sys.executable
    return settings.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable


@contextmanager
def packages_for_planning() -> Iterator[None]:
    """Let a Python that Spark starts beside the driver find what this one finds.

    Spark asks a data source for its partitions there, but with the workers' Python, which may have no packages.
    """
    if os.environ["PYSPARK_PYTHON"] == sys.executable:
        yield
        return
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if Path(path).is_dir())
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@contextmanager
def quiet_start(log_level: str) -> Iterator[None]:
    """Keep what Java says about its own start off the terminal, unless logs were asked for.

    Errors of jobs come back as exceptions, so nothing is lost with it.
    """
    if log_level not in ("ERROR", "FATAL", "OFF"):
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
