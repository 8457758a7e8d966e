"""``python -m tests.torture [NAME...]``: attacks by kind or by a part of their names, all of them without one.

Each kind is a module here with ``ATTACKS``, functions by name; a new one needs its line in ``KINDS``. Each attack has a
server of its own, made with the module's ``OPTIONS`` and filled by its ``PREPARE`` where it has one.
"""

import sys
from importlib import import_module

from mockbroker.adapters.open_files import raise_open_files_limit
from tests.torture.target import HEADING, measured, target

KINDS = {
    "answers": "answers without end",
    "requests": "one request, seconds of work",
    "lies": "few bytes, much work",
    "growth": "costs that grow",
    "memory": "records without end",
    "control": "the control API beside clients",
    "hostile": "hostile load beside a good client",
    "tls": "hostile handshakes and records beside a good client with TLS",
}


def main(names: list[str]) -> int:
    """Run the named attacks in the order in which they stand."""
    raise_open_files_limit()
    ran = False
    for kind, subject in KINDS.items():
        module = import_module(f"{__package__}.{kind}")
        attacks = {
            name: attack
            for name, attack in module.ATTACKS.items()
            if not names or kind in names or any(one in name for one in names)
        }
        if not attacks:
            continue
        ran = True
        print(f"== {kind}: {subject}\n\n{HEADING}", flush=True)
        for name, attack in attacks.items():
            with target(module.OPTIONS) as attacked:
                if hasattr(module, "PREPARE"):
                    module.PREPARE(attacked)
                with measured(attacked, name) as figures:
                    try:
                        attack(attacked)
                    except OSError as error:
                        attacked.note += f" {type(error).__name__}"
                print(figures[0], flush=True)
        print(flush=True)
    if not ran:
        print(f"no attack {', '.join(names)}; kinds are {', '.join(KINDS)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
