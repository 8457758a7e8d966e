"""Keys, certificates and stores for tests of TLS."""

from __future__ import annotations

import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.adapters.tls.stores import Identity

PASSWORD = "tell-nobody"
LOCAL = ("127.0.0.1", "localhost")


def inline(identity: Identity, authority: CertificateAuthority | None = None) -> dict[str, str]:
    """The settings of a listener with this key, and the authority that judges its clients."""
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": identity.key,
        "ssl.keystore.certificate.chain": identity.certificate,
    }
    if authority is not None:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.pem}
    return settings


def key_store(path: Path, identity: Identity, password: str = PASSWORD) -> Path:
    """A key store in PKCS#12."""
    certificate = x509.load_pem_x509_certificate(identity.certificate.encode())
    key = load_pem_private_key(identity.key.encode(), None)
    path.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"kafka", key, certificate, None, BestAvailableEncryption(password.encode())
        )
    )
    return path


def broker_stores(folder: Path, authority: CertificateAuthority) -> dict[str, str]:
    """Kafka's settings of a broker on this machine that asks clients for certificates; its stores are in the folder."""
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(key_store(folder / "server.p12", authority.server(LOCAL))),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(trust_store(folder / "trust.p12", authority)),
        "ssl.truststore.password": PASSWORD,
        "ssl.client.auth": "required",
    }


def trust_store(path: Path, authority: CertificateAuthority, password: str = PASSWORD) -> Path:
    """A trust store in PKCS#12, as Java reads it."""
    certificate = x509.load_pem_x509_certificate(authority.pem.encode())
    entry = pkcs12.PKCS12Certificate(certificate, b"ca")
    path.write_bytes(pkcs12.serialize_java_truststore([entry], BestAvailableEncryption(password.encode())))
    return path


def client_context(
    authority: CertificateAuthority, identity: Identity | None = None, folder: Path | None = None
) -> ssl.SSLContext:
    """What a client connects with, and with a certificate of its own where one is given."""
    context = ssl.create_default_context(cadata=authority.pem)
    if identity is not None:
        assert folder is not None
        file = folder / "client.pem"
        file.write_text(identity.key + identity.certificate)
        context.load_cert_chain(file)
    return context
