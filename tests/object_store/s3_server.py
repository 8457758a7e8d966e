"""An S3 endpoint on loopback: moto's server.

It runs as a process of its own, with packages of its own (see conftest.py), says its port in the first line that it
prints, and ends when its standard input does.
"""

from __future__ import annotations

import logging
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
