"""Declarations of commands: lazy groups, options in sections, help from docstrings.

A command is a function over ``Arguments`` that returns its exit code::

    @command()
    @section("Cluster", option("--brokers", WholeNumber(1), "Number of brokers.", default=3))
    def serve(arguments: Arguments) -> int:
        "Run a cluster." ...
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from types import SimpleNamespace
from typing import Any, TypeVar

import click

from kafka_rack.cli import COMMANDS, EXIT_CODES, HIDDEN, CommandError, InterruptedWork, UsageError
from kafka_rack.errors import InputError, KafkaRackError, MissingRackError, PlacerSettingsError
from kafka_rack.printable import PrintableOutput, printable

Arguments = SimpleNamespace
"""The values of a command's options and arguments, by name."""
Declared = TypeVar("Declared", bound=Callable[..., Any])
Decorator = Callable[[Declared], Declared]
SETTINGS: dict[str, Any] = {"max_content_width": 100, "help_option_names": ["--help", "-h"], "show_default": True}
PREFIX = "KAFKA_RACK"
MAX_COLUMN = 26
"""Columns of an option's name in help; a longer one has a line of its own."""
OWN_VARIABLES = frozenset(
    {"KAFKA_RACK_CONTROL", "KAFKA_RACK_CONTROL_TOKEN", "KAFKA_RACK_PROXY_BOOTSTRAP", "KAFKA_RACK_NATIVE"}
)
FROM_OUTSIDE = ("KAFKA_RACK_SERVICE_", "KAFKA_RACK_PORT_", "KAFKA_RACK_ENV_", "KAFKA_RACK_NAME")
"""Kubernetes and linked containers set such variables for a service that is called kafka-rack."""


class Option(click.Option):
    """An option under a heading of the help."""

    section = "Options"

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """The variable's text; a linked container's KAFKA_RACK_PORT=tcp://... is none."""
        text = super().resolve_envvar_value(ctx)
        return None if text is not None and text.startswith("tcp://") else text


def option(
    name: str, kind: click.ParamType[Any], text: str, *, dest: str | None = None, **details: Any
) -> Decorator[Any]:
    """An option with a value; ``text`` is its help, ``dest`` its attribute if the name cannot be one."""
    names = [name] if dest is None else [name, dest]
    return click.option(*names, type=kind, help=text, cls=Option, **details)


def flag(name: str, text: str) -> Decorator[Any]:
    """An option without a value."""
    return click.option(name, is_flag=True, help=text, cls=Option)


def argument(name: str, *, metavar: str, **details: Any) -> Decorator[Any]:
    """A positional argument; the command's text explains it by its metavar."""
    return click.argument(name, metavar=metavar, **details)


def together(*options: Decorator[Any]) -> Decorator[Any]:
    """Several options, in this order."""
    return section(Option.section, *options)


def section(title: str, *options: Decorator[Any]) -> Decorator[Any]:
    """Options under a heading of their own, in this order."""

    def add(function: Declared) -> Declared:
        before = len(getattr(function, "__click_params__", ()))
        for one in reversed(options):
            function = one(function)
        for param in getattr(function, "__click_params__", ())[before:]:
            if isinstance(param, Option) and param.section == Option.section:
                param.section = title
        return function

    return add


class Page(click.Command):
    """Help whose text keeps its examples, with options in sections."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for paragraph in inspect.cleandoc(self.help or "").split("\n\n"):
            formatter.write_paragraph()
            if "\n  " in paragraph:
                formatter.write("".join(f"{line}\n" for line in paragraph.splitlines()))
            else:
                formatter.write_text(paragraph)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                found.setdefault(getattr(param, "section", Option.section), []).append(record)
        last = found.pop(Option.section, [])
        write_sections(formatter, {**found, Option.section: last})

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        if EXIT_CODES.partition(":")[0] not in (self.help or ""):
            formatter.write_text(EXIT_CODES)
        formatter.write(f"Documentation: {docs_folder()}\n")  # on one line, however long, to be copied


class Command(Page):
    """A command whose function takes ``Arguments`` and returns the exit code.

    Errors of the rack logic become errors of the command: those about input are wrong usage.

    Args:
        environment: each option has a variable, KAFKA_RACK_ and its name; one that belongs to no option is an error.
        paints: the function writes colours, and escapes what it shows itself.
    """

    def __init__(self, *args: Any, environment: bool = False, paints: bool = False, **details: Any) -> None:
        own = {"auto_envvar_prefix": PREFIX} if environment else {}
        details["context_settings"] = {**SETTINGS, **own, **details.get("context_settings", {})}
        super().__init__(*args, **details)
        self.environment, self.paints = environment, paints

    @property
    def variables(self) -> set[str]:
        """The environment variables of its options."""
        return {f"{PREFIX}_{(param.name or '').upper()}" for param in self.params if isinstance(param, click.Option)}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.environment:
            check_variables(self.variables | OWN_VARIABLES, os.environ, ctx)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        assert self.callback is not None
        try:
            with printable_output(self.paints):
                return self.callback(Arguments(**ctx.params))
        except click.ClickException as error:
            if getattr(error, "ctx", None) is None:
                error.ctx = ctx  # type: ignore[attr-defined] # CommandError has it too
            raise
        except KafkaRackError as error:
            way_out = " with --ignore-racks" if isinstance(error, MissingRackError) else ""
            wrong = UsageError if isinstance(error, InputError | PlacerSettingsError) else CommandError
            raised = wrong(f"{error}{way_out}")
            raised.ctx = ctx
            raise raised from error
        except KeyboardInterrupt:
            interrupted = InterruptedWork("interrupted")
            interrupted.ctx = ctx
            raise interrupted from None


class Group(Page, click.Group):
    """Commands below one.

    Args:
        meant: words that people type -> the command that they mean.
        default: the command that runs if none is named.
    """

    command_class = Command

    def __init__(
        self, *args: Any, meant: Mapping[str, str] | None = None, default: str | None = None, **details: Any
    ) -> None:
        super().__init__(*args, context_settings=SETTINGS, **details)
        self.meant, self.default = meant or {}, default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.default is not None and (not args or args[0].startswith("-")) and not {"--help", "-h"} & {*args}:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            near = f"; did you mean {self.meant[name]}?" if name in self.meant else did_you_mean(name, known)
            among = "" if near or len(known) > 12 else f", expected {', '.join(known)}"
            raise UsageError(f"there is no command {name!r}{near}{among} (see {ctx.command_path} --help)", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        Page.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)


Group.group_class = Group


class LazyGroup(Group):
    """Commands in sections, a module each, which is imported when the command runs.

    Args:
        package: the package of the modules; commands whose module is not installed are not listed.
        commands: section -> command -> its help in one line.
        hidden: commands that are not listed.
        hint: the end of the help.
    """

    def __init__(
        self,
        *args: Any,
        package: str,
        commands: Mapping[str, Mapping[str, str]],
        hidden: Sequence[str] = (),
        hint: str = "Each command has its own --help.",
        **details: Any,
    ) -> None:
        super().__init__(*args, **details)
        self.package, self.known, self.hidden_commands, self.hint = package, commands, hidden, hint

    def sections(self) -> Iterator[tuple[str, dict[str, str]]]:
        for title, commands in self.known.items():
            if there := {name: text for name, text in commands.items() if find_spec(self.module_of(name)) is not None}:
                yield title, there

    def module_of(self, name: str) -> str:
        return f"{self.package}.{name.replace('-', '_')}"

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for _, commands in self.sections() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in (*self.list_commands(ctx), *self.hidden_commands):
            return None
        found: click.Command = getattr(import_module(self.module_of(cmd_name)), cmd_name.replace("-", "_"))
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        found = super().resolve_command(ctx, args)
        return (args[0], *found[1:]) if found[1] is not None else found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_sections(formatter, {title: list(commands.items()) for title, commands in self.sections()})
        formatter.write_paragraph()
        formatter.write_text(self.hint)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        known = {name: text for _, commands in self.sections() for name, text in commands.items()}
        return [CompletionItem(name, help=text) for name, text in known.items() if name.startswith(incomplete)]


def write_sections(formatter: click.HelpFormatter, found: Mapping[str, list[tuple[str, str]]]) -> None:
    """Lists under headings, their second columns aligned with each other."""
    width = max((len(name) for rows in found.values() for name, _ in rows if len(name) <= MAX_COLUMN), default=0)
    formatter.write_paragraph()
    for title, rows in found.items():
        formatter.write_heading(title)
        formatter.indent()
        formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=width)
        formatter.dedent()


def command(**details: Any) -> Callable[[Callable[[Arguments], int]], Command]:
    """Declares a command; the function's docstring is its help."""
    return click.command(cls=Command, **details)


def say(text: str) -> None:
    """A line on stderr that begins with the command: a note, a hint, a part that failed."""
    sys.stderr.write(f"{click.get_current_context().command_path}: {printable(text)}\n")


def refuse_beside(arguments: Arguments, names: Iterable[str], other: str, reason: str = "") -> None:
    """Raises UsageError: one of these options is set, and ``other`` excludes it."""
    for name in names:
        value = getattr(arguments, name)
        if value not in (None, ()) and value is not False:
            raise UsageError(f"--{name.replace('_', '-')} and {other} exclude each other{reason}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question for the end of an error; empty if no known word is near.

    >>> did_you_mean("certfy", ["serve", "certify"])
    '; did you mean certify?'
    >>> did_you_mean("--color", ["--format"])
    ''
    """
    from difflib import get_close_matches  # here, as only an error needs it

    near = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""


def check_variables(known: Iterable[str], variables: Mapping[str, str], ctx: click.Context | None = None) -> None:
    """Raises UsageError: a variable with our prefix that belongs to no option."""
    names = set(known)
    for name, text in variables.items():
        if not name.startswith(f"{PREFIX}_") or name in names or name.startswith(FROM_OUTSIDE):
            continue
        raise UsageError(f"{name}={text}: no option has this variable{did_you_mean(name, names)}", ctx)


@contextmanager
def printable_output(paints: bool) -> Iterator[None]:
    """Show control characters as escapes on stdout, and discard all output if stdout is closed."""
    printed: Any = sys.stdout if sys.stdout is not None else StringIO()
    sys.stdout = printed if paints else PrintableOutput(printed)
    try:
        yield
    finally:
        sys.stdout = printed


def docs_folder() -> str:
    """The folder of the pages in help texts: of an installation or a clone."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib loads too much
    folders = (f"{here}{os.sep}docs", f"{os.path.dirname(here)}{os.sep}docs")  # noqa: PTH120
    return next((folder for folder in folders if os.path.isdir(folder)), "docs")  # noqa: PTH112


def show_version(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    if not given or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    from protocol import backend

    try:
        print(f"kafka-rack {version('kafka-rack')}, codec: {backend()}")
    except PackageNotFoundError:
        print(f"kafka-rack, not installed, codec: {backend()}")
    ctx.exit()


top = LazyGroup(
    "kafka-rack",
    package="kafka_rack.cli.commands",
    commands=COMMANDS,
    hidden=HIDDEN,
    hint="Each command has its own --help. `kafka-rack --version` prints the version, `kafka-rack completion SHELL` "
    "a script with which bash, zsh or fish complete commands.",
    help="Test Kafka clients against availability zones: see which bytes cross racks, and what that costs.",
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=show_version,
            help="Print the version, and which codec runs.",
        )
    ],
)
