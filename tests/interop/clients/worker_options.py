"""What the Python workers for ``kafka-rack certify`` are told, and how."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

PAUSE_S = 0.01


@dataclass
class Options:
    brokers: str
    topic: str
    group: str
    rack: str
    work: str
    client_id: str


def read_options() -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--group", default="certify")
    parser.add_argument("--rack", default="", help="none where it is empty")
    parser.add_argument("--work", choices=["consume", "produce"], default="consume")
    parser.add_argument("--client-id", default="worker")
    return Options(**vars(parser.parse_args()))
