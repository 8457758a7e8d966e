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
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mockbroker.adapters.tls.stores import Identity

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
        return self.issue(x509.Name([common_name(found[0])]), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, name: str) -> Identity:
        """A key for a client; its principal is ``User:CN=name``."""
        return self.issue(x509.Name([common_name(name)]), ExtendedKeyUsageOID.CLIENT_AUTH)

    def issue(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None = None
    ) -> Identity:
        """A key with a certificate for a subject."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            unsigned(subject, self._certificate.subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return identity_of(builder.sign(self._key, SHA256()), key)


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
    builder = (
        unsigned(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    return identity_of(builder.sign(key, SHA256()), key)


def unsigned(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - HALF_A_DAY)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def identity_of(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Identity:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Identity(certificate.public_bytes(Encoding.PEM).decode(), pem)


def common_name(text: str) -> x509.NameAttribute[str]:
    return x509.NameAttribute(NameOID.COMMON_NAME, text[:MAX_COMMON_NAME])


def alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host.encode("idna").decode("ascii") if not host.isascii() else host)
