"""The earlier name of kafka_rack.pipeline.decode.job."""

from kafka_rack.pipeline.decode.job import decode

__all__ = ["decode"]
