"""Audits of a fleet: descriptions of clusters in, tables of violations, what-ifs and repairs out.

``descriptions``: files to clusters; ``rows``: a cluster's rows, as pure functions; ``job``: the same on Spark, with the
output files.
"""
