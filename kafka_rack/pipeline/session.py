"""A Spark session for the jobs: the running one, or a new one with Spark's own settings and a few of ours."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.extras import pip_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSTALL_JAVA = (
    "Spark needs Java 17 or newer: install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew "
    "install openjdk@17) or set JAVA_HOME"
)
INSTALL_SPARK = f"the pipeline needs Spark: {pip_install('spark')}"
OURS_HERE = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "2g"}
"""Settings of a local session, unless set elsewhere."""
QUIET = "OFF"
"""The level of Spark's log: its errors are raised as exceptions too."""
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
    """Spark or Java is missing; the text says how to install it."""


def spark_session(
    master: str | None = None,
    *,
    app_name: str = "kafka-rack",
    driver_memory: str | None = None,
    log_level: str | None = None,
    packages: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start a session, or return the running one, with those of ``settings`` that Spark can change in it.

    Args:
        master: default: that of a setting, spark-defaults.conf or spark-submit, else local[*].
        log_level: default: OFF, unless Spark's configuration has a log4j2 file.
        packages: Maven coordinates of packages that Spark fetches and loads.

    Raises SparkMissing: without Spark, without Java 17 or newer, or if the start failed; Java says why on stderr.
    """
    try:
        import pyspark.sql  # noqa: F401
    except ImportError:
        raise SparkMissing(INSTALL_SPARK) from None
    asked, running = dict(settings or {}), running_session()
    if running is None:
        asked |= {"spark.master": master} if master else {}
        asked |= {"spark.driver.memory": driver_memory} if driver_memory else {}
        asked |= {"spark.jars.packages": ",".join(packages)} if packages else {}
        return new_session(asked, app_name, log_level)
    for name, value in asked.items():
        if running.conf.isModifiable(name):
            running.conf.set(name, value)
    if log_level is not None:
        running.sparkContext.setLogLevel(log_level)
    return running


def running_session() -> SparkSession | None:
    """The session of this process, if one is running."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def new_session(asked: dict[str, str], app_name: str, log_level: str | None) -> SparkSession:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    submitted, configured = "PYSPARK_GATEWAY_PORT" in os.environ, configuration_folder()
    home = os.environ.get("JAVA_HOME")
    has_java = shutil.which("java", path=f"{home}/bin" if home else None) is not None
    if not (submitted or has_java or (configured / "spark-env.sh").is_file()):
        raise SparkMissing(f"JAVA_HOME is {home}, where no Java runs; {INSTALL_JAVA}" if home else INSTALL_JAVA)
    here = asked.get("spark.master", "" if (configured / "spark-defaults.conf").is_file() else "local[*]")
    if not submitted and here.startswith("local"):
        asked = {**OURS_HERE, **asked}
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder: Any = SparkSession.builder
    if not submitted or "spark.app.name" in asked:
        builder = builder.appName(app_name)
    for name, value in asked.items():
        builder = builder.config(name, value)
    is_quiet = log_level is None and (submitted or any(configured.glob("log4j2.[!t]*")))
    try:
        with logging_at(None if is_quiet else log_level or QUIET):
            spark: SparkSession = builder.getOrCreate()
    except (Py4JJavaError, PySparkException) as error:
        java = getattr(error, "java_exception", None)
        reason = innermost(java) if java is not None else f"{error} {INSTALL_JAVA}"
        raise SparkMissing(f"Spark did not start: {reason}") from None
    if log_level is not None:
        spark.sparkContext.setLogLevel(log_level)
    if (spark.sparkContext.master or "").startswith("local") and spark.conf.get(
        "spark.sql.shuffle.partitions"
    ) == "200":
        spark.conf.set("spark.sql.shuffle.partitions", str(2 * spark.sparkContext.defaultParallelism))
    return spark


def configuration_folder() -> Path:
    """The folder of Spark's configuration; it need not exist."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    return Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"))


@contextmanager
def logging_at(level: str | None) -> Iterator[None]:
    """Set the log level, on stderr, of a Java process that starts meanwhile; None: that of its configuration."""
    if level is None:
        yield
        return
    before = os.environ.get("SPARK_SUBMIT_OPTS")
    with tempfile.TemporaryDirectory(prefix="kafka-rack-") as folder:
        file = Path(folder, "log4j2.properties")
        file.write_text(LOGGING.format(level=level))
        os.environ["SPARK_SUBMIT_OPTS"] = f"{before or ''} -Dlog4j2.configurationFile={file.as_uri()}".strip()
        try:
            yield
        finally:
            os.environ.pop("SPARK_SUBMIT_OPTS")
            if before is not None:
                os.environ["SPARK_SUBMIT_OPTS"] = before


def innermost(error: Any) -> str:
    """The message of the last of Java's causes."""
    while error.getCause() is not None:
        error = error.getCause()
    return " ".join(str(error.getMessage() or error.toString()).split())
