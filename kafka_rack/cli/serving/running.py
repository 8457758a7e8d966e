"""A cluster that serves until a signal, its control API, and its addresses in files: for `serve` and `proxy`."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.command import Arguments, flag, option, refuse_beside, section, together
from kafka_rack.cli.options.control_token import ServedToken, served_token
from kafka_rack.cli.options.shared import client_racks_option
from kafka_rack.cli.options.types import DIRECTORY, FILE, Size, WholeNumber, Words
from kafka_rack.cli.serving.announcement import STANDARD_ERROR, STANDARD_OUTPUT, banner, check_ready_fd, tell_ready
from kafka_rack.cli.serving.ending_signals import end_on_signals
from kafka_rack.cli.serving.security_folder import SecurityFolder

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.adapters.control import ControlServer
    from mockbroker.adapters.served_cluster import ServedCluster

LOOPBACK = "127.0.0.1"
CONTROL_PORT = 8090
PORTS_TRIED = 10
PARENT_LOOK_S = 1.0
LOAD_LOOK_S, CALM_S = 5.0, 0.5  # processor time between two looks at it: with less the server is calm
NO_SOCKETS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
LOOPS = ("asyncio", "uvloop")
PORT = WholeNumber(0, 65535, name="PORT")

log = logging.getLogger("mockbroker")

network_options = section(
    "Network",
    option("--host", Words("HOST"), "Address to listen on; default: 127.0.0.1."),
    option("--port", PORT, "Port of broker 0; 0 picks free ports; default: 9092, or 0 for the proxy."),
    option("--advertised-host", Words("HOST"), "Host that brokers report to clients; default: --host."),
    flag("--listener-per-rack", "Add a listener for each rack to each broker; its clients count as in that rack."),
)
control_options = section(
    "Dashboard and control API",
    option(
        "--control-port",
        PORT,
        f"Port of the dashboard; 0 picks a free one; default: {CONTROL_PORT}, or the next free port.",
    ),
    flag("--no-control", "Serve neither the dashboard nor the control API."),
    option("--control-host", Words("HOST"), "Address of the control API; default: 127.0.0.1."),
    option(
        "--control-token-file",
        FILE,
        "Require the token in this file, or write a new one there; KAFKA_RACK_CONTROL_TOKEN has precedence. "
        "Default: none on loopback, else a new one, which is printed.",
    ),
)
tls_options = together(
    flag("--tls", "Make test certificates and speak TLS with clients (docs/security.md)."),
    option(
        "--security-dir",
        DIRECTORY,
        "Write the certificates, keys and client properties of --tls here; default: a temporary folder.",
    ),
)
capture_options = section(
    "Capture and faults",
    option("--capture", FILE, "Write every frame to this file, for locality and check."),
    option("--capture-bytes", Size(), "Continue in FILE-0001 when the file has this size.", default="64MiB"),
    client_racks_option,
    option("--faults", FILE, "Inject the faults of this JSON or YAML file from the start (docs/faults.md)."),
)
harness_options = section(
    "For test harnesses",
    option("--bootstrap-file", FILE, "Write host:port,... to this file once every broker accepts."),
    option("--control-file", FILE, "Write host:port of the control API to this file."),
    option(
        "--ready-fd",
        WholeNumber(),
        "Write one line of JSON to this open file descriptor once every broker accepts, then close it.",
    ),
    flag("--end-with-parent", "End when the process that started this one has ended."),
    option("--control-name", Words("NAME"), "Accept this DNS name for the control API; repeatable.", multiple=True),
    option("--loop", click.Choice(LOOPS), "Event loop; default: uvloop if it is installed."),
    flag("--quiet", "Print errors only."),
)


def check_serving(arguments: Arguments) -> None:
    """Refuse options that contradict each other. Raises UsageError."""
    if arguments.no_control:
        names = ("control_port", "control_file", "control_host", "control_name", "control_token_file")
        refuse_beside(arguments, names, "--no-control")
    if arguments.security_dir and not arguments.tls:
        raise UsageError("--security-dir needs --tls")
    check_ready_fd(arguments.ready_fd)
    check_capture(arguments.capture)


def check_capture(file: str | None) -> None:
    """Refuse a name that promises another form than lines of JSON. Raises UsageError."""
    if file is not None and file.endswith((".gz", ".pcap", ".pcapng")):
        raise UsageError(f"--capture {file}: expected a name such as trace.jsonl: a capture is lines of JSON")


def run_made(
    cluster: ServedCluster,
    arguments: Arguments,
    token: ServedToken,
    folder: SecurityFolder,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None,
) -> int:
    """Serve a cluster until it is to end. Raises CommandError."""
    from mockbroker.adapters.log_output import LogOutput
    from mockbroker.adapters.open_files import raise_open_files_limit

    raise_open_files_limit()
    output = LogOutput(STANDARD_ERROR)
    logging.getLogger().addHandler(output)
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(serve(cluster, arguments, token, folder))
    finally:
        logging.getLogger().removeHandler(output)
        output.close()


def loop_factory_of(name: str | None) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The factory of the event loop; None means asyncio's own. Raises UsageError: uvloop is not installed."""
    if name == "asyncio":
        return None
    try:
        import uvloop
    except ImportError:
        if name is None:
            return None
        raise UsageError("--loop uvloop: it is not installed; pip install uvloop") from None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def serve(cluster: Any, arguments: Arguments, token: ServedToken, folder: SecurityFolder) -> int:
    """Run until a signal arrives."""
    ended = asyncio.Event()
    parent = os.getppid()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(report_loop_error)
    written: dict[Path, str] = {}
    end_on_signals(lambda: loop.call_soon_threadsafe(ended.set), lambda: clean_up(written, folder))
    try:
        await cluster.start()
    except OSError as error:
        raise CommandError(error.strerror or str(error)) from None
    control = None
    try:
        if not arguments.no_control:
            control = await started_control(
                cluster,
                arguments.control_port,
                arguments.control_host or LOOPBACK,
                names=arguments.control_name,
                token=token.text,
                on_shutdown=ended.set,
            )
        if arguments.bootstrap_file:
            written.update(written_whole(arguments.bootstrap_file, cluster.bootstrap_servers + "\n"))
        if arguments.control_file and control is not None:
            written.update(written_whole(arguments.control_file, control.url.removeprefix("http://") + "\n"))
        if not arguments.quiet and arguments.ready_fd != STANDARD_OUTPUT:
            with suppress(OSError):  # no process reads it
                sys.stdout.write(banner(cluster, control, folder, token.text if token.is_new else None))
                sys.stdout.flush()
        if arguments.ready_fd is not None:
            tell_ready(arguments.ready_fd, cluster, control, folder)
        gc.freeze()  # the objects so far live as long as the process
        gc.enable()
        return_memory(loop)
        if arguments.end_with_parent:
            watch_parent(loop, parent, ended)
        await ended.wait()
    finally:
        await asyncio.gather(cluster.finish(), *([control.__aexit__()] if control is not None else []))
        unlink_own(written)
        await cluster.close()
    return DONE


async def started_control(
    cluster: Any,
    port: int | None = None,
    host: str = LOOPBACK,
    *,
    names: Sequence[str] = (),
    token: str | None = None,
    on_shutdown: Callable[[], None],
) -> ControlServer:
    """The control API on its port, or on the first free one from 8090 on. Raises CommandError."""
    from mockbroker.adapters.control import ControlServer

    ports = [*range(CONTROL_PORT, CONTROL_PORT + PORTS_TRIED), 0] if port is None else [port]
    for tried in ports:
        try:
            return await ControlServer(
                cluster, host=host, port=tried, names=list(names), token=token, on_shutdown=on_shutdown
            ).__aenter__()
        except OSError as error:
            if error.errno != errno.EADDRINUSE or tried == ports[-1]:
                raise CommandError(f"control API: {error.strerror or error}") from None
    raise AssertionError("port 0 is never in use")


def clean_up(written: dict[Path, str], folder: SecurityFolder) -> None:
    """Remove the files of this run."""
    unlink_own(written)
    folder.remove()


def control_token(arguments: Arguments) -> ServedToken:
    """The token that the control API requires. Raises UsageError: no client would learn it; CommandError."""
    if arguments.no_control:
        return ServedToken(None)
    token = served_token(arguments.control_token_file, os.environ, arguments.control_host or LOOPBACK)
    is_told = arguments.control_token_file is not None or arguments.ready_fd is not None or not arguments.quiet
    if token.is_new and not is_told:
        raise UsageError(
            "--quiet prints no token: expected --control-token-file, --ready-fd or KAFKA_RACK_CONTROL_TOKEN"
        )
    return token


def watch_parent(loop: asyncio.AbstractEventLoop, parent: int, ended: asyncio.Event) -> None:
    """Look every second whether the parent is still the same: an orphan gets another."""
    if os.getppid() != parent:
        ended.set()
        return
    loop.call_later(PARENT_LOOK_S, watch_parent, loop, parent, ended)


def return_memory(loop: asyncio.AbstractEventLoop, spent_s: float = 0.0, was_busy: bool = False) -> None:
    """Return free memory to the system each time the server becomes calm; glibc would keep it.

    Args:
        spent_s: the process's processor time at the last look.
    """
    now_s = time.process_time()
    is_busy = now_s - spent_s > CALM_S
    if was_busy and not is_busy:
        trim_heap()
    loop.call_later(LOAD_LOOK_S, return_memory, loop, now_s, is_busy)


def trim_heap() -> None:
    """Return the free pages of the C library's heap, if it is glibc; that takes some ms for each 10 MB."""
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def faults_from(name: str | None) -> list[Any]:
    """The faults of a file, none without one. Raises UsageError."""
    if name is None:
        return []
    from mockbroker.adapters.fault_files import FaultFileError, faults_from_file

    try:
        return list(faults_from_file(path_of(name)))
    except FaultFileError as error:
        raise UsageError(f"--faults {error}") from None


def path_of(name: str) -> Path:
    """A path; pathlib is loaded here, since most clusters start without one."""
    from pathlib import Path

    return Path(name)


def written_whole(name: str, text: str) -> dict[Path, str]:
    """Write a file of this cluster; returns it with its text. Raises CommandError."""
    from kafka_rack.cli.output.whole_files import write_whole

    return {write_whole(name, text, make_folders=True): text}


def unlink_own(written: Mapping[Path, str]) -> None:
    """Remove the files that this cluster wrote, unless another cluster has written them since."""
    for path, text in written.items():
        with suppress(OSError, UnicodeDecodeError):
            if path.read_text() == text:
                path.unlink()


def report_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """One line if the system has no more sockets: accepting pauses, and continues by itself."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in NO_SOCKETS and "accept" in str(context.get("message")):
        log.warning("no connection is accepted for a moment: %s", error.strerror)
        return
    if isinstance(error, ValueError) and "_start_serving" in str(context.get("message")):
        return  # a listener that was closed during such a pause: asyncio tries to continue with it
    loop.default_exception_handler(context)
