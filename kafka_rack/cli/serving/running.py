"""What `serve` and `proxy` have alike: a cluster that serves until it is to end, its control API, the files and lines
that say where it is.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.options.control_token import ServedToken, served_token
from kafka_rack.cli.serving.announcement import STANDARD_ERROR, STANDARD_OUTPUT, banner, check_ready_fd, tell_ready
from kafka_rack.cli.serving.ending_signals import end_on_signals
from kafka_rack.cli.serving.security_folder import SecurityFolder

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.adapters.served_cluster import ServedCluster

MAX_PORT = 65535
LOOPBACK = "127.0.0.1"
CAPTURE_BYTES = 64 << 20
PARENT_LOOK_S = 1.0
NO_SOCKETS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
LOOPS = ("asyncio", "uvloop")

log = logging.getLogger("mockbroker")


def add_control_options(option: Callable[..., None]) -> None:
    """Where the control API is."""
    option("--control-port", type=int, metavar="PORT", help="serve the control API and dashboard; 0 for a free port")
    option("--control-host", metavar="HOST", help="where the control API listens; default: 127.0.0.1, loopback")
    option(
        "--control-name",
        action="append",
        metavar="NAME",
        help="a DNS name under which the control API may be asked for; repeatable",
    )
    option(
        "--control-token-file",
        metavar="FILE",
        help="ask for the token in this file, or write a new one there; or it stands in KAFKA_RACK_CONTROL_TOKEN;\n"
        "default: none on loopback, elsewhere a new one, which is printed",
    )


def add_serving_options(option: Callable[..., None]) -> None:
    """What goes wrong, what is written down, and how a caller learns where everything is."""
    option("--faults", metavar="FILE", help="what is to go wrong from the start, as JSON or YAML (docs/faults.md)")
    option("--bootstrap-file", metavar="FILE", help="write host:port,... here once every broker accepts")
    option("--control-file", metavar="FILE", help="write host:port of the control API here once every broker accepts")
    option(
        "--ready-fd",
        type=int,
        metavar="N",
        help="write one line of JSON to this open file descriptor once every broker accepts: bootstrap_servers,\n"
        "control (a URL), control_token, pid and brokers; then close it",
    )
    option("--end-with-parent", action="store_true", help="end once the process that started this one is gone")
    option(
        "--client-racks",
        metavar="FILE",
        help="where clients are that do not say it, for journal, metrics and faults: lines as az-a@10.0.1.0/24 or\n"
        "az-b@client:billing-* (docs/cost.md); brokers know nothing of it",
    )
    option(
        "--capture",
        metavar="FILE",
        help="write every frame here, for `kafka-rack pipeline` (docs/pipeline.md); packets if named .pcapng",
    )
    option(
        "--capture-bytes",
        type=int,
        metavar="N",
        help="go on in FILE-0001, FILE-0002, ... when a file has N bytes; default: 64 MiB",
    )
    option("--loop", choices=LOOPS, help="the event loop to run on; default: uvloop where it is installed")
    option("--quiet", action="store_true", help="print nothing but errors")


def check_serving(arguments: argparse.Namespace) -> None:
    """Refuse options that cannot be, or that lack another. Raises UsageError."""
    if arguments.control_port is not None and not 0 <= arguments.control_port <= MAX_PORT:
        raise UsageError(f"--control-port: expected 0 to {MAX_PORT}, got {arguments.control_port}")
    for name in ("control_file", "control_host", "control_name", "control_token_file"):
        if getattr(arguments, name) and arguments.control_port is None:
            raise UsageError(f"--{name.replace('_', '-')} needs --control-port")
    check_ready_fd(arguments.ready_fd)
    if arguments.capture is not None and arguments.capture.endswith(".gz"):
        raise UsageError(f"--capture {arguments.capture}: written plain, so that it can be read while it grows")


def run_made(
    cluster: ServedCluster,
    arguments: argparse.Namespace,
    token: ServedToken,
    folder: SecurityFolder,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None,
) -> int:
    """Serve a cluster until it is to end. Raises CommandError."""
    from kafka_rack.errors import KafkaRackError
    from mockbroker.adapters.log_output import LogOutput
    from mockbroker.adapters.open_files import raise_open_files_limit

    raise_open_files_limit()
    output = LogOutput(STANDARD_ERROR)
    logging.getLogger().addHandler(output)
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(serve(cluster, arguments, token, folder))
    except KafkaRackError as error:  # a placer that cannot close
        raise CommandError(str(error)) from error
    finally:
        logging.getLogger().removeHandler(output)
        output.close()


def loop_factory_of(name: str | None) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop; None stands for asyncio's own. Raises UsageError: uvloop is not there."""
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


async def serve(cluster: Any, arguments: argparse.Namespace, token: ServedToken, folder: SecurityFolder) -> int:
    """Run until a signal comes."""
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
        if arguments.control_port is not None:
            from mockbroker.adapters.control import ControlServer

            try:
                control = await ControlServer(
                    cluster,
                    host=arguments.control_host or LOOPBACK,
                    port=arguments.control_port,
                    names=arguments.control_name,
                    token=token.text,
                    on_shutdown=ended.set,
                ).__aenter__()
            except OSError as error:
                raise CommandError(f"control API: {error.strerror or error}") from None
        if arguments.bootstrap_file:
            written.update(written_whole(arguments.bootstrap_file, cluster.bootstrap_servers + "\n"))
        if arguments.control_file and control is not None:
            written.update(written_whole(arguments.control_file, control.url.removeprefix("http://") + "\n"))
        if not arguments.quiet and arguments.ready_fd != STANDARD_OUTPUT:
            with suppress(OSError):  # nobody reads it
                sys.stdout.write(banner(cluster, control, folder, token.text if token.is_new else None))
                sys.stdout.flush()
        if arguments.ready_fd is not None:
            tell_ready(arguments.ready_fd, cluster, control, folder)
        gc.freeze()  # what is there by now stays
        gc.enable()
        if arguments.end_with_parent:
            watch_parent(loop, parent, ended)
        await ended.wait()
    finally:
        await asyncio.gather(cluster.finish(), *([control.__aexit__()] if control is not None else []))
        unlink_own(written)
        await cluster.close()
    return DONE


def clean_up(written: dict[Path, str], folder: SecurityFolder) -> None:
    """Take away what was written for this run alone."""
    unlink_own(written)
    folder.remove()


def control_token(arguments: argparse.Namespace) -> ServedToken:
    """What the control API is to ask for. Raises UsageError: nobody would learn it; CommandError."""
    if arguments.control_port is None:
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
    """Write a file of this cluster's own; gives it with its text. Raises CommandError."""
    from kafka_rack.cli.output.whole_files import write_whole

    return {write_whole(name, text, make_folders=True): text}


def unlink_own(written: Mapping[Path, str]) -> None:
    """Take the files away that were written here, unless another cluster has written them since."""
    for path, text in written.items():
        with suppress(OSError, UnicodeDecodeError):
            if path.read_text() == text:
                path.unlink()


def report_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """One line where the system gives no more sockets: accepting pauses, and goes on by itself."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in NO_SOCKETS and "accept" in str(context.get("message")):
        log.warning("no connection is accepted for a moment: %s", error.strerror)
        return
    if isinstance(error, ValueError) and "_start_serving" in str(context.get("message")):
        return  # a listener that was closed during such a pause: asyncio wants to go on with it
    loop.default_exception_handler(context)
