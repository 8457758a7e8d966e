"""Compatibility fuzzing by the million: messages made from declarations, held to each codec that can judge them.

Everything but ``java`` runs without Spark.
"""
