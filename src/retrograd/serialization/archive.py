"""Archives of named records: the ZIP format, as far as PyTorch's and NumPy's files use it.

NOTE [Archives]
1. A writer gives every record its size and checksum before its bytes, so that it can write to a
   pipe, and puts the bytes at a multiple of 64, so that they can be mapped. Same records, same
   bytes: there is no time in them.
2. A reader believes nothing. Every record lies between its own header and the next, within the
   file; names are unique; the header before the bytes repeats the directory's. Nothing is unpacked
   to the disk, so what names look like does not matter.
3. A record that is stored takes the memory that it takes in the file. One that is compressed may
   grow, all of them together, to 16 times the file's size and 64 MiB: more is a bomb.
4. A checksum that does not fit raises RuntimeError. It is not looked at where the file is mapped,
   for that would read all of it, nor where it is 0: PyTorch can leave it out.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .files import Source

__all__ = ["Allowance", "Archive", "archived"]

BROKEN = (
    "PytorchStreamReader failed reading zip archive: {why}. The file was cut or altered, or it is "
    "no archive: read it from a copy that is whole."
)
BOMB = (
    "the file would take more than {most} bytes in memory, {times} times its own size. Files that "
    "save writes do not; if this one is honest, unpack it and pack it again without compression."
)
ALIGNMENT = 64
LOCAL, DIRECTORY, END, END_64, LOCATOR = (b"PK" + pair for pair in
                                         (b"\3\4", b"\1\2", b"\5\6", b"\6\6", b"\6\7"))  # fmt: skip
STORED, DEFLATED = 0, 8
MOST_32, MOST_16 = 2**32 - 1, 2**16 - 1
TIMES, FREE = 16, 1 << 26
VERSION, UTF_8, MIDNIGHT, DAY = 45, 0x800, 0, 0x21  # 1980-01-01, where ZIP's time begins


class Allowance:
    """How many bytes may be made of a file beyond those that it holds: NOTE [Archives], 3."""

    def __init__(self, size: int) -> None:
        self.most = self.left = TIMES * size + FREE

    def take(self, count: int) -> None:
        """Count bytes about to be made; RuntimeError if they are too many."""
        self.left -= count
        if self.left < 0:
            raise RuntimeError(BOMB.format(most=self.most, times=TIMES))


# -- writing -----------------------------------------------------------------------------------


_sums = True


def get_crc32_options() -> bool:
    """Whether `save` writes the check sums of records; True at first.

    >>> rg.serialization.get_crc32_options()
    True
    """
    return _sums


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether `save` writes the check sums of records. Without, other programs for archives may
    refuse the file. Source: PyTorch's `torch.serialization.set_crc32_options`.

    >>> rg.serialization.set_crc32_options(True)
    """
    global _sums
    _sums = bool(compute_crc32)


def archived(records: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    """The bytes, part by part, of an archive of records, each a name and what has a buffer."""
    directory, place = [], 0
    for name, content in records:
        label, block = name.encode(), memoryview(content).cast("B")
        crc, size = zlib.crc32(block) if _sums else 0, block.nbytes
        wide = size > MOST_32
        sizes = struct.pack("<HHQQ", 1, 16, size, size) if wide else b""
        before = place + 30 + len(label) + len(sizes)
        gap = -(before + 4) % ALIGNMENT
        extra = sizes + struct.pack("<2sH", b"FB", gap) + bytes(gap)
        short = MOST_32 if wide else size
        fields = (VERSION, UTF_8, STORED, MIDNIGHT, DAY, crc, short, short, len(label))
        yield LOCAL + struct.pack("<5H3L2H", *fields, len(extra)) + label + extra
        yield block
        directory.append(directory_entry(label, crc, size, place))
        place = before + 4 + gap + size
    content = b"".join(directory)
    yield content + ending(len(directory), len(content), place)


def directory_entry(label: bytes, crc: int, size: int, place: int) -> bytes:
    """What the directory says of a record."""
    far = [number for number in (size, size, place) if number > MOST_32]
    extra = struct.pack(f"<HH{len(far)}Q", 1, 8 * len(far), *far) if far else b""
    short, start = min(size, MOST_32), min(place, MOST_32)
    fields = (VERSION, VERSION, UTF_8, STORED, MIDNIGHT, DAY, crc, short, short, len(label))
    ends = (len(extra), 0, 0, 0, 0, start)
    return DIRECTORY + struct.pack("<6H3L5H2L", *fields, *ends) + label + extra


def ending(count: int, size: int, place: int) -> bytes:
    """The records at the end of an archive, after its directory."""
    wide = b""
    if count >= MOST_16 or size >= MOST_32 or place >= MOST_32:
        fields = (44, VERSION, VERSION, 0, 0, count, count, size, place)
        wide = END_64 + struct.pack("<Q2H2L4Q", *fields)
        wide += LOCATOR + struct.pack("<LQL", 0, place + size, 1)
    few = min(count, MOST_16)
    return (
        wide
        + END
        + struct.pack("<4H2LH", 0, 0, few, few, min(size, MOST_32), min(place, MOST_32), 0)
    )


# -- reading -----------------------------------------------------------------------------------


class Record(NamedTuple):
    """The place of a record in an archive, and what its header repeats."""

    label: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    place: int


class Archive:
    """The records of an archive by name: NOTE [Archives]."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.allowance = Allowance(source.size)
        self.records: dict[str, Record] = {}
        place, size, count = self.directory()
        content = source.bytes(place, size)
        at = 0
        for _ in range(count):
            at = self.enter(content, at)
        if at != size:
            raise broken("its directory has more entries than it says")
        starts = sorted({record.place for record in self.records.values()})
        if len(starts) < count or (starts and starts[-1] >= place):
            raise broken("records lie within each other")
        self.next = dict(zip(starts, [*starts[1:], place], strict=True))

    def __contains__(self, name: str) -> bool:
        return name in self.records

    def directory(self) -> tuple[int, int, int]:
        """(place, size, number of entries) of the directory."""
        source = self.source
        tail = source.bytes(max(source.size - 22 - MOST_16, 0), min(source.size, 22 + MOST_16))
        at = tail.rfind(END)
        if at < 0 or len(tail) - at < 22:
            raise broken("failed finding central directory")
        disk, first, here, count, size, place, comment = struct.unpack_from("<4H2LH", tail, at + 4)
        if at + 22 + comment != len(tail):
            raise broken("bytes follow its end")
        end = source.size - len(tail) + at
        if end >= 20 and tail[max(at - 20, 0) : at].startswith(LOCATOR):
            end = struct.unpack_from("<Q", tail, at - 12)[0]
            fields = struct.unpack("<4sQ2H2L4Q", source.bytes(end, 56))
            if fields[0] != END_64:
                raise broken("failed finding central directory")
            disk, first, here, count, size, place = fields[4:]
        if disk or first or here != count or place + size != end or count * 46 > size:
            raise broken("its directory is not where it should be")
        return place, size, count

    def enter(self, content: bytes, at: int) -> int:
        """Take up the entry that begins at `at` in the directory; where the next one does."""
        if content[at : at + 4] != DIRECTORY or len(content) < at + 46:
            raise broken("invalid header or archive is corrupted")
        fields = struct.unpack_from("<6H3L5H2L", content, at + 4)
        _, _, flags, method, _, _, crc, packed, size, *lengths, _, _, _, place = fields
        begin: int = at + 46
        label = content[begin : begin + lengths[0]]
        after: int = begin + sum(lengths)
        if after > len(content):
            raise broken("invalid header or archive is corrupted")
        extra = content[begin + lengths[0] : begin + lengths[0] + lengths[1]]
        size, packed, place = widened([size, packed, place], extra)
        try:
            name = label.decode()
        except UnicodeDecodeError:
            raise broken("the name of a record is no text") from None
        if name in self.records:
            raise broken(f"it has two records {name!r}")
        self.records[name] = Record(label, flags, method, crc, packed, size, place)
        return after

    def bytes(self, name: str) -> bytes:
        """A record that is small, or parsed at once."""
        content: bytes = self.memory(name).tobytes()
        return content

    def memory(self, name: str) -> Any:
        """A record as a flat array of bytes, which may be written; KeyError if there is none."""
        record = self.records[name]
        place = self.begin(record, name)
        packed = self.source.memory(place, record.packed)
        mapped = self.source.mapped and record.method == STORED
        content = packed if record.method == STORED else self.inflated(packed, record, name)
        if content.size != record.size:
            raise broken(f"the record {name!r} has another size than it says")
        if not mapped and record.crc and zlib.crc32(content) != record.crc:
            raise broken(f"the checksum of the record {name!r} does not fit its bytes")
        return content

    def begin(self, record: Record, name: str) -> int:
        """The place of a record's bytes, by the header before them."""
        if record.flags & 0x2041 or record.method not in (STORED, DEFLATED):
            raise broken(f"the record {name!r} is encrypted, or compressed by another method")
        header = self.source.bytes(record.place, 30)
        lengths = struct.unpack_from("<2H", header, 26)
        begin: int = record.place + 30 + sum(lengths)
        label = self.source.bytes(record.place + 30, lengths[0])
        method = struct.unpack_from("<H", header, 8)[0]
        if header[:4] != LOCAL or label != record.label or method != record.method:
            raise broken(f"the header of the record {name!r} is not where it should be")
        if begin + record.packed > self.next[record.place]:
            raise broken(f"the record {name!r} reaches into the next one")
        return begin

    def inflated(self, packed: Any, record: Record, name: str) -> Any:
        """The bytes of a compressed record: NOTE [Archives], 3."""
        self.allowance.take(record.size)
        try:
            unpacked = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, record.size + 1)
        except zlib.error as error:
            raise broken(f"the record {name!r} cannot be decompressed: {error}") from None
        return np.frombuffer(bytearray(unpacked), np.uint8)


def widened(numbers: list[int], extra: bytes) -> list[int]:
    """Sizes and place, those beyond 32 bits from the extra fields."""
    wide, at = b"", 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            wide = extra[at + 4 : at + 4 + length]
        at += 4 + length
    missing = numbers.count(MOST_32)
    if len(wide) < 8 * missing:
        raise broken("invalid header or archive is corrupted")
    found = iter(struct.unpack_from(f"<{missing}Q", wide))
    return [next(found) if number == MOST_32 else number for number in numbers]


def broken(why: str) -> RuntimeError:
    """The error for an archive that is none."""
    return RuntimeError(BROKEN.format(why=why))
