"""kafka-rack encode: JSON to bytes of Kafka's protocol."""

from __future__ import annotations

import sys
from typing import Any

import protocol
from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.command import Arguments, argument, command, flag, option
from kafka_rack.cli.options.messages import message_named, message_option, version_of, version_option
from kafka_rack.cli.options.text_files import read_json
from kafka_rack.cli.options.types import WholeNumber, Words


@command()
@argument("file", metavar="FILE|-", type=Words("FILE|-"))
@message_option(required=True)
@version_option
@flag("--frame", "Write the length and the header before the message, as they go over the wire.")
@option("--correlation-id", WholeNumber(), "Correlation id for the header of a frame.", default=0)
@option("--client-id", Words("ID"), "Client id for the header of a request's frame.")
@flag("--raw", "Write the bytes themselves instead of hex.")
def encode(arguments: Arguments) -> int:
    """Encode a Kafka message from JSON, in the form that kafka-rack decode prints.

    FILE has the JSON; - is standard input.

    Examples:
      echo '{"topics": [{"name": "events"}]}' | kafka-rack encode --message MetadataRequest --version 1 -
      kafka-rack encode --message MetadataRequest --version 12 --frame --client-id app-1 request.json --raw > frame.bin
    """
    message = message_named(arguments.message)
    version = version_of(message, arguments.version)
    content = read_json(arguments.file)
    try:
        typed = protocol.from_json(message.name, version, content)
        data = framed(arguments, typed, version) if arguments.frame else protocol.encode(typed, version)
    except protocol.ProtocolError as error:
        raise CommandError(str(error)) from None
    if arguments.raw:
        sys.stdout.flush()
        getattr(sys.stdout, "beneath", sys.stdout).buffer.write(data)
    else:
        print(data.hex())
    return DONE


def framed(arguments: Arguments, typed: Any, version: int) -> bytes:
    """The message after its length and header."""
    kind, correlation_id = type(typed).kind, arguments.correlation_id
    if kind == "request":
        return protocol.request_frame(typed, version, correlation_id=correlation_id, client_id=arguments.client_id)
    if kind == "response":
        return protocol.response_frame(typed, version, correlation_id=correlation_id)
    raise UsageError(f"--frame: expected a request or a response, got {type(typed).name}")
