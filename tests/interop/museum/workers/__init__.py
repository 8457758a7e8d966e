"""The programs that are run with a pinned version of a client, each in its language."""
