"""The jobs of ``kafka-rack pipeline``, one module each, and what they share."""
