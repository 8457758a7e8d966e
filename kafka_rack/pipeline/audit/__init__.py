"""Audits of a fleet: descriptions of clusters in, tables of violations, what-ifs and repairs out.

``reading``: files to clusters; ``what_if`` and ``rows``: a cluster's rows, as pure functions; ``job``: the same on
Spark; ``report``: what is left below a folder.
"""
