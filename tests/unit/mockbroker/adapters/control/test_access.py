"""Who may ask: the machine's own programs and the dashboard, elsewhere who has the token, and no page of another."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from mockbroker.adapters.control import ControlServer
from tests.plain_http import PLAIN_HTTP

TOKEN = "a-token-of-some-length"
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def guarded(cluster) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a control API that asks for a token; it keeps no cookies by itself."""
    async with (
        ControlServer(cluster, token=TOKEN) as control,
        httpx.AsyncClient(base_url=control.url, timeout=None, **PLAIN_HTTP) as http,
    ):
        yield http


# names that somebody else may have pointed here


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "a b", "[::1", "x@127.0.0.1"),
        *("evil.local", "evil.internal", "kafka", "10.0.0.7"),
    ],
)
async def test_a_name_that_a_stranger_may_have_pointed_here_is_refused(http, host):
    response = await http.get("/cluster", headers={"host": host})
    assert response.status_code in {400, 403}
    assert b"brokers" not in response.content


@pytest.mark.parametrize("host", ["localhost:1", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "[::1]:80", "app.localhost"])
async def test_the_machines_own_names_are_served(http, host):
    assert (await http.get("/cluster", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("host", ["localhost:1", "kafka", "kafka.internal", "10.0.0.7"])
async def test_with_a_token_so_are_names_that_no_public_dns_has(guarded, host):
    assert (await guarded.get("/cluster", headers={"host": host, **BEARER})).status_code == 200
    assert (await guarded.get("/cluster", headers={"host": "evil.example", **BEARER})).status_code == 403


async def test_a_name_that_was_allowed_is_served(cluster):
    async with (
        ControlServer(cluster, names=["lab.example.com"]) as control,
        httpx.AsyncClient(base_url=control.url, timeout=None, **PLAIN_HTTP) as http,
    ):
        assert (await http.get("/healthz", headers={"host": "lab.example.com:80"})).status_code == 200


# pages


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "content-type": "text/plain"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"host": "evil.local", "origin": "http://evil.local"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    ],
)
async def test_a_page_of_another_origin_stops_nothing_and_is_told_what_would_be_right(http, cluster, headers):
    response = await http.post("/racks/a/stop", headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (403, "application/problem+json")
    assert ": expected " in response.json()["detail"]
    assert cluster.state.brokers[0].online


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    ],
)
async def test_it_reads_nothing_either_not_as_a_script_nor_in_a_frame(http, headers):
    assert (await http.get("/cluster", headers=headers)).status_code == 403


async def test_a_person_may_follow_a_link_to_the_dashboard(http):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert (await http.get("/", headers=headers)).status_code == 200


async def test_the_dashboards_own_page_may_command(http, control):
    headers = {"origin": f"http://127.0.0.1:{control.port}", "sec-fetch-site": "same-origin"}
    assert (await http.post("/racks/a/stop", headers=headers)).status_code == 200


@pytest.mark.parametrize("path", ["/", "/cluster", "/nothing", "/dashboard/app.js", "/healthz"])
async def test_no_answer_may_be_framed_or_taken_for_a_script(http, path):
    headers = (await http.get(path)).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe-inline" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


# the token


@pytest.mark.parametrize(
    ("headers", "met"),
    [
        ({}, "got none"),
        ({"authorization": "Bearer"}, "got another one"),
        ({"authorization": f"Bearer {TOKEN}x"}, "got another one"),
        ({"authorization": b"Bearer \xe9"}, "got another one"),
        ({"authorization": "Basic dXNlcjpwYXNz"}, "got 'Basic'"),
        ({"cookie": "kafka-rack-0=x; ="}, "got none"),
    ],
)
async def test_who_does_not_show_the_token_is_refused(guarded, cluster, headers, met):
    response = await guarded.post("/racks/a/stop", headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert met in response.json()["detail"]
    assert cluster.state.brokers[0].online
    assert (await guarded.get("/metrics", headers=headers)).status_code == 401
    assert (await guarded.get("/dashboard/app.js", headers=headers)).status_code == 401


async def test_who_shows_it_is_served(guarded):
    assert (await guarded.get("/cluster", headers=BEARER)).status_code == 200
    assert (await guarded.post("/racks/a/stop", headers={"authorization": f"bearer  {TOKEN}"})).status_code == 200


async def test_the_token_does_not_excuse_a_foreign_origin(guarded):
    headers = {**BEARER, "origin": "http://evil.example"}
    assert (await guarded.post("/racks/a/stop", headers=headers)).status_code == 403


async def test_a_probe_needs_none(guarded):
    assert (await guarded.get("/healthz")).json() == {"status": "ok"}


async def test_a_browser_that_brings_it_gets_a_cookie_that_scripts_cannot_read_and_that_is_not_the_token(guarded):
    response = await guarded.get("/", params={"token": TOKEN})
    assert (response.status_code, response.headers["location"]) == (303, "/")
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert TOKEN not in cookie
    guarded.cookies = response.cookies
    assert (await guarded.get("/")).status_code == 200
    assert (await guarded.post("/racks/a/stop")).status_code == 200


async def test_a_browser_without_it_is_asked_for_it(guarded):
    for query in ("", f"?token={TOKEN}x", "?token="):
        response = await guarded.get(f"/{query}", headers={"accept": "text/html,*/*"})
        assert response.status_code == 401
        assert b'name="token"' in response.content
        assert "set-cookie" not in response.headers
    assert (await guarded.get("/")).headers["content-type"] == "application/problem+json"


async def test_where_others_reach_it_there_is_a_token_also_if_none_was_given(cluster):
    tokens = set()
    for _ in range(2):
        async with (
            ControlServer(cluster, host="0.0.0.0") as control,
            httpx.AsyncClient(timeout=None, **PLAIN_HTTP) as http,
        ):
            assert control.access.token is not None
            tokens.add(control.access.token)
            url = f"http://127.0.0.1:{control.port}/cluster"
            assert (await http.get(url)).status_code == 401
            shown = {"authorization": f"Bearer {control.access.token}"}
            assert (await http.get(url, headers=shown)).status_code == 200
    assert len(tokens) == 2


@pytest.mark.parametrize("host", ["", "::", "10.0.0.7", "kafka"])
def test_every_address_but_loopbacks_counts_as_one_that_others_reach(cluster, host):
    assert ControlServer(cluster, host=host).access.token


async def test_loopback_has_none_unless_it_is_given(control):
    assert control.access.token is None


@pytest.mark.parametrize("token", ["", "short", "with a space in it!!", "x" * 513, "newline-in-the-mid\ndle"])
def test_a_token_that_could_be_guessed_or_not_be_sent_is_refused(cluster, token):
    with pytest.raises(ValueError, match="expected 16 to 512 visible ASCII characters"):
        ControlServer(cluster, token=token)
