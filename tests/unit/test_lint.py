"""``python -m tests.lint``: each check finds the fault that it is for, and says where it is."""

from __future__ import annotations

import pytest

from tests.lint import imports, outside_text, packaging, pages, paths, source, words
from tests.lint.__main__ import CHECKS, main
from tests.lint.project import ROOT, Project

LADDER = '[[tool.importlinter.contracts]]\nid = "ladder"\nlayers = ["(mockbroker.core) | (mockbroker.state)"]\n'


@pytest.fixture
def made_of(tmp_path):
    """A project that consists of the texts alone."""
    return lambda texts: Project(tmp_path, texts)


def with_change(path: str, old: str, new: str) -> Project:
    """This checkout, but for one text in one file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    assert old in text
    return Project(texts={path: text.replace(old, new)})


SOURCE = [
    (
        imports.only_adapters_touch_the_world,
        {"mockbroker/core/a.py": "import time\n", "mockbroker/adapters/a.py": "import time\n"},
        ["mockbroker/core/a.py:1: imports time; pass time or data as arguments"],
    ),
    (
        imports.only_adapters_touch_the_world,
        {"mockbroker/core/a.py": "def f():\n    if 1:\n        from random import Random, choice\n"},
        ["mockbroker/core/a.py:3: imports random.choice; take a seeded Random as an argument"],
    ),
    (
        imports.only_adapters_touch_the_world,
        {
            "mockbroker/proxy/a.py": "from mockbroker.adapters.server import Node\n",
            "mockbroker/proxy/adapters/a.py": "from mockbroker.adapters.server import Node\n",
        },
        ["mockbroker/proxy/a.py:1: imports mockbroker.adapters.server.Node; only adapters import adapters"],
    ),
    (
        outside_text.patterns_are_fixed_and_linear,
        {
            "mockbroker/core/a.py": "import re\nA = re.compile('(a+)+b')\n\n"
            "def f(x, y):\n    A.match(x)\n    re.match(y, x)\n"
        },
        [
            "mockbroker/core/a.py:6: re.match of y; use re2 for a pattern from outside",
            "mockbroker/core/a.py:2: match of '(a+)+b' is not linear in 'a' after ''; bound it",
        ],
    ),
    (
        outside_text.patterns_are_fixed_and_linear,
        {"mockbroker/core/a.py": "import re\nA = re.compile(r'\\s*(?:,\\s*|$)')\nB = A.split('')\n"},
        ["mockbroker/core/a.py:2: split of '\\\\s*(?:,\\\\s*|$)' is not linear in ' ' after ''; bound it"],
    ),
    (
        outside_text.numbers_have_bounded_digits,
        {
            "mockbroker/core/a.py": "import re\nA = re.compile('[0-9]+')\nB = re.compile('x([0-9]+)')\n\n"
            "def f(x):\n    return int(x) if A.fullmatch(x) else 0\n\n"
            "def g(x):\n    return int(x) if x.isdecimal() else 0\n\n"
            "def h(x):\n    return int(x) if x.isdecimal() and len(x) < 9 else 0\n"
        },
        [
            "mockbroker/core/a.py:3: 'x([0-9]+)' captures a number of any length; bound its digits: {1,10}",
            "mockbroker/core/a.py:6: int(x) of digits without end; bound len(x)",
            "mockbroker/core/a.py:9: int(x) of digits without end; bound len(x)",
        ],
    ),
    (
        outside_text.buffers_have_bounded_sizes,
        {
            "mockbroker/proxy/a.py": "async def f(s):\n    n = size(await s.readexactly(4))\n"
            "    await s.readexactly(n)\n\n"
            "async def g(s, n):\n    if n > MOST:\n        raise E\n    await s.readexactly(n)\n"
        },
        ["mockbroker/proxy/a.py:3: s.readexactly(n) has a size without a limit; compare it with one"],
    ),
    (
        imports.state_imports_no_requests_and_the_image_nothing_of_ours,
        {
            "mockbroker/state/image.py": "from .logs import log\n",
            "mockbroker/state/b.py": "import re\n",
        },
        ["mockbroker/state/image.py:1: imports mockbroker.state.logs.log; the image may import protocol alone"],
    ),
    (
        imports.no_import_cycles,
        {
            "protocol/a.py": "from protocol import b\n",
            "protocol/b.py": "from protocol.a import x\n",
            "protocol/c.py": "import protocol.d\n",
            "protocol/d.py": "def late():\n    import protocol.c\n",
        },
        ["protocol.a imports protocol.b imports protocol.a: a cycle; move what both need"],
    ),
    (
        imports.each_module_is_on_the_ladder,
        {"mockbroker/core/a.py": "", "mockbroker/new/a.py": "", "pyproject.toml": LADDER},
        ["mockbroker/new/a.py: on no rung of the ladder in pyproject.toml; add mockbroker.new.a"],
    ),
    (
        source.public_classes_have_names_of_their_own,
        {"protocol/a.py": "class A: ...\n", "protocol/b.py": "class A: ...\n", "protocol/apis/c.py": "class A: ...\n"},
        ["protocol/b.py:1: class A is in protocol/a.py, too; rename one of them"],
    ),
    (
        source.tests_set_a_timeout_for_httpx,
        {"tests/test_a.py": "httpx.get(url)\nhttpx.get(url, timeout=None)\n"},
        ["tests/test_a.py:1: httpx.get without timeout=; pass timeout=None"],
    ),
    (
        source.each_test_asserts_something,
        {
            "tests/test_a.py": "def test_it():\n    run()\nasync def test_all():\n    check()\n",
            "tests/test_b.py": "def test_it():\n    with pytest.raises(E):\n        run()\n",
        },
        ["tests/test_a.py:1: test_it has no assertion; assert what its name promises"],
    ),
    (
        paths.cited_paths_exist,
        {"docs/a.md": "See docs/b.md and docs/a.md, or https://a.example/docs/c.md."},
        ["docs/a.md: names docs/b.md, which does not exist"],
    ),
    (
        paths.links_lead_to_files_and_headings,
        {"README.md": "# Top\n[a](docs/a.md#one) [b](docs/a.md#two) [c](#top) [d](gone.md)", "docs/a.md": "## One\n"},
        [
            "README.md: links to docs/a.md#two, a heading that docs/a.md lacks",
            "README.md: links to gone.md, which does not exist",
        ],
    ),
    (
        words.docstrings_say_it_first,
        {"protocol/a.py": 'def f():\n    """Whether it is so."""\n\n\ndef g():\n    """True if it is so."""\n'},
        ["protocol/a.py:2: begins with '\"\"\"Whether '; write what is returned: 'The ..', 'True if ..'"],
    ),
    (
        words.pages_are_in_plain_english,
        {"README.md": "# Top\n`told` in code,\nbut it stands here, such as\nsuch words\n"},
        [
            "README.md:3: says 'stands'; write is, contains, means",
            "README.md:4: says 'such'; write N, that many; these",
        ],
    ),
    (
        paths.the_map_is_complete,
        {
            "CONTRIBUTING.md": "## Where things are\n```\nprotocol/  the wire\n  gone.py  no more\n```\n`unit/`",
            "protocol/new/__init__.py": "",
            "tests/unit/test_a.py": "",
        },
        [
            "CONTRIBUTING.md: the map names protocol/gone.py, which does not exist",
            "CONTRIBUTING.md: the map lacks protocol/new/",
        ],
    ),
]


@pytest.mark.parametrize(("check", "texts", "faults"), SOURCE, ids=[case[0].__name__ for case in SOURCE])
def test_a_fault_in_the_source_is_reported_with_its_place(made_of, check, texts, faults):
    assert list(check(made_of(texts))) == faults


CHANGES = [
    (
        pages.command_lines_have_existing_options,
        ("docs/index.md", "# ", "Type `kafka-rack serve --brokers 3 --rakcs a`.\n# "),
        "docs/index.md: kafka-rack serve has no option --rakcs, in `kafka-rack serve --brokers 3 --rakcs a`",
    ),
    (
        pages.variables_are_options,
        ("Containerfile", "KAFKA_RACK_PORT=", "KAFKA_RACK_PROT="),
        "Containerfile: names KAFKA_RACK_PROT, which is the variable of no option",
    ),
    (
        pages.the_page_on_testing_has_each_name,
        ("docs/testing.md", "| `kafka_topic` |", "| `kafka_topics` |"),
        "docs/testing.md, fixtures: lacks `kafka_topic`, which the plugin has",
    ),
    (
        pages.the_page_on_proposals_names_existing_tests,
        (
            "docs/kips.md",
            "test_oracle_partitioner.py::test_each_draw_chooses_kafkas_partition",
            "test_fetch.py::test_x",
        ),
        "docs/kips.md:25: KIP-1123: there is no `tests/conformance/test_fetch.py::test_x`",
    ),
    (
        packaging.the_containerfile_copies_what_the_wheel_needs,
        ("Containerfile", "COPY docs ./docs\n", ""),
        "Containerfile, COPY: lacks `docs`, which the wheel of pyproject.toml has",
    ),
]


@pytest.mark.parametrize(("check", "change", "fault"), CHANGES, ids=[case[0].__name__ for case in CHANGES])
def test_a_page_that_differs_from_the_code_is_reported(check, change, fault):
    assert fault in list(check(with_change(*change)))


def test_a_generated_list_that_is_old_is_reported_with_what_rewrites_it():
    faults = list(
        pages.generated_parts_are_current(with_change("docs/configs.md", "| `compression.type` |", "| `x` |"))
    )
    assert len(faults) == 1
    assert faults[0].startswith("docs/configs.md: has '| `x` |")
    assert "but `python -m tests.reference` makes it '| `compression.type` |" in faults[0]


def test_a_check_that_does_not_exist_is_refused_with_those_that_do(capsys):
    assert main(["no_such_check"]) == 2
    assert capsys.readouterr().err == f"no check no_such_check; there are {', '.join(CHECKS)}\n"


def test_faults_are_printed_and_fail_the_run(monkeypatch, capsys):
    monkeypatch.setitem(CHECKS, "broken", lambda project: iter(["a.py: is wrong", "b.py: is wrong"]))
    assert main(["broken"]) == 1
    assert capsys.readouterr().out == "a.py: is wrong\nb.py: is wrong\n"
    monkeypatch.setitem(CHECKS, "clean", lambda project: iter([]))
    assert main(["clean"]) == 0
    assert capsys.readouterr().out == ""
