"""A real Chromium without a window, and what tests ask it: elements by role and name, as a person would find them."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.progress import wait_until

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
ASKING_S = 0.25
NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = "apt-get install chromium chromium-driver"


def missing() -> str | None:
    """What a machine lacks to run a browser, and how to get it; None if it has all."""
    try:
        import selenium  # noqa: F401  only whether it is there
    except ImportError:
        return "selenium: pip install --editable '.[dev]'"
    if next(filter(None, map(shutil.which, NAMES)), None) is None:
        return f"Chromium: {INSTALL}"
    return None if shutil.which("chromedriver") else f"chromedriver: {INSTALL}"


@contextmanager
def chromium() -> Iterator[Chrome]:
    """A browser with a profile of its own that nobody used before."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, NAMES)))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size=1440,1000"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = Service(
            shutil.which("chromedriver"), log_output=subprocess.DEVNULL, env={**os.environ, "HOME": profile}
        )
        browser = Chrome(options=options, service=service)
        try:
            yield browser
        finally:
            browser.quit()


class Page:
    """The dashboard of one cluster in a browser."""

    def __init__(self, browser: Chrome, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, fragment: str = "") -> None:
        """Load the page anew, and wait until it is live."""
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}/{fragment}")
        self.wait(lambda: self.script("return document.body.dataset.connection") == "live", "a live page")
        self.wait(lambda: self.script("return document.querySelector('.rack') !== null"), "the racks")

    def script(self, text: str, *arguments: Any) -> Any:
        return self.browser.execute_script(text, *arguments)

    def wait(self, done: Callable[[], object], what: str) -> None:
        """Wait until ``done()``, asked a few times a second: what asking costs must not look like work going on."""
        next_s = 0.0

        def ask() -> object:
            nonlocal next_s
            if time.monotonic() < next_s:
                return False
            found = done()
            next_s = time.monotonic() + ASKING_S
            return found

        wait_until(ask, what)

    def one(self, selector: str) -> WebElement:
        """The element of a CSS selector."""
        from selenium.webdriver.common.by import By

        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        from selenium.webdriver.common.by import By

        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def buttons(self) -> dict[str, WebElement]:
        """The buttons that can be seen, by the name that the browser tells assistive technology."""
        from selenium.common.exceptions import StaleElementReferenceException

        found = {}
        for button in self.all("button:not([hidden])"):
            with suppress(StaleElementReferenceException):  # it has just gone
                if button.is_displayed():
                    found[button.accessible_name] = button
        return found

    def button(self, name: str) -> WebElement:
        """A button by its accessible name, once it is there and enabled."""
        found: dict[str, WebElement] = {}

        def is_there() -> bool:
            found.update(self.buttons())
            return name in found and found[name].is_enabled()

        self.wait(is_there, f"the button {name}")
        return found[name]

    def text(self, selector: str) -> str:
        return str(self.script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def rows(self, table: str) -> list[list[str]]:
        """The text of a table's cells."""
        script = """
            return [...document.querySelectorAll(arguments[0] + " tbody tr")]
                .map((row) => [...row.cells].map((cell) => cell.innerText.trim()));
        """
        return list(self.script(script, table))

    def press(self, *keys: str) -> None:
        """Keys for whatever has the focus."""
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def focused_name(self) -> str:
        """The accessible name of what has the focus."""
        return str(self.browser.switch_to.active_element.accessible_name)

    def tab_to(self, name: str, most: int = 80) -> None:
        """Go to a control by the Tab key alone."""
        from selenium.webdriver.common.keys import Keys

        met = []
        for _ in range(most):
            self.press(Keys.TAB)
            met.append(self.focused_name())
            if met[-1] == name:
                return
        raise AssertionError(f"expected Tab to come to {name!r}, met {met}")

    def look(self, width: int, height: int, scheme: str = "light") -> None:
        """The size of the window, and whether the system says dark or light."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.drawn()

    def drawn(self) -> None:
        """Wait for two more frames."""
        self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def picture(self, file: Path, width: int, height: int, scale: float) -> None:
        """A PNG of the page from its upper left, smaller by a scale."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        found = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
        file.write_bytes(base64.b64decode(found["data"]))

    def complaints(self) -> list[str]:
        """What the browser's console has had to complain about since the last look."""
        return [f"{one['level']}: {one['message']}" for one in self.browser.get_log("browser")]
