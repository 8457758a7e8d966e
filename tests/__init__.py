"""Tests. A package only so that ``from tests.fixture_data import ...`` and ``python -m tests.bench`` find it."""
