"""Certificates' subjects, and what mapping rules make of them, beside Java's and Kafka's own classes."""

from __future__ import annotations

from pathlib import Path
from random import Random

from cryptography.x509 import Name, NameAttribute, ObjectIdentifier, RelativeDistinguishedName

from mockbroker.state.security.principal_mapping import mapped_name, name_of, parse_rules
from tests.interop.fetched import java_program, skipped_without_tools
from tests.interop.java_brokers import LIGHT, broker_jars
from tests.progress import run

KINDS = (
    *("2.5.4.3", "2.5.4.6", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.10", "2.5.4.11"),
    *("0.9.2342.19200300.100.1.1", "0.9.2342.19200300.100.1.25"),  # UID, DC: the last that RFC 2253 has a keyword for
    *("2.5.4.4", "2.5.4.5", "2.5.4.12", "1.2.840.113549.1.9.1", "1.3.6.1.4.1.58271"),
)
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


def attribute(kind: str, rng: Random) -> NameAttribute[str]:
    is_country = kind == "2.5.4.6"  # two bytes
    signs, size = (SIGNS[:-2], 2) if is_country else (SIGNS, rng.randrange(1, 8))
    return NameAttribute(ObjectIdentifier(kind), "".join(rng.choice(signs) for _ in range(size)))


def name(rng: Random) -> Name:
    kinds = [rng.sample(KINDS, rng.choice((1, 1, 1, 2))) for _ in range(rng.randrange(4))]
    parts = [sorted((attribute(kind, rng) for kind in part), key=in_der) for part in kinds]
    return Name([RelativeDistinguishedName(part) for part in parts])


def in_der(attribute: NameAttribute[str]) -> bytes:
    """DER orders the attributes of a part by their bytes, so a name that is read from a certificate has that order."""
    return Name([attribute]).public_bytes()


def mapped(rules: str, said: str) -> str | None:
    try:
        return mapped_name(parse_rules(rules), said)
    except ValueError:
        return None


def test_names_and_rules_are_javas():
    with skipped_without_tools():
        program = java_program(Path(__file__).parent / "java" / "Names.java", broker_jars())
    rng = Random(14)
    names = [name(rng) for _ in range(2000)]
    cases = [(rules, said) for rules in RULES for said in NAMES]
    lines = [f"name {one.public_bytes().hex()}" for one in names]
    lines += [f"rule {rules.encode().hex()} {said.encode().hex()}" for rules, said in cases]
    done = run(["java", *LIGHT, *program], given="\n".join(lines) + "\n")
    said = [None if line.startswith("-") else bytes.fromhex(line).decode() for line in done.stdout.splitlines()]
    assert len(said) == len(lines), done.stderr
    javas = [(one, java) for one, java in zip(names, said, strict=False) if java is not None]
    assert len(javas) > 1000
    assert [(java, ours) for one, java in javas if (ours := name_of(one)) != java] == []
    rules = zip(cases, said[len(names) :], strict=True)
    assert [(case, java, ours) for case, java in rules if (ours := mapped(*case)) != java] == []
