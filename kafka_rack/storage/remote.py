"""A file or folder that has a URL, with those methods of ``pathlib.Path`` that the jobs need.

Object stores have no folders: one is there as long as something lies in it, and making one does nothing. Their files
appear whole when they are closed. They cannot be renamed: ``replace`` copies inside the store and removes the old one.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import total_ordering
from typing import Any, BinaryIO, NamedTuple, cast

from kafka_rack.storage.errors import told
from kafka_rack.storage.filesystems import check_scheme, filesystem
from kafka_rack.storage.reading import ReadAhead
from kafka_rack.storage.settings import StorageSettings

WITH_FOLDERS = frozenset({"hdfs"})
"""Schemes of stores in which a folder is made before there is a file in it; Azure makes them along with files."""
RENAMES = frozenset({"hdfs"})
"""Schemes of stores that move a file in the place of another in one step."""
FOLDERS_HAVE_OBJECTS = frozenset({"gs"})
"""Schemes for which pyarrow removes a folder only if somebody made an object of its name."""

MARKS_FOLDERS = frozenset({"abfs", "abfss"})
"""Schemes of stores where Hadoop marks a folder by an empty file of its name."""
NO_FILE = "Not a regular file"
"""What pyarrow says to who opens one."""


class Stat(NamedTuple):
    """What ``stat`` tells, by Path's names."""

    st_size: int
    st_mtime: float


class RemoteFile(NamedTuple):
    """A file of a listing."""

    path: RemotePath
    size: int


@total_ordering
class RemotePath:
    """One place; immutable, and pickles with its settings."""

    __slots__ = ("_authority", "_key", "_scheme", "_settings")

    def __init__(self, scheme: str, authority: str, key: str, settings: StorageSettings) -> None:
        self._scheme, self._authority, self._key, self._settings = scheme, authority, key, settings

    @classmethod
    def parse(cls, url: str, settings: StorageSettings) -> RemotePath:
        """Raises ValueError: no URL of a known scheme with a bucket, container or host."""
        scheme, _, rest = url.partition("://")
        check_scheme(scheme, url)
        authority, _, key = rest.partition("/")
        if not authority and scheme != "hdfs":
            raise ValueError(f"{url}: expected {scheme}://BUCKET/PATH, got no bucket")
        if scheme.startswith("abfs") and "@" not in authority:
            raise ValueError(f"{url}: expected {scheme}://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH")
        return cls(scheme, authority, "/".join(part for part in key.split("/") if part), settings)

    def __str__(self) -> str:
        return f"{self._scheme}://{self._authority}/{self._key}".rstrip("/")

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and str(self) == str(other)

    def __lt__(self, other: RemotePath) -> bool:
        return str(self) < str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath, (self._scheme, self._authority, self._key, self._settings)

    # -- names ---------------------------------------------------------------------------------------------------------

    def _with_key(self, key: str) -> RemotePath:
        return RemotePath(self._scheme, self._authority, key.strip("/"), self._settings)

    def __truediv__(self, inner: str) -> RemotePath:
        return self._with_key(f"{self._key}/{inner}")

    @property
    def name(self) -> str:
        return self._key.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        stem, dot, end = self.name.rpartition(".")
        return f".{end}" if dot and stem else ""

    @property
    def stem(self) -> str:
        return self.name.removesuffix(self.suffix) if self.suffix else self.name

    @property
    def parent(self) -> RemotePath:
        return self._with_key(self._key.rpartition("/")[0])

    def with_name(self, name: str) -> RemotePath:
        return self.parent / name

    def relative_to(self, folder: RemotePath) -> str:
        """The path below a folder that this is in."""
        return self._key.removeprefix(folder._key).strip("/")

    def resolve(self) -> RemotePath:
        return self

    # -- what is there -------------------------------------------------------------------------------------------------

    @property
    def _fs(self) -> Any:
        return filesystem(self._scheme, self._authority, self._settings)

    def _ask(self, operation: str, *given: Any, **options: Any) -> Any:
        """Have the file system do something. Raises OSError, which names this place, and the reason in plain words."""
        try:
            return getattr(self._fs, operation)(*given, **options)
        except FileNotFoundError:
            raise
        except Exception as error:  # libraries below have kinds of their own
            if not isinstance(error, (OSError, RuntimeError)) and not type(error).__module__.startswith("pyarrow"):
                raise
            raise told(error if isinstance(error, OSError) else OSError(str(error)), str(self)) from None

    @property
    def _inside(self) -> str:
        """As pyarrow names it: behind its bucket or container, from the root of HDFS."""
        if self._scheme == "hdfs":
            return f"/{self._key}"
        bucket = self._authority.partition("@")[0] if self._scheme.startswith("abfs") else self._authority
        return f"{bucket}/{self._key}".rstrip("/")

    def _info(self) -> Any:
        info = self._ask("get_file_info", self._inside)
        from pyarrow.fs import FileInfo, FileType  # that it is there has just been seen

        return FileInfo(info.path, FileType.Directory) if self._marks_a_folder(info) else info

    def _marks_a_folder(self, info: Any) -> bool:
        """Whether what seems an empty file is what Hadoop leaves for a folder, where Azure's accounts have none."""
        if not info.is_file or info.size or self._scheme not in MARKS_FOLDERS:
            return False
        try:
            self._fs.open_input_file(info.path).close()
        except OSError as error:
            return NO_FILE in str(error)
        return False

    def has_bucket(self) -> bool:
        """Whether the bucket or container is there that this lies in; HDFS has none."""
        if self._scheme == "hdfs":
            return True
        return self._with_key("").is_dir()

    def check_bucket(self) -> None:
        """Raises OSError: the bucket is not there, or the store refuses."""
        if not self.has_bucket():
            raise FileNotFoundError(f"{self}: no such bucket")

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        return bool(self._info().is_file)

    def is_dir(self) -> bool:
        info = self._info()
        return info.type != info.type.NotFound and not info.is_file

    def stat(self) -> Stat:
        """Raises FileNotFoundError."""
        info = self._info()
        if not info.is_file:
            raise self._missing()
        return Stat(info.size, info.mtime_ns / 1e9 if info.mtime_ns else 0.0)

    def _missing(self) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, "no such file or folder", str(self))

    def _listing(self, *, recursive: bool) -> list[Any]:
        _ = self._fs  # says what is missing where pyarrow is
        from pyarrow.fs import FileSelector

        found = self._ask("get_file_info", FileSelector(self._inside, recursive=recursive, allow_not_found=True))
        return [info for info in found if not self._marks_a_folder(info)]

    def _child(self, info: Any) -> RemotePath:
        inner: str = info.path[len(self._inside) :]
        return self / inner.strip("/")

    def iterdir(self) -> Iterator[RemotePath]:
        for info in self._listing(recursive=False):
            yield self._child(info)

    def files(self) -> list[RemoteFile]:
        """All files below, in the order of their paths: one question to the store for each thousand."""
        return sorted(
            RemoteFile(self._child(info), info.size) for info in self._listing(recursive=True) if info.is_file
        )

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """What lies below and matches, level by level."""
        wanted = pattern.split("/")
        for info in self._listing(recursive=len(wanted) > 1):
            found = self._child(info)
            parts = found.relative_to(self).split("/")
            if len(parts) == len(wanted) and all(fnmatchcase(*pair) for pair in zip(parts, wanted, strict=True)):
                yield found

    # -- contents ------------------------------------------------------------------------------------------------------

    def open(self, mode: str = "rb") -> BinaryIO:
        """For reading (``rb``), or anew for writing (``wb``): the file is there once it is closed."""
        if mode == "wb":
            self._make_parent()
            return cast("BinaryIO", self._ask("open_output_stream", self._inside, compression=None))  # else by the name
        assert mode == "rb", mode
        return cast("BinaryIO", ReadAhead(self._open_input(), str(self)))

    def _open_input(self) -> Any:
        try:
            return self._ask("open_input_file", self._inside)
        except FileNotFoundError:
            raise self._missing() from None

    def read_bytes(self) -> bytes:
        with self._open_input() as file:
            return bytes(file.read())

    def write_bytes(self, data: bytes) -> None:
        with self.open("wb") as file:
            file.write(data)

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        self.write_bytes(text.encode(encoding))

    # -- changes -------------------------------------------------------------------------------------------------------

    def _make_parent(self) -> None:
        if self._scheme in WITH_FOLDERS:
            self.parent.mkdir(parents=True, exist_ok=True)

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder where folders are real."""
        if self._scheme in WITH_FOLDERS:
            self._ask("create_dir", self._inside, recursive=parents or exist_ok)

    def rmdir(self) -> None:
        """Remove a folder that is empty, where there are such."""
        if next(self.iterdir(), None) is None:
            self.remove_tree()

    def unlink(self, *, missing_ok: bool = False) -> None:
        try:
            self._ask("delete_file", self._inside)
        except FileNotFoundError:
            if not missing_ok:
                raise self._missing() from None

    def remove_tree(self) -> None:
        """Remove a folder with all in it; nothing where there is none."""
        with suppress(FileNotFoundError):
            if self._scheme in FOLDERS_HAVE_OBJECTS:
                self._ask("delete_dir_contents", self._inside, missing_dir_ok=True)
                if not self.is_dir():
                    return
            self._ask("delete_dir", self._inside)
        if self._scheme in MARKS_FOLDERS and self.is_dir():
            self._ask("delete_file", self._inside)

    def replace(self, target: RemotePath) -> None:
        """Move a file, or a folder with its files, in the place of what is there."""
        if self.is_file():
            self._replace_file(target)
            return
        for file in self.files():
            file.path._replace_file(target / file.path.relative_to(self))
        self.remove_tree()

    def _replace_file(self, target: RemotePath) -> None:
        target._make_parent()
        if self._scheme in RENAMES:
            self._ask("move", self._inside, target._inside)
            return
        self._ask("copy_file", self._inside, target._inside)
        self._ask("delete_file", self._inside)
