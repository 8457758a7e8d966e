"""The limit of open files, which includes sockets."""

from __future__ import annotations

LARGEST = 1 << 20  # enough for any test, and what kernels allow by default


def raise_open_files_limit() -> int | None:
    """Raise the limit of open files to its maximum, and return it; None without a limit.

    Most systems start a program with 1,024, and a cluster needs one for each connection.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = LARGEST if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < most:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        except (OSError, ValueError):  # macOS refuses some numbers below what it calls the limit
            return int(soft)
        return int(most)
    return int(soft)
