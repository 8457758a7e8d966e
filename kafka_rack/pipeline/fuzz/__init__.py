"""Compatibility fuzzing at scale: messages generated from declarations, checked against each available codec.

All but ``java`` runs without Spark.
"""
