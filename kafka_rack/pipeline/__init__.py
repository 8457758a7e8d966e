"""Spark jobs over captures of Kafka's wire: frames out of files, tables out of frames.

Each step is a function over plain values that runs without Spark; ``source``, ``session`` and ``job`` alone wire them
to Spark. Nothing is imported here, so that a worker loads what it runs and no more.
"""
