"""What went wrong at a store, in plain words: the libraries tell it in their own."""

from __future__ import annotations

import errno
import re

NO_CREDENTIALS = "the store refuses it: credentials are missing, wrong, or without the right to this"
REFUSED = (
    *("ACCESS_DENIED", "INVALID_ACCESS_KEY", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN", "status 40[13]"),
    *("AccessControlException", "Permission denied"),  # HDFS
    *("Could not create a OAuth2 access token", "PERMISSION_DENIED", "UNAUTHENTICATED"),  # GCS
    *("AuthenticationFailed", "AuthorizationFailure", "Failed to get token", "Base64 encoded string"),  # Azure
)
UNREACHED = ("NETWORK_CONNECTION", "Connection refused", "No NameNode hosts found")
REASONS = (
    (re.compile("NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound"), errno.ENOENT, "no such bucket"),
    (re.compile("|".join(REFUSED)), errno.EACCES, NO_CREDENTIALS),
    (re.compile("|".join(UNREACHED)), errno.ECONNREFUSED, "the store cannot be reached"),
)
DETAIL = re.compile(r"(?:curlCode: \d+, |operation: )(.+?)(?: \(Request ID|; Details|$)")


def told(error: OSError, name: str) -> OSError:
    """An error of a store's library with the name of what was asked for, and the reason.

    >>> error = OSError(
    ...     "When deleting key 'x' in bucket 'trace': AWS Error ACCESS_DENIED during DeleteObject operation"
    ... )
    >>> print(told(error, "s3a://trace/x"))
    [Errno 13] the store refuses it: credentials are missing, wrong, or without the right to this: 's3a://trace/x'
    """
    if error.filename is not None:
        return error
    text = " ".join(str(error).split())
    for pattern, number, reason in REASONS:
        if pattern.search(text):
            detail = DETAIL.search(text)
            told_more = f" ({detail[1].strip()})" if detail and number != errno.ENOENT else ""
            return OSError(number, f"{reason}{told_more}", name)
    return OSError(errno.EIO, text, name)
