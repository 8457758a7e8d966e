"""One browser for all of these tests; each has a cluster of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import Page, chromium, missing
from tests.browser.cluster_process import Served, serving

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    lacking = missing()
    if lacking is not None:
        pytest.skip(lacking)
    with chromium() as started:
        yield started


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Runs clusters until the test ends: ``serve("--topic", "orders:6:3")``."""
    with ExitStack() as stack:
        yield lambda *options, **more: stack.enter_context(serving(tmp_path, *options, **more))


@pytest.fixture
def dashboard(browser: Chrome) -> Callable[[Served], Page]:
    """Opens the dashboard of a cluster in a window as it was at first."""

    def open_page(served: Served, fragment: str = "") -> Page:
        page = Page(browser, served.address)
        page.look(1440, 1000)
        page.open(fragment)
        page.complaints()
        return page

    return open_page
