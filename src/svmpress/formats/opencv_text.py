"""The two texts of OpenCV's ``FileStorage``, XML and YAML, as one tree of mappings, lists and strings.

A leaf is a string: a word, a number, or numbers with blanks between them. OpenCV's YAML is a dialect that YAML
libraries refuse (``%YAML:1.0``, ``key:value`` without a blank), and small: mappings and lists by indentation, one
level of ``[ ... ]`` and ``{ ... }``, a type after ``!!``. The tree is no larger than the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from svmpress.errors import FormatError, shown
from svmpress.formats.markup import Element, read_xml

Tree = str | Sequence["Tree"] | Mapping[str, "Tree"]

_MAX_DEPTH = 32
_WIDTH = 76
_KEY = re.compile(r"([A-Za-z_][\w.-]*):(?:\s+|(?=[^\s])|$)")


def read_tree(path: Path) -> Mapping[str, Tree]:
    """Return the top level of a file: the stored objects by name.

    Raises
    ------
    FormatError
        Which line is neither XML nor YAML of OpenCV.
    """
    with path.open("rb") as file:
        head = file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"<"):
        root = read_xml(path)
        if root.name != "opencv_storage":
            raise FormatError(f"{path}: the root of OpenCV's XML is <opencv_storage>, not <{shown(root.name)}>")
        tree = _from_xml(path, root)
    else:
        tree = _Yaml(path).tree()
    if not isinstance(tree, Mapping):
        raise FormatError(f"{path} holds no object")
    return tree


def _from_xml(path: Path, element: Element) -> Tree:
    if not element.children:
        return element.text.strip().strip('"')
    if all(child.name == "_" for child in element.children):
        return [_from_xml(path, child) for child in element.children]
    tree: dict[str, Tree] = {}
    for child in element.children:
        if child.name in tree:
            raise FormatError(f"{path}, line {child.line}: <{shown(child.name)}> is there twice")
        tree[child.name] = _from_xml(path, child)
    return tree


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


class _Yaml:
    """A reader of OpenCV's YAML: ``self.lines`` with continued brackets joined, and the place we are at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as e:
            raise FormatError(f"{path} is not text") from e
        self.lines = list(self._joined(text))
        self.place = 0

    def fail(self, number: int, message: str) -> NoReturn:
        raise FormatError(f"{self.path}, line {number}: {shown(message)}")

    def _joined(self, text: str) -> Iterator[_Line]:
        parts: list[str] = []
        start, depth = 0, 0
        for number, line in enumerate(text.splitlines(), start=1):
            content = line.strip()
            if not parts and (not content or content.startswith(("#", "%")) or content in ("---", "...")):
                continue
            if not parts:
                start, indent = number, len(line) - len(line.lstrip(" "))
            parts.append(content)
            depth += sum(map(content.count, "[{")) - sum(map(content.count, "]}"))
            if depth <= 0:
                yield _Line(start, indent, " ".join(parts))
                parts, depth = [], 0
        if parts:
            self.fail(start, "the bracket that opens here is never closed; the file may be truncated")

    def tree(self) -> Tree:
        if not self.lines:
            raise FormatError(f"{self.path} is empty")
        tree = self._block(self.lines[0].indent, 0)
        if self.place < len(self.lines):
            self.fail(self.lines[self.place].number, "the indentation fits nothing above")
        return tree

    def _block(self, indent: int, depth: int) -> Tree:
        """Return what follows at an indentation: a list if its lines start with ``-``, else a mapping."""
        if depth > _MAX_DEPTH:
            self.fail(self.lines[self.place].number, f"nested more than {_MAX_DEPTH} deep")
        items: list[Tree] = []
        entries: dict[str, Tree] = {}
        while self.place < len(self.lines) and self.lines[self.place].indent == indent:
            line = self.lines[self.place]
            if line.text == "-" or line.text.startswith("- "):
                items.append(self._value(line, line.text[1:].strip(), depth))
                continue
            match = _KEY.match(line.text)
            if match is None or match[1] in entries:
                self.fail(line.number, f"expected 'key: value' with a new key, not {line.text[:40]!r}")
            entries[match[1]] = self._value(line, line.text[match.end() :].strip(), depth)
        if items and entries:
            self.fail(self.lines[self.place - 1].number, "a list and a mapping are mixed")
        return items or entries

    def _value(self, line: _Line, text: str, depth: int) -> Tree:
        self.place += 1
        if text.startswith("!!"):
            text = text.partition(" ")[2].strip()
        if text.startswith("["):
            return text.strip("[] ").replace(",", " ")
        if text.startswith("{"):
            pairs = [pair.partition(":") for pair in text.strip("{} ").split(",") if pair.strip()]
            return {key.strip(): value.strip() for key, _, value in pairs}
        if text:
            return text.strip('"')
        if self.place < len(self.lines) and self.lines[self.place].indent > line.indent:
            return self._block(self.lines[self.place].indent, depth + 1)
        return ""


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


class Matrix(NamedTuple):
    """A leaf that OpenCV reads as a ``Mat``: a column of whole numbers."""

    numbers: str


Written = str | Matrix | Sequence["Written"] | Mapping[str, "Written"]
"""What can be written: a tree, with matrices among its leaves. A leaf of several numbers is a list of OpenCV's."""


def xml_lines(name: str, tree: Written) -> Iterator[str]:
    """Yield the lines of an XML file with one object."""
    yield from ('<?xml version="1.0"?>', "<opencv_storage>")
    yield from _xml(name, tree, "")
    yield "</opencv_storage>"


def _xml(name: str, tree: Written, pad: str) -> Iterator[str]:
    if isinstance(tree, Matrix):
        n = len(tree.numbers.split())
        inside = f"<rows>{n}</rows><cols>1</cols><dt>i</dt><data>{tree.numbers}</data>"
        yield f'{pad}<{name} type_id="opencv-matrix">{inside}</{name}>'
    elif isinstance(tree, str):
        lines = _wrapped(tree.split())
        yield f"{pad}<{name}>{lines[0]}" + (f"</{name}>" if len(lines) == 1 else "")
        for i, line in enumerate(lines[1:], start=2):
            yield f"{pad}  {line}" + (f"</{name}>" if i == len(lines) else "")
    else:
        yield f"{pad}<{name}>"
        pairs = tree.items() if isinstance(tree, Mapping) else [("_", item) for item in tree]
        for key, value in pairs:
            yield from _xml(key, value, pad + "  ")
        yield f"{pad}</{name}>"


def yaml_lines(name: str, tree: Written) -> Iterator[str]:
    """Yield the lines of a YAML file with one object."""
    yield from ("%YAML:1.0", "---")
    yield from _yaml(f"{name}:", tree, "")


def _yaml(head: str, tree: Written, pad: str) -> Iterator[str]:
    if isinstance(tree, Matrix):
        yield f"{pad}{head} !!opencv-matrix"
        rows = {"rows": str(len(tree.numbers.split())), "cols": "1", "dt": "i"}
        for key, value in rows.items():
            yield f"{pad}   {key}: {value}"
        yield f"{pad}   data: [ {', '.join(tree.numbers.split())} ]"
    elif isinstance(tree, str) and (head == "-" or len(tree.split()) > 1 or head in ("alpha:", "index:")):
        lines = _wrapped([f"{token}," for token in tree.split()])
        lines[-1] = lines[-1].removesuffix(",") + " ]"
        yield f"{pad}{head} [ {lines[0]}"
        for line in lines[1:]:
            yield f"{pad}    {line}"
    elif isinstance(tree, str):
        yield f"{pad}{head} {tree}"
    else:
        yield f"{pad}{head}"
        pairs = [(f"{k}:", v) for k, v in tree.items()] if isinstance(tree, Mapping) else [("-", v) for v in tree]
        for start, part in pairs:
            yield from _yaml(start, part, pad + "   ")


def _wrapped(tokens: list[str]) -> list[str]:
    """Return the tokens in lines: OpenCV's own parser of older versions has a line buffer."""
    lines, width = [""], 0
    for token in tokens:
        if width and width + len(token) > _WIDTH:
            lines.append("")
            width = 0
        lines[-1] += f" {token}" if width else token
        width += len(token) + 1
    return lines
