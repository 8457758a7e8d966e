"""The client's side of SCRAM, word by word, as RFC 5802 has it."""

from __future__ import annotations

import base64
import hashlib
import hmac

NONCE = "clientnonce"


def first_token(user: str) -> bytes:
    """The first message."""
    return f"n,,n={user},r={NONCE}".encode()


def final_token(user: str, password: str, server_first: bytes, hash_name: str = "sha256") -> bytes:
    """The proof that belongs to what the server has said."""
    fields = dict(one.split("=", 1) for one in server_first.decode().split(","))
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    stored_key = hashlib.new(hash_name, client_key).digest()
    without_proof = f"c=biws,r={fields['r']}"
    message = f"n={user},r={NONCE},{server_first.decode()},{without_proof}".encode()
    signature = hmac.digest(stored_key, message, hash_name)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()
