"""What ``serve`` and ``proxy`` have in common: they run until a signal, and say where they are."""
