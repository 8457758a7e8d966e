"""Spark jobs over captures of Kafka's wire: frames out of files, tables out of frames.

Each step is a function over batches that runs without Spark; ``route``, ``tables``, ``session`` and the jobs connect
them to Spark. This module imports nothing, so that a worker loads only the code that it runs.
"""
