"""Figures as SVG text, by hand: a frame with two axes, and the marks that go into it.

Colours are classes of the page's style sheet, so that a figure follows the reader's light or dark mode.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 380, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 42


@dataclass(frozen=True)
class Axis:
    """One axis: from numbers to places between 0 and 1.

    Parameters
    ----------
    low, high : float
    label : str
    log : bool
    percent : bool
        Whether ticks are told in per cent.
    """

    low: float
    high: float
    label: str
    log: bool = False
    percent: bool = False

    @classmethod
    def of(cls, values: Sequence[float] | NDArray[np.floating], label: str, percent: bool = False) -> Axis:
        """Return an axis that holds all values with a little room."""
        a = np.asarray(values, dtype=float)
        low, high = (float(a.min()), float(a.max())) if a.size else (0.0, 1.0)
        room = 0.05 * (high - low) or 0.5 * (abs(low) or 1.0)
        return cls(low - room, high + room, label, percent=percent)

    def place(self, value: float) -> float:
        """Return where a number is."""
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return round numbers along the axis, with their text.

        Examples
        --------
        >>> Axis(0.0, 1.0, "share").ticks()[:2]
        [(0.0, '0'), (0.2, '0.2')]
        """
        if self.log:
            candidates = [m * 10.0**e for e in range(-3, 10) for m in (1, 2, 5)]
            inside = [t for t in candidates if self.low <= t <= self.high * 1.0001]
            few = [t for t in inside if str(f"{t:e}")[0] == "1"] if len(inside) > 7 else inside
            return [(t, _short(t)) for t in few]
        raw = (self.high - self.low) / 5
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        found = [round(k * step, 12) for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [(t, f"{100 * t:.10g} %" if self.percent else _short(t)) for t in found]


def _short(t: float) -> str:
    if abs(t) >= 1e6 or (t and abs(t) < 1e-3):
        return f"{t:.0e}"
    return f"{t:,.10g}"


class Plot:
    """A figure with two axes; marks are added in the units of these."""

    def __init__(self, x: Axis, y: Axis, title: str) -> None:
        self.x, self.y, self.title = x, y, title
        self._marks: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point in the figure, in its own pixels."""
        across, up = self.x.place(x), self.y.place(y)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """Add a line through points."""
        text = " ".join(f"{a:.1f},{b:.1f}" for a, b in (self.at(*p) for p in points))
        self._marks.append(f'<polyline class="{kind}" points="{text}"/>')

    def dots(self, points: Sequence[tuple[float, float]], kind: str, radius: float = 2.0, fill: str = "") -> None:
        """Add dots; thousands of them as one path, which takes a third of the bytes."""
        style = f' style="fill:{fill}"' if fill else ""
        r = f"{radius:.1f}"
        parts = []
        for p in points:
            a, b = self.at(*p)
            parts.append(f"M{a - radius:.1f} {b:.1f}a{r} {r} 0 1 0 {2 * radius:.1f} 0a{r} {r} 0 1 0-{2 * radius:.1f} 0")
        self._marks.append(f'<path class="{kind}"{style} d="{"".join(parts)}"/>')

    def add(self, text: str) -> None:
        """Add a mark that is SVG already."""
        self._marks.append(text)

    def text(self) -> str:
        """Return the figure."""
        parts = []
        for value, label in self.x.ticks():
            a, _ = self.at(value, self.y.low)
            parts.append(f'<path class="grid" d="M{a:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
            parts.append(f'<text x="{a:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{label}</text>')
        for value, label in self.y.ticks():
            _, b = self.at(self.x.low, value)
            parts.append(f'<path class="grid" d="M{LEFT} {b:.1f}H{WIDTH - RIGHT}"/>')
            parts.append(f'<text x="{LEFT - 5}" y="{b + 4:.1f}" text-anchor="end">{label}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(self.x.label)}</text>')
        up = (TOP + HEIGHT - BOTTOM) / 2
        parts.append(
            f'<text transform="translate(12 {up}) rotate(-90)" text-anchor="middle">{escape(self.y.label)}</text>'
        )
        return framed("".join([*parts, *self._marks]), self.title, WIDTH, HEIGHT)


def framed(content: str, title: str, width: float, height: float) -> str:
    """Return SVG with a title that is read aloud."""
    size = f'viewBox="0 0 {width:g} {height:g}" style="max-width:{1.35 * width:.0f}px"'
    return f'<svg {size} role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>{content}</svg>'


def histogram_steps(values: NDArray[np.floating], edges: NDArray[np.floating]) -> list[tuple[float, float]]:
    """Return the outline of a histogram, as shares of all values."""
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / max(1, values.size)
    points = [(float(edges[0]), 0.0)]
    for k, share in enumerate(counts):
        points += [(float(edges[k]), float(share)), (float(edges[k + 1]), float(share))]
    return [*points, (float(edges[-1]), 0.0)]


def png(pixels: NDArray[np.uint8]) -> str:
    """Return an image, (h, w) grey or (h, w, 3) RGB, as a data URI.

    Examples
    --------
    >>> png(np.zeros((2, 2), np.uint8))[:30]
    'data:image/png;base64,iVBORw0K'
    """
    h, w = pixels.shape[:2]
    raw = b"".join(b"\0" + np.ascontiguousarray(row).tobytes() for row in pixels)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", w, h, 8, 0 if pixels.ndim == 2 else 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()


def cells(
    table: NDArray[np.floating], names: Sequence[str], title: str, colour: Callable[[float], str], numbers: str
) -> str:
    """Return a square table (K, K) as coloured cells, rows down; ``numbers`` formats them where there is room."""
    K = len(names)
    side = max(10.0, min(30.0, 330 / K))
    left = 12 + 6.2 * min(10, max(map(len, names)))
    right, bottom = left + side * K + 6, side * K + 6 + left
    parts = []
    for i in range(K):
        for j in range(K):
            x, y, value = left + side * j, 4 + side * i, float(table[i, j])
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" {colour(value)}/>')
            if value and side >= 20:
                parts.append(
                    f'<text class="cell" x="{x + side / 2:.1f}" y="{y + side / 2 + 4:.1f}" text-anchor="middle">'
                    f"{value:{numbers}}</text>"
                )
    for i, name in enumerate(names):
        short, y = escape(shortened(name)), 4 + side * (i + 0.5) + 4
        x = left + side * (i + 0.5) + 4
        parts.append(f'<text x="{left - 4:.1f}" y="{y:.1f}" text-anchor="end">{short}</text>')
        place = f"translate({x:.1f} {side * K + 10:.1f}) rotate(-90)"
        parts.append(f'<text transform="{place}" text-anchor="end">{short}</text>')
    return framed("".join(parts), title, max(right, 200), bottom)


def shortened(name: str, most: int = 10) -> str:
    """Return a name that fits beside a figure."""
    return name if len(name) <= most else name[: most - 1] + "…"
