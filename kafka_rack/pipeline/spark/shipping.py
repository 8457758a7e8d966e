"""This package and what it needs, as archives for workers whose Python has nothing but its standard library.

Compiled packages cannot be imported from a zip, so what this package needs goes as an archive that Spark unpacks beside
each executor; this package itself, all Python, is imported from its zip as it is. Spark brings pyspark itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZipFile

PACKAGES = ("protocol", "kafka_rack", "mockbroker")
NEEDED = ("construct", "cramjam", "google-crc32c", "lz4", "msgspec", "numpy", "pyarrow", "zstandard")
"""What workers import, of what this package requires. Neither pandas, which Spark's driver alone asks for, nor rich,
and what the mock cluster alone needs: cryptography, google-re2, starlette, uvicorn and uvloop."""
DRIVERS = ("pandas", "rich")
"""What the driver needs besides, where it is not the environment that packs, but one of the cluster's own processes."""
IF_INSTALLED = ("hdfs-native",)
"""What workers import where it is, for what else they can do."""
PACKAGE_ZIP = "kafka_rack.zip"
PROGRAM = "kafka_rack_job.py"
DEPENDENCIES = "kafka_rack_needs"
LEFT_OUT = frozenset({"__pycache__", "tests", "include"})
"""Folders that nothing imports: compiled again, tests, headers of C."""
QUICK = 1
"""Of zlib's levels: the archive is half as large, a second is not spent on a tenth more."""


class NotInstalled(Exception):
    """A package that workers need is not installed here, so it cannot be packed."""


def shipped(folder: str | Path, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Make both archives in a folder; gives the settings that have Spark bring them to its workers.

    Args:
        settings: what is to be sent besides; the archives come after what they name.

    The workers' Python must be of this one's version, on the same kind of machine, as compiled packages go along.

    Raises NotInstalled.
    """
    into = Path(folder).resolve()
    ours = {
        "spark.submit.pyFiles": (package_zip(into / PACKAGE_ZIP), ","),
        "spark.archives": (f"{dependencies_zip(into / f'{DEPENDENCIES}.zip')}#{DEPENDENCIES}", ","),
        "spark.executorEnv.PYTHONPATH": (DEPENDENCIES, ":"),  # unpacked where an executor and its Python run
    }
    given = settings or {}
    return {name: between.join(filter(None, [given.get(name), value])) for name, (value, between) in ours.items()}


def packed_for_submit(folder: str | Path, source: Path, *, with_driver: bool = False) -> tuple[list[str], str]:
    """Make both archives and a program in a folder; gives the options of ``spark-submit``, and where the program is.

    Args:
        source: the program, of which a copy goes beside the archives.
        with_driver: for deploy mode ``cluster``, where the driver has nothing of this package either: there is one
            archive, with all that is needed, and this package with its templates in it.

    Raises: NotInstalled; OSError.
    """
    into = Path(folder)
    program = into / PROGRAM
    needs = dependencies_zip(into / f"{DEPENDENCIES}.zip", with_driver=with_driver)
    program.write_bytes(source.read_bytes())
    options = ["--archives", f"{needs}#{DEPENDENCIES}", "--conf", f"spark.executorEnv.PYTHONPATH={DEPENDENCIES}"]
    if not with_driver:
        return ["--py-files", package_zip(into / PACKAGE_ZIP), *options], str(program)
    # A job that ends with another exit code than 0, as one with findings, would be run again.
    of_driver = [f"spark.yarn.appMasterEnv.PYTHONPATH={DEPENDENCIES}", "spark.yarn.maxAppAttempts=1"]
    return ["--deploy-mode", "cluster", *options, *(word for one in of_driver for word in ("--conf", one))], str(
        program
    )


def package_zip(target: str | Path) -> str:
    """Write the packages' sources into a zip; gives its path."""
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_DEFLATED) as packed:
        for name, source in our_files("*.py"):
            packed.write(source, name)
    return str(path)


def our_files(pattern: str) -> Iterator[tuple[str, Path]]:
    """This package's files whose names match: names with ``/``, and where they are."""
    root = Path(__file__).resolve().parents[3]
    for package in PACKAGES:
        for source in sorted((root / package).rglob(pattern)):
            name = source.relative_to(root)
            if source.is_file() and not LEFT_OUT.intersection(name.parts):
                yield name.as_posix(), source


def dependencies_zip(target: str | Path, *, with_driver: bool = False) -> str:
    """Write the installed packages that workers need, and those that these need, into a zip; gives its path.

    Args:
        with_driver: what the driver needs too, and this package with all its files.

    Raises NotInstalled.
    """
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=QUICK) as packed:
        for found in with_requirements((*NEEDED, *(DRIVERS if with_driver else ())), IF_INSTALLED):
            for name, source in files_of(found):
                packed.write(source, name)
        for name, source in our_files("*") if with_driver else ():
            packed.write(source, name)
    return str(path)


def with_requirements(names: Iterable[str], if_installed: Iterable[str] = ()) -> list[Distribution]:
    """Installed distributions and all that they require here, by name; what only extras ask for is left out."""
    found: dict[str, Distribution] = {}
    wanted = [*((name, False) for name in names), *((name, True) for name in if_installed)]
    for name, may_lack in wanted:
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            found[key] = distribution(name)
        except PackageNotFoundError:
            if may_lack:  # of another system or Python
                continue
            raise NotInstalled(
                f"{name} is not installed here, so it cannot be sent to workers: pip install {name}"
            ) from None
        for required in found[key].requires or ():
            requirement, _, marker = required.partition(";")
            if "extra" not in marker and (match := re.match(r"[\w.-]+", requirement)):
                wanted.append((match[0], bool(marker)))
    return [found[key] for key in sorted(found)]


def files_of(found: Distribution) -> Iterator[tuple[str, Path]]:
    """A distribution's files below site-packages: names with ``/``, and where they are."""
    for file in sorted(found.files or (), key=str):
        name = PurePosixPath(file.as_posix())
        if ".." in name.parts or LEFT_OUT.intersection(name.parts):
            continue  # scripts, and what nothing imports
        yield str(name), Path(str(file.locate()))
