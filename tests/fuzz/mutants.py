"""Changes to files: of bytes, of what stands in them as text, and of what is packed in them."""

from __future__ import annotations

import io
import random
import re
import struct
import zipfile
from collections.abc import Sequence

WORDS = [b"0", b"-1", b"1e999", b"nan", b"-inf", b"1e-320", b"2147483647", b"2147483648", b"4294967296", b"1_0",
         b"9223372036854775807", b"18446744073709551616", b"9" * 5000, b"", b" ", b"\n", b":", b"'", b'"', b"\\", b"\0",
         b"\xff", b"\xed\xa0\x80", b"{", b"[" * 3000, b"None", b"True", b"(", b"1j", b"<U900000000", b"|O", b"<f16",
         b"0x10", b"1:1", b"100000000:1", b"16777216:1", b"-1:1", b"1 " * 500]  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutant(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return a file with one to four changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if content.startswith(b"PK") and rng.random() < 0.6:
            content = _repacked(content, others, rng)
        else:
            content = rng.choice(_CHANGES)(content, others, rng)
    return content


def _flip(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    if not content:
        return b"\0"
    i = rng.randrange(len(content))
    return content[:i] + bytes([content[i] ^ (1 << rng.randrange(8))]) + content[i + 1 :]


def _set(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    i = rng.randrange(len(content) + 1)
    width = rng.choice((1, 2, 4, 8))
    value = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
    return content[:i] + bytes([value]) * width + content[i + width :]


def _integer(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    i = rng.randrange(len(content) + 1)
    form = rng.choice(("<H", "<I", "<Q", ">I"))
    value = rng.choice((0, 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1))
    packed = struct.pack(form, value % 2 ** (8 * struct.calcsize(form)))
    return content[:i] + packed + content[i + len(packed) :]


def _cut(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    i, j = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:i] if rng.random() < 0.5 else content[:i] + content[j:]


def _repeat(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    i, j = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:j] + content[i:j] * rng.choice((1, 2, 30)) + content[j:]


def _splice(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice(others)
    i, j = rng.randrange(len(content) + 1), rng.randrange(len(other) + 1)
    return content[:i] + other[j : j + rng.choice((4, 40, 400))] + content[i:]


def _word(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    i = rng.randrange(len(content) + 1)
    return content[:i] + rng.choice(WORDS) + content[i + rng.choice((0, 1, 3)) :]


def _number(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return _word(content, others, rng)
    chosen = rng.choice(found)
    return content[: chosen.start()] + rng.choice(WORDS) + content[chosen.end() :]


def _lines(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            lines[i], lines[j] = lines[j], lines[i]
        case 1:
            del lines[i]
        case _:
            lines.insert(i, lines[j])
    return b"".join(lines)


_CHANGES = [_flip, _flip, _set, _integer, _cut, _repeat, _splice, _word, _number, _number, _lines]


def _repacked(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Change a member of a zip file and pack it again, so that sums and lengths are right."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except Exception:  # it was damaged by an earlier change
        return _flip(content, others, rng)
    if not members:
        return content
    i = rng.randrange(len(members))
    name, member = members[i]
    match rng.randrange(8):
        case 0:
            del members[i]
        case 1:
            members[i] = (members[rng.randrange(len(members))][0], member)
        case 2:
            members[i] = (name, members[rng.randrange(len(members))][1])
        case _:
            members[i] = (name, rng.choice(_CHANGES)(member, others, rng))
    stream = io.BytesIO()
    kind = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, member in {name: member for name, member in members}.items():  # noqa: C416 (of equal names the last)
            archive.writestr(zipfile.ZipInfo(name) if kind == zipfile.ZIP_STORED else name, member)
    return stream.getvalue()
