"""Capture files: finds them and their kind, and reads their bytes up to any damage."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Self, cast

import msgspec

Kind = Literal["lines", "packets"]
LINES_SUFFIX = ".jsonl"
PACKET_SUFFIXES = (".pcap", ".pcapng", ".cap")
SUFFIXES = (LINES_SUFFIX, *PACKET_SUFFIXES)
ROTATIONS = (
    (re.compile(r"(\.(?:pcapng|pcap|cap))\d+$"), r"\1"),  # tcpdump -C
    (re.compile(r"_\d{5}_\d{14}(?=\.)"), ""),  # dumpcap -b
    (re.compile(r"[-_.]?\d{4}-?\d\d-?\d\d[-_T.]?\d\d[-:_.]?\d\d[-:_.]?\d\d"), ""),  # tcpdump -G with a time
)
"""The parts of rotated files' names that their capture's name lacks."""
GZIP_MAGIC = b"\x1f\x8b"
PACKET_MAGICS = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\n\r\r\n")
NO_CAPTURE = "neither a capture of frames nor pcap or pcapng"
NO_PACKETS = "its name is that of a capture of packets, but it is neither pcap nor pcapng"
NAMED_AS_A_FRAME = re.compile(rb'\A\s*\{.*?"(?:ev|dir)"\s*:', re.DOTALL)
CHUNK_BYTES = 1 << 16
TEXT_BYTES = 1 << 20
"""The approximate size of the text that is read at once."""
MAX_LINE_BYTES = 192 << 20
"""The longest line that is read: the largest frame of packets as base64, and the rest of its line."""
MAX_HEAD_BYTES = 1 << 20
"""The bytes of a line by which the kind of its file is recognised."""


class CaptureFile(NamedTuple):
    """A file to be read; ``size`` in bytes as it was found. Of a rotated capture ``parts`` are its files in order."""

    path: str
    kind: Kind
    size: int
    parts: tuple[str, ...] = ()


class DamagedCapture(Exception):
    """The bytes end here before they should. ``offset`` counts decompressed bytes."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(offset, reason)
        self.offset, self.reason = offset, reason


class LineTooLong(Exception):
    """A line that is too long and was skipped. ``size`` includes its end, if it has one."""

    def __init__(self, offset: int, size: int) -> None:
        super().__init__(offset, size)
        self.offset, self.size = offset, size

    def __str__(self) -> str:
        return f"a line of {self.size} bytes is passed over, since at most {MAX_LINE_BYTES} are read"


def capture_name(path: str) -> str:
    """The name of a capture in the tables: its file's name without ``.gz`` and ``.jsonl``.

    >>> capture_name("captures/kafkajs.jsonl.gz"), capture_name("kafkajs.pcap.gz")
    ('kafkajs', 'kafkajs.pcap')
    """
    return Path(same_capture(path)).name.removesuffix(LINES_SUFFIX)


def same_capture(path: str) -> str:
    """The path of the uncompressed file that is the same capture as a file, and one with it in the tables."""
    return path.removesuffix(".gz")


def scope_of(path: str) -> str:
    """The capture to which a file of packets belongs, by the names of files that tcpdump and dumpcap rotate.

    >>> scope_of("/t/a.pcap12") == scope_of("/t/a.pcap"), scope_of("/t/a_00002_20261123080000.pcapng")
    (True, '/t/a.pcapng')
    >>> scope_of("/t/a-2026-11-23T08:00:00.pcap"), scope_of("/t/java41.pcap.gz")
    ('/t/a.pcap', '/t/java41.pcap')
    """
    folder, slash, name = same_capture(path).rpartition("/")
    for pattern, rest in ROTATIONS:
        name = pattern.sub(rest, name)
    return f"{folder}{slash}{name}"


def find_files(paths: Iterable[str]) -> tuple[list[CaptureFile], list[tuple[str, str]]]:
    """The captures under these files, folders and URLs, by path; and the unreadable ones, with the reason.

    In a folder, files that are no captures are skipped, such as summaries and tables. A file that the user names must
    be a capture; it is refused otherwise, as are unreadable folders and unreadable files with a capture's name.

    Of ``x.jsonl`` and ``x.jsonl.gz``, which are one capture in the tables, the plain one is read.

    Raises FileNotFoundError: a path that is not there. OSError: a URL that nothing installed reaches.
    """
    found: dict[str, CaptureFile] = {}
    refused: list[tuple[str, str]] = []

    def take(path: str, otherwise: str | None) -> None:
        if as_text(Path(path)) != str(Path(path)):
            refused.append((as_text(Path(path)), "its name is no UTF-8, which the tables need"))
            return
        try:
            if (file := look_at(path)) is not None:
                found[file.path] = file
            elif otherwise is not None and not is_empty(path):
                refused.append((path, otherwise))
        except OSError as error:
            refused.append((path, unreadable(error)))

    for given in paths:
        inside = remote_files(given) if is_url(given) else None
        if inside is None and Path(given).is_dir():
            inside = [str(path.resolve()) for path in files_inside(Path(given), refused)]
        if inside is not None:
            for one in inside:
                take(one, NO_PACKETS if is_named_packets(one) else None)
        elif is_url(given) or Path(given).is_file():
            take(resolved(given), NO_CAPTURE)
        elif Path(given).exists():
            raise FileNotFoundError(f"{given}: neither a file nor a folder")
        else:
            raise FileNotFoundError(f"{given}: no such file or folder")
    best: dict[str, str] = {}
    for file_path in sorted(found):
        best.setdefault(same_capture(file_path), file_path)
    return [found[path] for path in sorted(best.values())], sorted(set(refused))


def is_url(given: str) -> bool:
    return "://" in given


def resolved(given: str) -> str:
    """A path without links, or a URL."""
    return given if is_url(given) else str(Path(given).resolve())


def url_filesystem(url: str) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it. Raises OSError: no package for it is installed."""
    try:
        from fsspec.core import url_to_fs

        found: tuple[Any, str] = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise OSError(f"{url}: URLs are read by fsspec and its package for the scheme ({error})") from None
    return found


def open_input(path: str) -> BinaryIO:
    """Open a path or URL for reading. Raises OSError."""
    if not is_url(path):
        return Path(path).open("rb")
    filesystem, inside = url_filesystem(path)
    return cast("BinaryIO", filesystem.open(inside, "rb"))


def is_empty(path: str) -> bool:
    with open_input(path) as file:
        return not file.read(1)


def remote_files(url: str) -> list[str] | None:
    """The files below a URL that have a capture's name; None of a file. Raises FileNotFoundError: it is not there."""
    filesystem, inside = url_filesystem(url)
    if filesystem.isfile(inside):
        return None
    found = [filesystem.unstrip_protocol(path) for path in filesystem.find(inside)]
    if not found:
        raise FileNotFoundError(f"{url}: no such file or folder")
    return [path for path in found if has_suffix(path)]


def unread_inputs(inputs: Iterable[str], read: Iterable[str]) -> list[str]:
    """Inputs, files or folders, of which no file was read; one file of a capture is read for all of it."""
    found = [same_capture(path) for path in read]
    wanted = {given: same_capture(resolved(given)) for given in inputs}
    return [
        given
        for given, path in wanted.items()
        if not any(one == path or one.startswith(f"{path.rstrip('/')}/") for one in found)
    ]


def files_inside(folder: Path, refused: list[tuple[str, str]]) -> Iterator[Path]:
    """The files below a folder that have a capture's name; folders that cannot be listed are added to ``refused``."""

    def shut(error: OSError) -> None:
        refused.append((as_text(Path(error.filename).resolve()), f"cannot be listed: {error.strerror}"))

    for here, inner, names in os.walk(folder, onerror=shut):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "_")))
        for name in sorted(names):
            inside = Path(here, name)
            if not name.startswith((".", "_")) and has_suffix(name) and inside.is_file():
                yield inside


def as_text(path: Path) -> str:
    """A path with escapes for bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def has_suffix(name: str) -> bool:
    return scope_of(name).endswith(SUFFIXES)


def is_named_packets(name: str) -> bool:
    return scope_of(name).endswith(PACKET_SUFFIXES)


def look_at(place: str | Path) -> CaptureFile | None:
    """The kind of capture that a file is; None if it is none. A file without a whole first line may become one.

    Raises OSError: it cannot be read.
    """
    path = resolved(str(place))
    with open_input(path) as file:
        file.read(1)  # raises OSError
        size = file.seek(0, os.SEEK_END)
    named_lines = same_capture(path).endswith(LINES_SUFFIX)
    try:
        with DecompressedFile(path) as source:
            first = source.read(4)
            source.give_back(first)
            kind: Kind | None = "packets" if first in PACKET_MAGICS else None
            if kind is None and named_lines and starts_a_capture(source):
                kind = "lines"
    except DamagedCapture:
        kind = "lines" if named_lines else "packets" if has_suffix(path) else None
    return CaptureFile(path, kind, size) if kind is not None else None


def starts_a_capture(source: DecompressedFile) -> bool:
    """True if the first two lines may be a capture's; a damaged first line is left to the reader.

    Of long lines only their beginnings are looked at.

    Raises DamagedCapture.
    """
    for number in range(2):
        line = source.read_line(MAX_HEAD_BYTES)
        if len(line) >= MAX_HEAD_BYTES and not line.endswith(b"\n"):
            return number == 0 or NAMED_AS_A_FRAME.search(line) is not None
        try:
            found = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return number == 0
        if isinstance(found, dict) and ("ev" in found or "dir" in found):
            return True
    return False


class DecompressedFile:
    """A file's bytes in order, decompressed. ``position`` counts those taken.

    Reading raises DamagedCapture if gzip is damaged or cut off, or the file cannot be read, once all good bytes before
    have been returned. ``damage`` follows the bytes that were looked at.
    """

    def __init__(self, path: str, content: bytes | None = None) -> None:
        self.path = path
        self.damage: DamagedCapture | None = None
        try:
            self._file: BinaryIO = open_input(path) if content is None else BytesIO(content)
            self._chunks = gzip_chunks(self._file) if self._file.read(2) == GZIP_MAGIC else plain_chunks(self._file)
            self._file.seek(0)
        except OSError as error:
            self._file, self._chunks = BytesIO(), iter(())
            self.damage = DamagedCapture(0, unreadable(error))
        self._buffer = b""
        self._at = 0
        self.position = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def _more(self, mark: bytes = b"", size: int = 0, most: int | None = None) -> bool:
        """Take chunks of the file up to one with ``mark`` in it, or until ``size`` bytes are there; False at the end.

        No more are taken once there are more than ``most`` bytes, what a line may have by default. They are put
        together once, so that what is long costs its length and not the square of it.
        """
        most = MAX_LINE_BYTES if most is None else most
        if self.damage is not None:
            raise self.damage
        held = [self._buffer[self._at :]]
        held_bytes = len(held[0])
        try:
            while True:
                chunk = next(self._chunks, b"")
                held.append(chunk)
                held_bytes += len(chunk)
                if not chunk or (mark in chunk and held_bytes >= size) or held_bytes > most:
                    return chunk != b""
        except (DamagedCapture, OSError) as damage:
            reason = damage.reason if isinstance(damage, DamagedCapture) else unreadable(damage)
            self.damage = DamagedCapture(self.position + held_bytes, reason)
            raise self.damage from None
        finally:
            self._buffer = b"".join(held)
            self._at = 0

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes; fewer only at the end."""
        while len(self._buffer) - self._at < size and self._more(size=size):
            pass
        taken = self._buffer[self._at : self._at + size]
        self._at += len(taken)
        self.position += len(taken)
        return taken

    def peek(self, size: int) -> bytes:
        """The next ``size`` bytes, which stay; fewer at the end, and before damage, which a later read raises."""
        if len(self._buffer) - self._at < size:
            with suppress(DamagedCapture):
                while len(self._buffer) - self._at < size and self._more(size=size):
                    pass
        return self._buffer[self._at : self._at + size]

    def held(self) -> tuple[bytes, int]:
        """The bytes in memory, and where among them those begin that were not taken."""
        return self._buffer, self._at

    def take_up_to(self, at: int) -> None:
        """Take the bytes of ``held`` up to this place."""
        self.position += at - self._at
        self._at = at

    def give_back(self, data: bytes) -> None:
        """Undo the taking of these bytes, the last that were taken."""
        self._buffer = data + self._buffer[self._at :]
        self._at = 0
        self.position -= len(data)

    def text_of_lines(self) -> bytes:
        """The next whole lines with their ends, about a megabyte of them; nothing at the end of the file.

        A last line without an end comes too, by itself: then ``position`` is right after it.

        Raises LineTooLong: the next line is longer than ``MAX_LINE_BYTES``, and has been passed over.
        """
        if len(self._buffer) - self._at < TEXT_BYTES:
            with suppress(DamagedCapture):  # raised when all before it is taken
                self._more(b"\n", TEXT_BYTES)
        while (end := self._buffer.rfind(b"\n", self._at)) < 0:
            if len(self._buffer) - self._at > MAX_LINE_BYTES:
                begins = self.position
                raise LineTooLong(begins, self.pass_line())
            if not self._more(b"\n"):
                return self.read(len(self._buffer) - self._at)
        text = self._buffer[self._at : end + 1]
        self.position += len(text)
        self._at = end + 1
        return text

    def read_line(self, most: int) -> bytes:
        """The next line with its end, if it has one; of a line longer than ``most`` bytes, that many."""
        start = 0
        while (end := self._buffer.find(b"\n", self._at + start, self._at + most)) < 0:
            start = len(self._buffer) - self._at
            if start >= most or not self._more(b"\n", most=most):
                return self.read(min(most, len(self._buffer) - self._at))
        return self.read(end + 1 - self._at)

    def pass_line(self) -> int:
        """Skip the rest of a line without storing it; returns its size, with its end if it has one."""
        begins = self.position
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            self.position += len(self._buffer) - self._at
            self._buffer, self._at = b"", 0
            if not self._more():
                return self.position - begins
        self.position += end + 1 - self._at
        self._at = end + 1
        return self.position - begins


def lines_of(text: bytes) -> list[bytes]:
    """The lines of a text without their ends.

    >>> lines_of(b"a\\n\\nb\\n"), lines_of(b"a"), lines_of(b"")
    ([b'a', b'', b'b'], [b'a'], [])
    """
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"


def plain_chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES * 16):
        yield chunk


def gzip_chunks(file: BinaryIO) -> Iterator[bytes]:
    """The decompressed bytes of all members of a gzip file. Raises DamagedCapture after the last good byte."""
    member = zlib.decompressobj(31)
    given = 0
    started = False
    raw = b""
    while True:
        if not raw:
            raw = file.read(CHUNK_BYTES)
            if not raw:
                break
        if member.eof:
            if not raw.strip(b"\0"):
                raw = b""
                continue
            member = zlib.decompressobj(31)
        started = True
        before = member.copy()
        try:
            chunk = member.decompress(raw, CHUNK_BYTES)
        except zlib.error as error:
            yield from good_bytes(before, raw)
            raise DamagedCapture(given, f"gzip: {error}") from None
        raw = member.unconsumed_tail or member.unused_data
        given += len(chunk)
        if chunk:
            yield chunk
    if started and not member.eof:
        if held := member.flush():  # it may hold some back where a chunk was full
            given += len(held)
            yield held
        raise DamagedCapture(given, "gzip: the file ends before its data do")


def good_bytes(member: zlib._Decompress, raw: bytes) -> Iterator[bytes]:
    """Yield the bytes that a damaged piece still holds, byte by byte up to the damage."""
    for step in (4096, 1):
        while raw:
            before = member.copy()
            try:
                chunk = member.decompress(raw, step)
            except zlib.error:
                member = before
                break
            raw = member.unconsumed_tail
            if chunk:
                yield chunk
            elif member.eof:
                return
