"""Uuids as Kafka prints them: URL-safe base64 without padding. A message holds the plain sixteen bytes."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

ZERO_UUID = bytes(16)


def uuid_to_text(uuid: bytes) -> str:
    """
    >>> uuid_to_text(ZERO_UUID)
    'AAAAAAAAAAAAAAAAAAAAAA'
    """
    return urlsafe_b64encode(uuid).rstrip(b"=").decode()


def uuid_from_text(text: str) -> bytes:
    """The sixteen bytes.

    Raises: ValueError: the text is no uuid.
    """
    uuid = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(uuid) != 16:
        raise ValueError(f"{text!r} is {len(uuid)} bytes, a uuid has 16")
    return uuid
