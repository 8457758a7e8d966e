"""Common ground of all tests: where the fixtures are, and how hard Hypothesis tries.

Hypothesis profiles: ``dev`` (the default), ``ci`` (the same examples each time; taken where CI is set), ``quick`` (few
of them; ``make check``) and ``fuzz`` (many new ones, when asked for).
Readers of fixtures/ that also work at collection time are in tests/fixture_data.py.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.fixture_data import FIXTURES

# No deadlines and no check of how fast examples are drawn: the first call of a codec compiles it, and a loaded machine
# is not a bug.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", **PATIENT)
settings.register_profile("ci", **PATIENT, derandomize=True, print_blob=True)
settings.register_profile("quick", **PATIENT, derandomize=True, max_examples=5, stateful_step_count=20)
settings.register_profile(
    "fuzz", deadline=None, max_examples=2_000, print_blob=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """The folder fixtures/."""
    return FIXTURES
