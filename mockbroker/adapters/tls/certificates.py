"""A certificate authority for tests, and the keys and certificates of brokers and clients.

Keys are elliptic (P-256): made in a millisecond, and known to Java, OpenSSL and Go alike. Nothing here is secret for
long: whoever has the authority's key can be anybody.
Source: RFC 5280; RFC 6125, by which clients compare a broker's address with the names in its certificate.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mockbroker.adapters.tls.stores import Identity, identity_of

LIFETIME = dt.timedelta(days=825)  # what some clients take at most
HALF_A_DAY = dt.timedelta(hours=12)  # for clocks that are slow
AUTHORITY_NAME = "kafka-rack test CA"
UNIT = "for tests only"
MAX_COMMON_NAME = 64


class CertificateAuthority:
    """Signs certificates.

    Args:
        identity: its own certificate and key; a new one without.
    """

    def __init__(self, identity: Identity | None = None) -> None:
        self.identity = identity if identity is not None else new_authority()
        self._certificate = x509.load_pem_x509_certificate(self.identity.certificate.encode())
        key = load_pem_private_key(self.identity.key.encode(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != self._certificate.public_key():
            raise ValueError("the authority's key: expected the elliptic one of its certificate, got another")
        self._key = key

    @property
    def pem(self) -> str:
        """Its certificate, which verifies those that it has signed."""
        return self.identity.certificate

    def server(self, hosts: Iterable[str]) -> Identity:
        """A key for brokers that clients know by these names and addresses."""
        found = list(dict.fromkeys(hosts))
        names = x509.SubjectAlternativeName([alternative_name(host) for host in found])
        return self.issue(common_name(found[0]), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, name: str) -> Identity:
        """A key for a client; its principal is ``User:CN=name``."""
        return self.issue(common_name(name), ExtendedKeyUsageOID.CLIENT_AUTH)

    def issue(self, subject: x509.Name, usage: x509.ObjectIdentifier, *names: x509.ExtensionType) -> Identity:
        """A key with a certificate for a subject."""
        return signed(
            subject,
            ec.generate_private_key(ec.SECP256R1()),
            self._certificate.subject,
            self._key,
            x509.BasicConstraints(ca=False, path_length=None),
            x509.ExtendedKeyUsage([usage]),
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
            *names,
        )


def new_authority() -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY_NAME),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, UNIT),
        ]
    )
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    return signed(name, key, name, key, x509.BasicConstraints(ca=True, path_length=0), usage)


def signed(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    *extensions: x509.ExtensionType,
) -> Identity:
    """A key with its certificate."""
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - HALF_A_DAY)
        .not_valid_after(now + LIFETIME)
    )
    for one in (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), *extensions):
        builder = builder.add_extension(one, critical=isinstance(one, x509.BasicConstraints | x509.KeyUsage))
    return identity_of(key, [builder.sign(issuer_key, SHA256())])


def common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:MAX_COMMON_NAME])])


def alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host.encode("idna").decode("ascii") if not host.isascii() else host)
