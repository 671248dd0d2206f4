"""Look through the built site: every link leads somewhere, and nothing is fetched from elsewhere when a page is viewed.

    python docs/_site/check.py build/site

Addresses of other sites are counted, not asked: ``make docs`` works without a network.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a":
            self.links += [given["href"]] if "href" in given else []
        elif "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(given["href"])


def elsewhere(address: str) -> bool:
    """Return whether an address is on another site."""
    return address.startswith("//") or urlsplit(address).scheme not in ("", "data")


def faults(site: Path) -> tuple[list[str], int, int]:
    """Return what is wrong, and how many pages and addresses of other sites there are."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    found, foreign = [], set()
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name} loads {address}" for address in page.loads if elsewhere(address)]
        for address in {*page.links, *page.loads}:
            if elsewhere(address):
                foreign.add(address)
                continue
            parts = urlsplit(address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.scheme != "data" and not target.is_file():
                found.append(f"{name} links to {address}, which is not there")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name} links to {address}, and there is no such place on that page")
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        found += [
            f"{sheet.relative_to(site)} loads {a}" for a in re.findall(r"url\(['\"]?((?:https?:)?//[^)'\"]+)", text)
        ]
    return found, len(pages), len(foreign)


def main() -> int:
    """Print what is wrong; the exit code is 1 where anything is."""
    found, pages, foreign = faults(Path(sys.argv[1]))
    sys.stdout.write(
        "\n".join([*found, f"{pages} pages, {len(found)} faults; {foreign} addresses of other sites not asked\n"])
    )
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
