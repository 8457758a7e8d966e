"""Speed and size, beside our peers: ``python -m tests.bench`` runs all, ``python -m tests.bench codec memory`` some."""
