"""XML that nobody vouches for, as a tree: no document type, hence no entities and nothing fetched from elsewhere.

Python's own ``pyexpat`` does the parsing. What a hostile file could do with XML needs a document type declaration
(entities that expand to gigabytes, files of the reader's own machine), and none of the model formats has one, so a
file with one is refused. Memory grows with the file and with nothing that the file claims.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from svmpress.errors import FormatError

_MAX_DEPTH = 64
_CHUNK = 1 << 20


@dataclass
class Element:
    """An element of an XML file: its name without a namespace, attributes, children and own text."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text between the children, put together."""
        return "".join(self.texts)

    def all(self, name: str) -> list[Element]:
        """Return the children of a name."""
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Element | None:
        """Return the first child of a name, or None."""
        return next((child for child in self.children if child.name == name), None)


def read_xml(path: Path) -> Element:
    """Return the root of an XML file.

    Raises
    ------
    FormatError
        Which line is not XML, or has what no model needs: a document type, or elements nested 64 deep.
    """
    from xml.parsers import expat

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    top = Element("", {}, 0)
    open_elements = [top]

    def fail(message: str) -> NoReturn:
        raise FormatError(f"{path}, line {parser.CurrentLineNumber}: {message}")

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > _MAX_DEPTH:
            fail(f"elements are nested more than {_MAX_DEPTH} deep")
        element = Element(name.rpartition(" ")[2], attributes, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def refuse(*_: object) -> None:
        fail("a model needs no document type declaration, and svmpress reads no file that has one")

    def data(text: str) -> None:
        open_elements[-1].texts.append(text)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = refuse
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                parser.Parse(chunk)
            parser.Parse(b"", True)
    except expat.ExpatError as e:
        why = expat.errors.messages.get(e.code, "it cannot be parsed")
        raise FormatError(f"{path}, line {e.lineno}: not well-formed XML ({why}); the file may be truncated") from e
    except (ValueError, LookupError) as e:  # an encoding that expat does not know
        raise FormatError(f"{path} is not XML that can be read: {e}") from e
    return top.children[0]
