"""Subjects as Java's X500Principal.getName writes them; interop/test_tls_beside_java.py compares more of them."""

from __future__ import annotations

import pytest
from cryptography.x509 import Name, NameAttribute, ObjectIdentifier, RelativeDistinguishedName
from cryptography.x509.oid import NameOID

from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.state.security.principal_mapping import CertificateError, name_of, subject_of

ROOM = ObjectIdentifier("1.3.6.1.4.1.99999.1")


def written(*pairs: tuple[ObjectIdentifier, str] | NameAttribute[str]) -> str:
    attributes = [pair if isinstance(pair, NameAttribute) else NameAttribute(*pair) for pair in pairs]
    return name_of(Name(attributes))


def test_the_last_part_stands_first():
    assert (
        written((NameOID.COUNTRY_NAME, "SE"), (NameOID.ORGANIZATION_NAME, "Example"), (NameOID.COMMON_NAME, "alice"))
        == "CN=alice,O=Example,C=SE"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("Sue, Grabbit and Runn", r"Sue\, Grabbit and Runn"),  # RFC 2253, section 5
        ('a+b=c<d>e#f;g"h\\i', r"a\+b\=c\<d\>e\#f\;g\"h\\i"),
        ("  two each  ", r"\ \ two each\ \ "),
        ("Lučić", "Lučić"),
        ("東京", "東京"),
        ("a\0b", r"a\00b"),
    ],
)
def test_signs_that_mean_something_are_escaped(value, said):
    assert written((NameOID.COMMON_NAME, value)) == f"CN={said}"


def test_what_rfc_2253_has_no_word_for_stands_by_its_number_in_hex():
    mail = NameAttribute(NameOID.EMAIL_ADDRESS, "a@b")
    assert written(mail, (NameOID.COMMON_NAME, "x")) == "CN=x,1.2.840.113549.1.9.1=#1603614062"
    assert written((ROOM, "7")) == "1.3.6.1.4.1.99999.1=#0c0137"
    assert written((ROOM, "7" * 200)) == "1.3.6.1.4.1.99999.1=#0c81c8" + "37" * 200


def test_parts_of_several_pairs_keep_their_order():
    pairs = [NameAttribute(NameOID.COMMON_NAME, "x"), NameAttribute(NameOID.USER_ID, "7")]
    assert name_of(Name([RelativeDistinguishedName(pairs)])) == "CN=x+UID=7"


def test_bytes_that_are_no_certificate_are_refused_and_not_more():
    from ssl import PEM_cert_to_DER_cert

    der = PEM_cert_to_DER_cert(CertificateAuthority().client("alice").certificate)
    assert subject_of(der) == "CN=alice"
    for end in range(len(der)):
        with pytest.raises(CertificateError):
            subject_of(der[:end])
