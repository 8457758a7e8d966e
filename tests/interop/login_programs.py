"""Logins that send a record: programs with somebody's library, kcat, and librdkafka in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.interop.certified_clients import FRANZ_GO, KAFKA_GO, KAFKAJS
from tests.interop.fetched import fetched, needs_programs
from tests.progress import run, wait_until

HERE = Path(__file__).parent / "logins"
MODULES = {
    "franz_go": ("github.com/twmb/franz-go", FRANZ_GO),
    "franz_go_tls": ("github.com/twmb/franz-go", FRANZ_GO),
    "kafka_go": ("github.com/segmentio/kafka-go", KAFKA_GO),
}
Login = tuple[str, str, str]
"""A mechanism, a user and a password."""


def program(library: str) -> list[str]:
    """What runs a library's program. Raises ToolMissingError."""
    if library == "kafkajs":
        needs_programs("node", "npm")
        source = (HERE / "with_kafkajs.js").read_text()
        install = f"npm install --no-audit --no-fund --silent --prefix . kafkajs@{KAFKAJS} && touch installed"
        folder = kept("login-kafkajs", "installed", install, {"main.js": source})
        return ["node", str(folder / "main.js")]
    needs_programs("go")
    module, version = MODULES[library]
    files = {
        "main.go": (HERE / f"{library}.go").read_text(),
        "go.mod": f"module login\n\ngo 1.21\n\nrequire {module} {version}\n",
    }
    script = "go mod tidy && go build -o building . && mv building login"
    return [str(kept(f"login-{library}", "login", script, files) / "login")]


def kept(name: str, file: str, script: str, files: dict[str, str]) -> Path:
    """A folder of its own for each text of the program."""
    digest = sha256("\0".join([script, *files.values()]).encode()).hexdigest()[:12]
    return fetched(f"{name}-{digest}", file, ["sh", "-ec", script], files)


def results(command: Sequence[str], servers: str, topic: str, logins: Sequence[Login]) -> list[str]:
    """What a program says of each login: ``sent``, or the error's name there."""
    done = run([*command, servers, topic, *(word for login in logins for word in login)])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def kcat(servers: str, topic: str, login: Login) -> tuple[int, str]:
    """How kcat ends that sends a record, and what it complains of."""
    mechanism, user, password = login
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }
    options = [word for name, value in settings.items() for word in ("-X", f"{name}={value}")]
    done = run(["kcat", "-b", servers, "-P", "-t", topic, *options, str(HERE / "record.txt")])
    return done.returncode, done.stderr


def librdkafka(servers: str, settings: Mapping[str, Any]) -> str:
    """What comes of a record that is sent to ``orders``: its topic, or the name of the first error."""
    heard: list[str] = []

    def delivered(error: Any, message: Any) -> None:
        heard.append(error.name() if error else message.topic())

    producer = Producer(
        {
            "bootstrap.servers": servers,
            "security.protocol": "SASL_PLAINTEXT",
            "error_cb": lambda error: heard.append(error.name()),
            "log_level": 0,
            **settings,
        }
    )
    producer.produce("orders", b"x", on_delivery=delivered)

    def has_ended() -> bool:
        producer.poll(0.1)
        return bool(heard)

    wait_until(has_ended, "a record that is delivered or refused", lambda: tuple(heard))
    producer.purge()
    producer.flush(1)
    return heard[0]
