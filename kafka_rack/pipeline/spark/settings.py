"""The settings that a session of Spark begins with: those asked for, then the administrator's, then ours.

A cluster's administrator sets in ``spark-defaults.conf`` of SPARK_CONF_DIR what suits it, a program in
PYSPARK_SUBMIT_ARGS or on the command line of ``spark-submit``. Ours are for what nobody has said, and most of them for
one machine alone.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
HERE = "local[*]"
DEFAULTS_FILE = "spark-defaults.conf"
AVAILABLE_NOW = "spark.sql.streaming.triggerAvailableNowWrapper.enabled"
"""Without it a stream that is to take what there is ends behind a batch that an earlier one had begun."""
OURS = {
    "spark.ui.showConsoleProgress": "false",  # jobs say themselves how far they are
    "spark.sql.session.timeZone": "UTC",
    AVAILABLE_NOW: "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.python.filterPushdown.enabled": "true",  # from Spark 4.1, where sources are told what `where` asks
}
OURS_HERE = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "2g",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
}
"""Where driver and workers are one process, or processes of one machine."""
SECRET = re.compile(r"secret|password|token|access\.?key|account\.key", re.IGNORECASE)
KEY_AND_VALUE = re.compile(r"((?:\\.|[^\s=:\\])+)(?:\s*[=:]\s*|\s+|$)(.*)")
ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
SUBMIT_OPTIONS = {
    "--master": "spark.master",
    "--driver-memory": "spark.driver.memory",
    "--name": "spark.app.name",
    "--packages": "spark.jars.packages",
    "--deploy-mode": "spark.submit.deployMode",
}
"""Options of spark-submit that stand for a setting, as far as ours depend on them."""


def fitted(asked: Mapping[str, str], already: Mapping[str, str]) -> dict[str, str]:
    """What a session is to be started with: all that was asked for, and ours where nobody has said anything.

    Args:
        already: what Spark finds by itself: the administrator's settings, or those of ``spark-submit``.

    >>> sorted(fitted({"spark.master": "yarn"}, {"spark.sql.session.timeZone": "Asia/Tokyo"}))[:2]
    ['spark.master', 'spark.sql.execution.arrow.maxRecordsPerBatch']
    """
    master = asked.get("spark.master") or already.get("spark.master")
    ours = {**({} if master else {"spark.master": HERE}), **OURS}
    if on_this_machine(master or HERE):
        ours |= OURS_HERE
        if "SPARK_DRIVER_MEMORY" in os.environ:
            del ours["spark.driver.memory"]
    return {**{name: value for name, value in ours.items() if name not in already}, **asked}


def on_this_machine(master: str) -> bool:
    """Whether driver and workers share this machine.

    >>> [on_this_machine(master) for master in ("local[2]", "local-cluster[2,1,1024]", "yarn")]
    [True, True, False]
    """
    return master.startswith("local")


def configuration_folder() -> Path | None:
    """Where this Spark has its administrator's settings; it need not exist."""
    folder = os.environ.get("SPARK_CONF_DIR")
    if folder:
        return Path(folder)
    home = spark_home()
    return None if home is None else home / "conf"


def spark_home() -> Path | None:
    """Where the Spark that a session here runs is: SPARK_HOME, or the pyspark that is installed."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home)
    from importlib.util import find_spec

    found = find_spec("pyspark")
    return None if found is None or found.origin is None else Path(found.origin).parent


def administrators_settings() -> dict[str, str]:
    """What Spark will find without being told: its defaults file, and above that PYSPARK_SUBMIT_ARGS."""
    folder = configuration_folder()
    submitted = list(pairs_of(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))))
    files = [Path(value) for name, value in submitted if name == "--properties-file"]
    if not files and folder is not None:
        files = [folder / DEFAULTS_FILE]
    found: dict[str, str] = {}
    for file in files:
        if file.is_file():
            found |= read_settings(file)
    for name, value in submitted:
        if name in SUBMIT_OPTIONS:
            found[SUBMIT_OPTIONS[name]] = value
        elif name in {"--conf", "-c"}:
            key, _, said = value.partition("=")
            found[key] = said
    return found


def pairs_of(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Options and what follows them.

    >>> list(pairs_of(["--master", "yarn", "--conf=a=b", "pyspark-shell"]))
    [('--master', 'yarn'), ('--conf', 'a=b')]
    """
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if not name.startswith("-"):
            continue
        if equals:
            yield name, value
        elif at + 1 < len(arguments):
            yield name, arguments[at + 1]


def has_logging_of_its_own() -> bool:
    """Whether the administrator says what Spark logs, and where."""
    folder = configuration_folder()
    return folder is not None and any(file.suffix != ".template" for file in folder.glob("log4j2.*"))


def sets_its_own_environment() -> bool:
    """Whether a ``spark-env.sh`` may say which Java runs."""
    folder = configuration_folder()
    return folder is not None and (folder / "spark-env.sh").is_file()


def is_secret(name: str) -> bool:
    """Whether a setting's value must not be seen in a list of processes.

    >>> is_secret("spark.hadoop.fs.s3a.secret.key"), is_secret("spark.driver.memory")
    (True, False)
    """
    return SECRET.search(name) is not None


def read_settings(path: Path) -> dict[str, str]:
    """A properties file as Spark reads it: ``key value``, ``key=value``; the last of two wins.

    Raises: OSError, UnicodeDecodeError.
    """
    found: dict[str, str] = {}
    pending = ""
    for raw in path.read_text(encoding="utf-8").splitlines():
        line = pending + raw.strip()
        pending = ""
        if not line or line[0] in "#!":
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:  # goes on in the next line
            pending = line[:-1]
            continue
        pair = KEY_AND_VALUE.fullmatch(line)
        if pair is not None:
            found[unescaped(pair[1])] = unescaped(pair[2]).strip()
    return found


def unescaped(text: str) -> str:
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else ESCAPES.get(found[2], found[2]), text)
