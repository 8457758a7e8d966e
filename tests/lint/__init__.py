"""Checks of the source and of the pages that run no product code path: ``python -m tests.lint``, part of `make lint`.

A check is a generator over a ``Project``. It yields one sentence per fault: where, what is wrong, what would be right.

- ``imports``: who may import what.
- ``source``: rules over the text of modules.
- ``paths``: files, links and folders that prose names.
- ``pages``: tables and lists in pages against the objects of the code that they show.
- ``packaging``: Containerfile, pyproject.toml, fixtures.
- ``words``: phrases in pages that plain English has better ones for.
"""
