"""Run one of the client programs: ``python -m tests.interop.clients with_aiokafka``, the order on standard input."""

from __future__ import annotations

import sys
from importlib import import_module

from tests.interop.clients import common

common.main(import_module(f"tests.interop.clients.{sys.argv[1]}"))
