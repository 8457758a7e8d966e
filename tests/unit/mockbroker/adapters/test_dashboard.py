"""The dashboard's files fit together, and obey the policy that they are served with."""

from __future__ import annotations

import json
import re

import pytest

from mockbroker.adapters.dashboard import FOLDER, HEADERS, STATIC, names, static_files

MODULES = sorted(STATIC.glob("*.js"))
PAGE = (STATIC / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_what_a_module_imports_is_served(module):
    for name in re.findall(r'from "\./(.*?)"|URL\("([\w.]+)"', module.read_text(encoding="utf-8")):
        assert FOLDER + "".join(name) in static_files()


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_module_makes_html_or_code_of_text(module):
    makers = (
        r"(?:inner|outer)HTML|insertAdjacentHTML|document\.write|DOMParser|ContextualFragment|\beval\(|new Function"
    )
    assert re.findall(makers, module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_elements_that_modules_ask_for_are_on_the_page(module):
    asked = re.findall(r'byId\("([\w-]+)"\)', module.read_text(encoding="utf-8"))
    assert set(asked) <= set(re.findall(r'\bid="([\w-]+)"', PAGE))


def test_the_page_has_nothing_that_its_policy_forbids():
    assert re.findall(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)|https?://|javascript:", PAGE) == []
    assert HEADERS["content-security-policy"].startswith("default-src 'self';")


def test_ids_are_there_once():
    found = re.findall(r'\bid="([\w-]+)"', PAGE)
    assert len(found) == len(set(found))


def test_the_page_names_what_kafka_names():
    found = json.loads(static_files()[f"{FOLDER}names.json"].body)
    assert found == names()
    assert {"Fetch", "Produce", "ShareFetch"} & set(found["apis"]) >= {"Fetch", "Produce"}
    assert "NOT_LEADER_OR_FOLLOWER" in found["errors"]
    assert "NONE" not in found["errors"], "that is no error to inject"
    assert found["reasons"]["no_client_rack"]["avoidable"] == "yes"
