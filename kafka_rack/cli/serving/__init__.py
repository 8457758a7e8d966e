"""The parts that ``serve`` and ``proxy`` share: both run until a signal, and print where they are."""
