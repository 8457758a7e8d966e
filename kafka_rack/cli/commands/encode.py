"""Make the bytes of a Kafka message from its JSON, the form that `kafka-rack decode` prints.

Examples:
  echo '{"topics": [{"name": "events"}]}' | kafka-rack encode --message MetadataRequest --version 1 -
  kafka-rack encode --message MetadataRequest --version 12 --frame --client-id app-1 request.json --raw > frame.bin
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import protocol
from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.options.messages import message_named, version_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--message", metavar="NAME", required=True, help="MetadataRequest, ...")
    parser.add_argument("--version", type=int, metavar="N", help="its version; default: the highest")
    parser.add_argument("--frame", action="store_true", help="with length and header, as it goes onto the wire")
    parser.add_argument(
        "--correlation-id", type=int, default=0, metavar="N", help="for the header of a frame; default: 0"
    )
    parser.add_argument("--client-id", metavar="TEXT", help="for the header of a request's frame; default: none")
    parser.add_argument("--raw", action="store_true", help="write the bytes themselves instead of hex")
    parser.add_argument("file", help="a file of JSON, - for standard input")


def run(arguments: argparse.Namespace) -> int:
    message = message_named(arguments.message)
    version = version_of(message, arguments.version)
    try:
        typed = protocol.from_json(message.name, version, read_json(arguments.file))
        data = framed(arguments, typed, version) if arguments.frame else protocol.encode(typed, version)
    except protocol.ProtocolError as error:
        raise CommandError(str(error)) from None
    if arguments.raw:
        sys.stdout.buffer.write(data)
    else:
        print(data.hex())
    return 0


def framed(arguments: argparse.Namespace, typed: Any, version: int) -> bytes:
    """The message behind its length and header."""
    kind = type(typed).kind
    if kind == "request":
        return protocol.request_frame(
            typed, version, correlation_id=arguments.correlation_id, client_id=arguments.client_id
        )
    if kind == "response":
        return protocol.response_frame(typed, version, correlation_id=arguments.correlation_id)
    raise UsageError(f"--frame goes with requests and responses, {type(typed).name} is neither")


def read_json(file: str) -> Any:
    """The JSON in a file or on standard input."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{file}: not UTF-8: {error}") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise CommandError(f"{file}: not JSON: {error}") from None
