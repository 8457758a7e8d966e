"""Spark jobs over captures of Kafka's wire: frames out of files, tables out of frames.

Each step is a function over batches that runs without Spark; ``route``, ``tables``, ``session`` and the jobs wire them
to Spark. Nothing is imported here, so that a worker loads only what it runs.
"""
