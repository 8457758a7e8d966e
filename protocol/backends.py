"""Which codec runs: the native one, the distribution ``kafka-rack-native``, or the one in Python.

The variable ``KAFKA_RACK_NATIVE`` chooses: 0 the one in Python, 1 the native one or none. Else the native one runs
where it is installed.
"""

import os
from importlib import import_module
from typing import Any

VARIABLE = "KAFKA_RACK_NATIVE"
core: Any = None
"""The native module, None where Python's codec runs."""
if (_chosen := os.environ.get(VARIABLE)) != "0":
    try:
        core = import_module("kafka_rack_native")
    except ImportError:
        if _chosen == "1":
            raise


def backend() -> str:
    """The codec that runs: ``native`` or ``python``."""
    return "python" if core is None else "native"
