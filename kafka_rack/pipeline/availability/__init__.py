"""Availability over grids of clusters: points, their work spread over Spark, tables and curves."""
