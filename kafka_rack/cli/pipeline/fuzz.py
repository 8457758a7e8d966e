"""kafka-rack pipeline fuzz: the codec, or one of your own, with messages by the million."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.command import Arguments, argument, command, option
from kafka_rack.cli.options.places import check_folder, check_places
from kafka_rack.cli.options.shared import format_option, out_option, seed_option
from kafka_rack.cli.options.types import FILE, PATH, Name, WholeNumber, Words, message_names
from kafka_rack.cli.output.results import first_rows, show_as
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.pipeline.running import job_module, run_on_spark, spark_options
from kafka_rack.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafka_rack.pipeline.fuzz.checks import Disagreement, FuzzCheck
    from kafka_rack.pipeline.fuzz.codecs import CodecSource
    from kafka_rack.pipeline.fuzz.report import Replay

MAX_EXAMPLES = 100_000_000
MAX_SHOWN = 12  # failures, and fields never exercised, that a screen takes


def check_names() -> Iterable[str]:
    from kafka_rack.pipeline.fuzz.checks import CHECKS

    return CHECKS


@command()
@argument("messages", metavar="[MESSAGE]...", nargs=-1, type=Name("MESSAGE", message_names))
@option("--versions", Words("V"), "Versions of the messages: all, latest, 3, 0-14 or 9+.", default="all")
@option("--examples", WholeNumber(1, MAX_EXAMPLES), "Examples of each message and version.", default=250)
@option(
    "--checks",
    Name("NAME,...", check_names),
    "Some of round-trip, versions, reference, damage, java, codec; default: all that can run.",
)
@seed_option
@option("--codec", Words("MODULE:NAME"), "A codec of your own, or FILE.py:NAME (docs/codec.md).")
@option("--kafka-clients-jar", PATH, "Jar, or folder of jars, with Kafka's classes for the check java.")
@out_option
@option("--replay", FILE, "Try the failure in this file again, and nothing else.")
@spark_options
@format_option
def fuzz(arguments: Arguments) -> int:
    """Fuzz the codec, or one of your own, with messages by the million.

    MESSAGE is a name or a pattern with *; all messages by default. Messages are generated from Kafka's declarations and
    pass checks: round-trip (written, read and written again), versions (fields survive, drop or are refused as
    declared), reference (the slow constructs agree), damage (broken bytes are refused cleanly), java (Apache
    Kafka's own classes in Spark's JVM) and codec (yours, or that of kio or kafka-python). Each failure is reduced and
    written with the command that replays it. Exit code 3 if there are any.

    Examples:
      kafka-rack pipeline fuzz 'Metadata*' FetchRequest --versions 9+ --out fuzz/
      kafka-rack pipeline fuzz --checks java --kafka-clients-jar kafka-clients-4.4.0.jar --out fuzz/
      kafka-rack pipeline fuzz --codec my_codec.py:Codec --checks codec --out fuzz/
      kafka-rack pipeline fuzz --codec protocol.fuzz.oracles:KioOracle --checks codec --out fuzz/
      kafka-rack pipeline fuzz --replay fuzz/failures/MetadataRequest-v12-codec-0a1b2c3d.json
    """
    codecs, java = (job_module(f"fuzz.{name}") for name in ("codecs", "java"))
    try:
        return replay(arguments) if arguments.replay else run(arguments)
    except (codecs.CodecError, java.KafkaMissing) as error:
        raise UsageError(str(error)) from None


def run(arguments: Arguments) -> int:
    """Fuzz, and write what was found."""
    if not arguments.out:
        raise UsageError("expected --out DIR or --replay FILE, got neither")
    from kafka_rack.pipeline.fuzz import report
    from kafka_rack.pipeline.fuzz.job import fuzz as fuzzed
    from kafka_rack.pipeline.fuzz.plan import FuzzPlan, chosen

    try:
        messages = chosen(arguments.messages, arguments.versions)
    except ValueError as error:
        raise UsageError(str(error)) from None
    plan = FuzzPlan(messages, arguments.examples, arguments.seed or 0)
    checks, codec = checks_given(arguments), codec_given(arguments.codec)
    jars = jars_given(arguments)
    jar = str(Path(arguments.kafka_clients_jar).resolve()) if arguments.kafka_clients_jar else None
    check_folder(arguments.out)

    def work(spark: Any) -> dict[str, Any]:
        found = fuzzed(spark, plan, checks, codec=codec, jars=jars, tasks=arguments.tasks)
        summary = report.summary_of(found)
        report.write(spark, found, summary, arguments.out, codec=codec, kafka_clients=jar)
        return summary

    summary = run_on_spark(arguments, work, lambda found: counted(found["examples"], "example"))
    show_as(arguments.format, summary, as_text(summary, arguments.out))
    return FINDINGS if summary["failures"] else DONE


def checks_given(arguments: Arguments) -> list[str]:
    """The names of --checks; by default all, java and codec only if given what they need."""
    from kafka_rack.pipeline.fuzz.checks import CHECKS

    if arguments.checks is None:
        wanted = set(CHECKS)
        wanted -= set() if arguments.kafka_clients_jar else {"java"}
        wanted -= set() if arguments.codec else {"codec"}
    else:
        wanted = {name.strip() for name in arguments.checks.split(",")}
        for name in sorted(wanted - set(CHECKS)):
            raise UsageError(f"--checks: expected {', '.join(CHECKS)}, got {name!r}")
        for check, option in (("codec", "codec"), ("java", "kafka_clients_jar")):
            flag = f"--{option.replace('_', '-')}"
            if getattr(arguments, option) and check not in wanted:
                raise UsageError(f"{flag} is for the check {check}, but --checks is {arguments.checks}")
        if "codec" in wanted and not arguments.codec:
            raise UsageError("the check codec needs --codec MODULE:NAME or FILE.py:NAME")
    return [name for name in CHECKS if name in wanted]


def codec_given(spec: str | None) -> CodecSource | None:
    from kafka_rack.pipeline.fuzz.codecs import CodecSource

    return CodecSource.parse(spec, Path.cwd()) if spec else None


def jars_given(arguments: Arguments) -> list[Path]:
    from kafka_rack.pipeline.fuzz.java import jars_at

    return jars_at(Path(arguments.kafka_clients_jar)) if arguments.kafka_clients_jar else []


# -- one failure again -------------------------------------------------------------------------------------------------


def replay(arguments: Arguments) -> int:
    """Ask again what a file holds; only Kafka's classes need Spark for it."""
    import protocol
    from kafka_rack.pipeline.fuzz import report
    from kafka_rack.pipeline.fuzz.work import fault_of, value_of
    from protocol.fuzz.oracles import Unfit

    check_places([arguments.replay])
    try:
        known = report.read(Path(arguments.replay))
        value = value_of(known)
    except (ValueError, TypeError, protocol.ProtocolError) as error:
        raise UsageError(f"{arguments.replay}: {str(error).removeprefix(f'{arguments.replay}: ')}") from None
    message = protocol.named_class(known.message)
    try:
        if known.check == "java":
            fault = asked_of_kafka(arguments, known, lambda check: fault_of(check, message, known.version, value))
        else:
            fault = fault_of(check_of(arguments, known), message, known.version, value)
    except Unfit as reason:
        raise CommandError(f"{known.check} cannot hold the values: {reason}") from None
    tree = {"message": known.message, "version": known.version, "check": known.check, "expected": known.kind}
    found = dict.fromkeys(("kind", "ours", "theirs")) if fault is None else fault._asdict()
    show_as(arguments.format, {**tree, "reproduced": fault is not None, **found}, replay_text(known, fault))
    return DONE if fault is None else FINDINGS


def asked_of_kafka(
    arguments: Arguments, known: Replay, ask: Callable[[FuzzCheck], Disagreement | None]
) -> Disagreement | None:
    """The answer of Kafka's classes, from the jar that the file names unless an option names another."""
    from kafka_rack.pipeline.fuzz.java import JavaCheck, kafka_side

    arguments.kafka_clients_jar = arguments.kafka_clients_jar or known.kafka_clients
    jars = jars_given(arguments)

    def work(spark: Any) -> Disagreement | None:
        with kafka_side(spark, jars) as side:
            return ask(JavaCheck(side))

    return run_on_spark(arguments, work)


def check_of(arguments: Arguments, known: Replay) -> FuzzCheck:
    """The check of a failure that needs no Spark, with the codec that the file names unless another is given."""
    from kafka_rack.pipeline.fuzz.checks import checks_for

    name = known.check
    codec = codec_given(arguments.codec or known.codec)
    if name == "codec" and codec is None:
        raise UsageError(f"{arguments.replay} names no codec: give --codec MODULE:NAME or FILE.py:NAME")
    return checks_for([name], codec.load() if codec is not None else None)[0]


def replay_text(known: Replay, fault: Disagreement | None) -> str:
    head = f"{known.message} version {known.version}, check {known.check}: "
    if fault is None:
        return f"{head}nothing wrong any more (it was: {known.kind})"
    other = "" if fault.kind == known.kind else f" (it was: {known.kind})"
    example = json.dumps(known.value, ensure_ascii=False) if known.value is not None else f"bytes {known.hex or 'none'}"
    return f"{head}{fault.kind}{other}\n  of     {example}\n  ours   {fault.ours}\n  theirs {fault.theirs}"


# -- for people --------------------------------------------------------------------------------------------------------


def as_text(summary: dict[str, Any], out: str) -> str:
    """One screen: the checks, the first failures, what no example reached."""
    versions, examples = summary["message_versions"], summary["examples"]
    lines = [f"{examples} examples of {versions} message versions (seed {summary['seed']})", ""]
    rows = [
        [name, *(tally[column] for column in ("asked", "agreed", "unfit", "failed"))]
        for name, tally in summary["checks"].items()
    ]
    lines += [table(["check", "asked", "agreed", "not for it", "failed"], rows), ""]
    failures = summary["failures"]
    if failures:
        shown = [[one["message"], one["version"], one["check"], one["kind"], one["count"]] for one in failures]
        lines.append(first_rows(["message", "version", "check", "what is wrong", "times"], shown, MAX_SHOWN, "failure"))
        lines += ["", f"replay one: kafka-rack pipeline fuzz --replay {out.rstrip('/')}/{failures[0]['file']}", ""]
    never = summary["never_exercised"]
    reached = summary["fields"] - len(never)
    lines.append(f"{reached} of {summary['fields']} fields had a value other than their default")
    lines += [f"  never: {one}" for one in never[:MAX_SHOWN]]
    if len(never) > MAX_SHOWN:
        lines.append(f"  and {len(never) - MAX_SHOWN} more, in summary.json")
    lines.append(f"{len(failures)} failures, coverage.parquet and summary.json are in {out}")
    return "\n".join(lines)
