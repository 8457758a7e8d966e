"""What ``kafka-rack check`` and ``kafka-rack pipeline check`` share: their options, and how what was found is shown."""
