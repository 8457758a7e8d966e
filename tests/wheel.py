"""``python -m tests.wheel``: the packages that would be published, tried where nothing of this clone is.

Builds the sdist and from it the wheel, has twine check both, installs the wheel into an empty environment and uses it
there: the command, its pages, a codec, an assignor, a cluster with its own tools as clients; then, with pytest and a
client beside it, the pytest plugin. Prints each step; exit code 1 at the first that fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
FRAME = "0003000100000007000474657374" + "0000000100066576656e7473"
USES_ASSIGNMENT = """
from kafka_rack.assignment import assign
cluster = {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1], [1, 0]]}}
members = {"in-a": {"topics": ["orders"], "rack": "a"}, "in-b": {"topics": ["orders"], "rack": "b"}}
print(assign("range", cluster, members))
"""
A_TEST = """
from confluent_kafka import Producer


def test_a_producer_is_answered(kafka_cluster):
    failed = []
    producer = Producer({"bootstrap.servers": kafka_cluster.bootstrap_servers})
    producer.produce("orders", b"one", on_delivery=lambda error, record: failed.append(error))
    assert producer.flush(60) == 0
    assert failed == [None]
"""
CLIENTS = ("pytest",)


class StepFailed(Exception):
    """What a step was expected to give, and what it gave."""


def main() -> int:
    try:
        wheel = built()
        with TemporaryDirectory(prefix="kafka-rack-wheel-") as folder:
            tried(wheel, Path(folder))
    except StepFailed as error:
        sys.stderr.write(f"wheel: {error}\n")
        return 1
    return 0


def built() -> Path:
    """Build the sdist, the wheel from it, and check both; gives the wheel."""
    for old in DIST.glob("kafka_rack-*"):
        old.unlink()
    fetch("sdist and wheel are built", [sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)])
    packages = sorted(DIST.glob("kafka_rack-*"))
    if [path.suffix for path in packages] != [".whl", ".gz"]:
        raise StepFailed(f"expected a wheel and an sdist in {DIST}, got {[path.name for path in packages]}")
    run("twine finds nothing to say of them", [sys.executable, "-m", "twine", "check", "--strict", *map(str, packages)])
    wheel, sdist = packages
    names = set(zipfile.ZipFile(wheel).namelist())
    for page in (ROOT / "docs").glob("*.md"):
        expect(f"kafka_rack/docs/{page.name}" in names, f"{page.name} in the wheel")
    expect(not any(name.startswith("tests/") for name in names), "no tests in the wheel")
    with tarfile.open(sdist) as archive:
        folders = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    expect({"docs", "kafka_rack", "mockbroker", "protocol", "tests"} <= folders, "the whole source in the sdist")
    return wheel


def tried(wheel: Path, folder: Path) -> None:
    """Install the wheel into an environment of its own and use it from a folder without anything in it."""
    venv.create(folder / "env", with_pip=True)
    bin_folder, work = folder / "env" / "bin", folder / "work"
    work.mkdir()
    python, command = str(bin_folder / "python"), str(bin_folder / "kafka-rack")
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS)]
    fetch("the wheel is installed with what it needs", [*pip, str(wheel)], work)
    version = wheel.name.split("-")[1]
    shown = run("the command says its version", [command, "--version"], work).strip()
    expect(shown == f"kafka-rack {version}, codec: python", f"{version} with the codec in Python, in {shown}")
    shown = run("a command's help says where the pages are", [command, "place", "--help"], work)
    pages = Path(shown.rpartition("Documentation:")[2].strip())
    expect((pages / "plan.md").is_file(), f"plan.md in {pages}")
    frame = run("a frame is decoded", [command, "decode", "--frame", "--hex", FRAME], work)
    expect(json.loads(frame)["body"] == {"topics": [{"name": "events"}]}, f"the topic events, in {frame}")
    assigned = run("the assignors are used", [python, "-c", USES_ASSIGNMENT], work)
    expect("in-a" in assigned, f"an assignment, in {assigned}")
    serve(command, work)
    fetch("pytest and the clients are installed beside it", [*pip, *CLIENTS, f"{wheel}[clients]"], work)
    script = run("a completion is printed", [command, "completion", "bash"], work)
    expect("complete -o" in script, "a script of bash's")
    (work / "test_orders.py").write_text(A_TEST)
    passed = run("the pytest plugin gives a test its cluster", [python, "-m", "pytest", "-q", "test_orders.py"], work)
    expect("1 passed" in passed, f"1 passed, in {passed}")
    build = [*pip[:3], "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT / "native")]
    fetch("the native codec's wheel is built", build)
    native = next(folder.glob("kafka_rack_native-*.whl"))
    run("it is installed beside it", [*pip, "--no-deps", str(native)], work)
    shown = run("the command says which codec runs", [command, "--version"], work).strip()
    expect(shown == f"kafka-rack {version}, codec: native", f"the native codec, in {shown}")
    shown = run("the demo runs on it", [command, "demo"], work)
    expect("ok none came twice" in shown, f"a demo whose checks hold, in {shown}")


def serve(command: str, work: Path) -> None:
    """A cluster as a process, with the tools as its clients."""
    reading, writing = os.pipe()
    started = [command, "serve", "--port", "0", "--topic", "orders:6:3", "--quiet", "--ready-fd", str(writing)]
    with subprocess.Popen(started, cwd=work, env=environment(), pass_fds=[writing]) as process:
        os.close(writing)
        try:
            with os.fdopen(reading) as ready:
                said = ready.readline()
            expect(bool(said), "a cluster that says that it is ready")
            address = ["--bootstrap-server", json.loads(said)["bootstrap_servers"]]
            made = ["create", "made", "--partitions", "3", "--replication-factor", "3"]
            run("a cluster is served, and a topic made there", [command, "topics", *made, *address], work)
            seen = run("its racks are seen", [command, "inspect", "--format", "json", *address], work)
            expect([one["rack"] for one in json.loads(seen)["brokers"]] == ["a", "b", "c"], f"racks a, b, c, in {seen}")
        finally:
            process.terminate()
    expect(process.returncode == 0, f"a cluster that ends with 0, got {process.returncode}")


def run(step: str, command: Sequence[str], folder: Path = ROOT) -> str:
    """Run a step and say so; gives its standard output. Raises StepFailed: it does not end with 0."""
    print(f"wheel: {step}", flush=True)
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StepFailed(f"{step}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def fetch(step: str, command: Sequence[str], folder: Path = ROOT) -> None:
    """As ``run``, once more where it fails: an index may not answer for a moment."""
    try:
        run(step, command, folder)
    except StepFailed:
        run(f"{step}, once more", command, folder)


def environment() -> dict[str, str]:
    """The environment without what would lead back to this clone or its packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise StepFailed(f"expected {what}")


if __name__ == "__main__":
    raise SystemExit(main())
