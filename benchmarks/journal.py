"""A journal of records: JSON, one object a line, appended as cells finish.

A process that is killed may leave a last line that was cut off. Such a line is not read, and is removed before the next
record is appended; anywhere else a line that is no JSON is an error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, in their order; none if there is no such file."""
    *lines, last = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else [""]
    return [json.loads(line) for line in ([*lines, last] if _is_whole(last) else lines)]


def append(path: Path, record: dict[str, Any]) -> None:
    """Write one more record, on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(0)
        content = file.read()
        last = content[content.rfind(b"\n") + 1 :]
        if _is_whole(last.decode(errors="replace")):
            file.write(b"\n")
        else:
            file.truncate(len(content) - len(last))
        file.write(json.dumps(record).encode() + b"\n")


def _is_whole(last: str) -> bool:
    """Return whether what follows the last line break is a record all the same."""
    try:
        json.loads(last)
    except ValueError:
        return False
    return True
