"""What ``dir``, ``help`` and mypy show of :mod:`protocol`."""

from __future__ import annotations

import pydoc
import subprocess
import sys
import textwrap

import pytest

import protocol


def test_dir_shows_what_is_public_and_nothing_else():
    assert sorted(dir(protocol)) == sorted(protocol.__all__)


def test_each_public_name_is_documented():
    values = {name: getattr(protocol, name) for name in protocol.__all__}
    assert [name for name, value in values.items() if not value.__doc__ and name != "ZERO_UUID"] == []


def test_help_shows_each_public_name_and_nothing_private():
    shown = pydoc.render_doc(protocol, renderer=pydoc.plaintext)
    described = shown.partition("\nCLASSES\n")[2]
    assert [name for name in protocol.__all__ if name not in described] == []
    assert [name for name in ("TYPE_CHECKING", "_MODULES", "__getattr__") if name in described] == []


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'protocol' has no attribute 'decoed'"):
        protocol.decoed  # noqa: B018 - the looking up is what is tested


def test_mypy_sees_the_types_of_what_is_loaded_lazily(tmp_path):
    program = tmp_path / "user.py"
    program.write_text(
        textwrap.dedent("""
        import protocol
        reveal_type(protocol.decode)
        reveal_type(protocol.encode)
        reveal_type(protocol.FrameReader().feed)
        protocol.decoed
        """)
    )
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", program],
        check=False,  # it finds the fault that is there
        capture_output=True,
        text=True,
    )
    assert '"def (api_key: int, kind: str, version: int, data: bytes, *, trailing: str =) -> Any"' in ran.stdout
    assert '"def (message: Any, version: int) -> bytes"' in ran.stdout
    assert '"def (data: bytes) -> list[bytes]"' in ran.stdout
    assert 'Module has no attribute "decoed"' in ran.stdout
