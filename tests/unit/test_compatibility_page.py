"""docs/compatibility.md says what is run: its rows are the clients of the matrix, and every cell is held."""

from __future__ import annotations

import pytest

from tests.interop.matrix import page
from tests.interop.matrix.clients import CLIENTS


@pytest.mark.parametrize("target", ["kafka-rack", "kafka", "proxy"])
def test_the_tables_have_each_client_and_all_that_it_can_do(target):
    all_held = {name: dict.fromkeys(client.scenarios, "") for name, client in CLIENTS.items()}
    assert page.between(target) == page.table(all_held, target)


def test_what_a_client_lacks_is_told_with_its_reason():
    assert page.between("lacks") == page.lacking()
