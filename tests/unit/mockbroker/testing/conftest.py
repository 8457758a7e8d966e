from __future__ import annotations

import pytest

from tests.unit.mockbroker.testing.plugin_project import project_of


@pytest.fixture
def project(pytester):
    """Makes test files that have clients, in a project with settings of its own, and runs them."""
    return project_of(pytester)
