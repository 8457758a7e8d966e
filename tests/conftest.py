"""Common ground of all tests: where the fixtures are, and how hard Hypothesis tries.

Hypothesis profiles: ``default`` draws the same examples on every machine; ``nightly`` draws new ones each time, more of
them, and of every message (tests/families.py); ``fuzz`` draws very many.
Readers of fixtures/ that also work at collection time are in tests/fixture_data.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.fixture_data import FIXTURES

# No deadlines and no check of how fast examples are drawn: the first call of a codec compiles it, and a loaded machine
# is not a bug. All that differs where the variable CI is set is fixed, as a profile takes what it lacks from the last.
PATIENT = {
    "deadline": None,
    "database": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("default", **PATIENT, derandomize=True, max_examples=30)
settings.register_profile("nightly", **PATIENT, derandomize=False, max_examples=100)
settings.register_profile(
    "fuzz", **PATIENT | {"suppress_health_check": list(HealthCheck)}, derandomize=False, max_examples=2_000
)
settings.load_profile("default")  # Hypothesis itself would choose another where it finds the variable CI


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Keeps examples the same on every machine and in every choice of tests.

    Hypothesis also draws constants out of the modules of ours that are loaded, which depend on both; and to read them
    takes each process a second.
    """
    if settings().derandomize:
        providers._get_local_constants = Constants


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """The folder fixtures/."""
    return FIXTURES
