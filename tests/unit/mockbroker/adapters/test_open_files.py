"""A cluster takes as many connections as its user's limit allows, not as few as systems start programs with."""

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="this system has no such limit")

PROGRAM = """
import resource
from mockbroker.adapters.open_files import raise_open_files_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_open_files_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize("soft", [64, 300])
def test_the_limit_is_raised_to_what_the_user_may_have(soft):
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(soft=soft, hard=300)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["300", "300", "300"]
