"""kafka-rack completion: the scripts, asked by the shells they are for."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import redirect_stdout

import pytest

from kafka_rack.cli import COMMANDS, main
from kafka_rack.cli.commands.completion import SHELLS, whole_parser
from kafka_rack.cli.options.offered_values import OFFERED
from kafka_rack.cli.parser import arguments_of, parsers_below
from kafka_rack.placement import BUILT_IN

ASK_BASH = """
PATH=
source {script}
COMP_WORDS=({words}) COMP_CWORD={at} COMP_LINE={line} COMP_POINT=${{#COMP_LINE}}
_shtab_kafka_rack kafka-rack "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
"""Without a PATH, as nothing is to be started on TAB."""
CASES = [
    (["aud"], {"audit"}),
    (["audit", "--ig"], {"--ignore"}),
    (["audit", "--format", ""], {"table", "json"}),
    (["pipeline", "loc"], {"locality"}),
    (["pipeline", "decode", "--spark-l"], {"--spark-log"}),
    (["ctl", "faults", "re"], {"remove"}),
    (["completion", ""], set(SHELLS)),
    (["inspect", "--command-config", "clie"], {"client.properties"}),
    (["serve", "--data-dir", "da"], {"data"}),
    (["place", "--placer", "co"], {"copyset"}),
    (["availability", "--placer", "ra"], {"rack-aware", "random"}),
    (["pipeline", "availability", "--placer", "ra"], {"rack-aware", "random"}),
    (["what-if", "--placer", "st"], {"striped"}),
    (["assign", "--assignor", "st"], {"sticky"}),
    (["what-if", "--assignor", "r"], {"range", "roundrobin", "rack-uniform"}),
    (["what-if", "--protocol", ""], {"classic", "consumer"}),
    (["serve", "--emulate", "0.8"], {"0.8.2"}),
    (["decode", "--message", "ApiV"], {"ApiVersionsRequest", "ApiVersionsResponse"}),
    (["messages", "ApiV"], {"ApiVersionsRequest", "ApiVersionsResponse"}),
    (["ctl", "requests", "--api", "ApiV"], {"ApiVersions"}),
    (["ctl", "assert", "rack"], {"rack-local"}),
]
"""Words after ``kafka-rack``, the last of which is being typed, and what it may become."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The script of each shell, in a folder with a file and a folder to be completed."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "client.properties").touch()
    (folder / "data").mkdir()
    for shell in SHELLS:
        with (folder / f"script.{shell}").open("w") as script, redirect_stdout(script):
            assert main(["completion", shell]) == 0
    return folder


def shell_path(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def test_without_shtab_the_command_names_the_extra_that_brings_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err.startswith(
        "kafka-rack completion: shtab, of the extra completion, is not installed: pip"
    )


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash_completes_commands_options_values_and_files(scripts, words, expected):
    given = ["kafka-rack", *words]
    asked = ASK_BASH.format(
        script=scripts / "script.bash", words=shlex.join(given), at=len(words), line=shlex.quote(" ".join(given))
    )
    # `compopt` has an effect only while bash itself completes, and says so here
    shown = subprocess.run(
        [shell_path("bash"), "--norc", "-c", asked], cwd=scripts, check=True, capture_output=True, text=True
    )
    assert set(shown.stdout.split()) == expected


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_fish_completes_the_same(scripts, words, expected):
    asked = f"source script.fish; complete -C {shlex.quote(' '.join(['kafka-rack', *words]))}"
    environment = {**os.environ, "XDG_CONFIG_HOME": str(scripts), "XDG_DATA_HOME": str(scripts)}
    command = [shell_path("fish"), "--no-config", "-c", asked]
    shown = subprocess.run(command, cwd=scripts, env=environment, check=True, capture_output=True, text=True)
    assert {line.split("\t")[0].rstrip("/") for line in shown.stdout.splitlines()} == expected


@pytest.mark.parametrize(
    "typed",
    [
        [("kafka-rack aud\t", "kafka-rack audit "), ("--layo\t", "--layout")],
        [("kafka-rack place --placer copy\t", "--placer copyset")],
    ],
)
def test_zsh_completes_a_command_an_option_and_a_value(scripts, typed):
    """Typed at a terminal, as zsh completes only there."""
    (scripts / "_kafka-rack").write_bytes((scripts / "script.zsh").read_bytes())
    setup = "fpath=($PWD $fpath) && autoload -Uz compinit && compinit -u -D && echo rea''dy\n"
    _, expected = typed[-1]
    assert typed_in_zsh(shell_path("zsh"), scripts, [(setup, "ready"), *typed]).rstrip().endswith(expected)


def typed_in_zsh(zsh, folder, typed):
    """Type each text once what is expected of the one before is there; gives what was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(zsh, [zsh, "-f", "-i"], {"TERM": "dumb", "PS1": "> ", "PATH": os.environ["PATH"], "COLUMNS": "200"})
    shown, last = "", time.monotonic()
    try:
        for text, expected in typed:
            os.write(terminal, text.encode())
            from_here = len(shown)
            while expected not in plain(shown[from_here:]):
                if select.select([terminal], [], [], 1.0)[0]:
                    shown += os.read(terminal, 4096).decode(errors="replace")
                    last = time.monotonic()
                elif time.monotonic() - last > 60:
                    pytest.fail(f"nothing more after {plain(shown)!r}")
        return plain(shown)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def plain(text):
    """What a terminal was sent, without moves of the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x07\r\x00]", "", text)


def test_whatever_offers_values_is_an_argument_of_a_command():
    known = set()
    for parser in parsers_below(whole_parser()):
        for argument in arguments_of(parser):
            for option in argument.option_strings or [argument.dest]:
                known |= {option, f"{parser.prog.split()[-1]} {option}"}
    assert set(OFFERED) <= known


def test_the_placers_that_are_offered_are_all_that_are_built_in():
    placer = next(one for one in arguments_of(whole_parser_of("place")) if one.dest == "placer")
    assert set(placer.choices) == set(BUILT_IN)


def whole_parser_of(command):
    return next(one for one in parsers_below(whole_parser()) if one.prog == f"kafka-rack {command}")


def test_every_command_is_completed(scripts):
    for shell in SHELLS:
        script = (scripts / f"script.{shell}").read_text()
        assert [name for name in COMMANDS if name not in script] == []


@pytest.mark.parametrize("shell", ["tcsh", "Bash"])
def test_another_shell_is_refused_in_one_line(shell, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["completion", shell])
    assert ended.value.code == 2
    assert f"expected bash, zsh or fish, got '{shell}'" in capsys.readouterr().err
