"""Certificates' subjects, and what mapping rules make of them, beside Java's and Kafka's own classes."""

from __future__ import annotations

from pathlib import Path
from random import Random

from mockbroker.state.security.distinguished_names import name_of
from mockbroker.state.security.principal_mapping import NoMatchingRuleError, parse_rules
from tests.interop.fetched import java_program, skipped_without_tools
from tests.interop.java_brokers import LIGHT, broker_jars
from tests.progress import run

KINDS = {
    "550403": "CN",
    "550406": "C",
    "550407": "L",
    "550408": "ST",
    "550409": "STREET",
    "55040a": "O",
    "55040b": "OU",
    "0992268993f22c640101": "UID",
    "0992268993f22c640119": "DC",
    "550404": "surname",
    "550405": "serial number",
    "55040c": "title",
    "2a864886f70d010901": "e-mail",
    "2b0601040182c71f01": "nobody's",
}
TEXTS = {
    0x0C: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1B: "ascii",
    0x1C: "utf-32-be",
    0x1E: "utf-16-be",
}
SIGNS = ' ,=+<>#;"\\aZ09-/\r\n\tü東'
RULES = (
    "DEFAULT",
    "RULE:^CN=([^,]+).*$/$1/L,DEFAULT",
    "RULE:^CN=([^,]+),OU=([^,]+).*$/$1@$2/U",
    r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L, RULE:^OU=(.*)$/\$1-$1$2$10/",
    "RULE:.*/x/",
    "RULE:(.*)/<$1>/",
    r"RULE:^CN=(.*?),OU=ServiceUsers.*$/a\/$1/",
    "RULE:a/b",
    "RULE:a/b/X",
    "default",
    "",
)
NAMES = ("CN=Duke,OU=ServiceUsers,O=Sun\\, Inc.,C=US", "OU=x,CN=Dü.ke", "CN=a", "O=b", "")


def element(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([tag, size] if size < 0x80 else [tag, 0x82, size >> 8, size & 0xFF]) + content


def pair(rng: Random) -> bytes:
    kind = rng.choice(list(KINDS))
    tag = rng.choice(list(TEXTS))
    text = "".join(rng.choice(SIGNS) for _ in range(rng.randrange(1, 8)))
    value = element(tag, text.encode(TEXTS[tag], "ignore"))
    if rng.random() < 0.1:
        value = element(0x04, b"\x01\x02")  # no text at all
    return element(0x30, element(0x06, bytes.fromhex(kind)) + value)


def name(rng: Random) -> bytes:
    parts = [
        element(0x31, b"".join(pair(rng) for _ in range(rng.choice((1, 1, 1, 2))))) for _ in range(rng.randrange(4))
    ]
    return b"".join(parts)


def mapped(rules: str, said: str) -> str | None:
    try:
        return parse_rules(rules).name(said)
    except (ValueError, NoMatchingRuleError):
        return None


def test_names_and_rules_are_javas():
    with skipped_without_tools():
        program = java_program(Path(__file__).parent / "java" / "Names.java", broker_jars())
    rng = Random(14)
    names = [name(rng) for _ in range(2000)]
    cases = [(rules, said) for rules in RULES for said in NAMES]
    lines = [f"name {element(0x30, one).hex()}" for one in names]
    lines += [f"rule {rules.encode().hex()} {said.encode().hex()}" for rules, said in cases]
    done = run(["java", *LIGHT, *program], given="\n".join(lines) + "\n")
    said = [None if line.startswith("-") else bytes.fromhex(line).decode() for line in done.stdout.splitlines()]
    assert len(said) == len(lines), done.stderr
    javas = [(one.hex(), java) for one, java in zip(names, said, strict=False) if java is not None]
    assert len(javas) > 1000
    assert [(one, java, ours) for one, java in javas if (ours := name_of(bytes.fromhex(one))) != java] == []
    rules = zip(cases, said[len(names) :], strict=True)
    assert [(case, java, ours) for case, java in rules if (ours := mapped(*case)) != java] == []
