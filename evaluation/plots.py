"""Plots as SVG text, in the colours of the page around them: intervals, curves, bars, sizes.

Every colour is a CSS variable with a fallback, so a plot follows a page from light to dark and
still reads alone. A text never lies on a mark, and each series has a shape besides its colour.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 760  # units; the page scales the plot to its column
_ROW: Final = 22
_LEAST_LEFT: Final = 90
_RIGHT: Final = 24
_BOTTOM: Final = 44
_TOP: Final = 12
_HEIGHT: Final = 300
_BARS: Final = 190  # of a plot of bars
_TICKS: Final = 6
_LEGEND_ROW: Final = 20
_DODGE: Final = 6  # units between series that share a place
_LETTER: Final = 6.6  # width of a letter at 12 units
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7b61c4")


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval; ``x`` places it in a curve."""

    mean: float
    low: float
    high: float
    x: float = 0.0
    label: str = ""


def interval_plot(rows: Mapping[str, Mapping[str, Mark]], axis: str, *, zero: bool = False) -> str:
    """Draw values with intervals, a line a row and a shape a series.

    Args:
        rows: by row label, by series.
        axis: what the values are.
        zero: draw a line at zero, for differences.
    """
    series = list(dict.fromkeys(name for marks in rows.values() for name in marks))
    marks = [mark for own in rows.values() for mark in own.values()]
    scale = _Scale.around([m.low for m in marks] + [m.high for m in marks] + [0.0] * zero)
    left = _left(rows)
    scale = scale.onto(left, WIDTH - _RIGHT)
    step = _ROW * max(1, 0.62 * len(series))
    bottom = _TOP + step * len(rows)
    parts = _axis_below(scale, _TOP, bottom, axis)
    if zero:
        parts.append(_line(scale(0), _TOP, scale(0), bottom, "var(--ink,#222)", 1.5))
    for index, (label, own) in enumerate(rows.items()):
        middle = _TOP + step * (index + 0.5)
        parts.append(_text(left - 10, middle + 4, label, "end"))
        for name, mark in own.items():
            place = series.index(name)
            y = middle + (place - (len(series) - 1) / 2) * step / (len(series) + 0.6)
            colour = _colour(place)
            title = f"{label}, {name}: {mark.mean:.1f} ({mark.low:.1f} to {mark.high:.1f})"
            parts.append(_line(scale(mark.low), y, scale(mark.high), y, colour, 2))
            parts.append(_shape(place, scale(mark.mean), y, title))
    return _svg(parts, bottom + _BOTTOM, series)


def curve_plot(series: Mapping[str, Sequence[Mark]], x_axis: str, y_axis: str) -> str:
    """Draw a curve with intervals for each series, over a logarithmic x axis.

    Series that share a place stand a little beside each other.
    """
    marks = [mark for own in series.values() for mark in own]
    up = _Scale.around([m.low for m in marks] + [m.high for m in marks])
    up = up.onto(_HEIGHT - _BOTTOM, _TOP)
    logs = [math.log2(mark.x) for mark in marks]
    margin = 0.08 * (max(logs) - min(logs)) or 1.0
    along = _Scale(min(logs) - margin, max(logs) + margin).onto(64, WIDTH - _RIGHT)
    sharing: dict[float, list[str]] = {}
    for name, own in series.items():
        for mark in own:
            sharing.setdefault(mark.x, []).append(name)
    parts = _axis_left(up, 64, WIDTH - _RIGHT, y_axis)
    bottom = _HEIGHT - _BOTTOM
    for value in _spaced(sorted({mark.x for mark in marks}), along):
        x = along(math.log2(value))
        parts += [_line(x, bottom, x, bottom + 4, "var(--muted,#777)", 1)]
        parts += [_text(x, bottom + 17, _short(value), "middle")]
    parts.append(_text((64 + WIDTH) / 2, _HEIGHT - 6, x_axis, "middle"))
    for place, (name, own) in enumerate(series.items()):
        colour = _colour(place)
        points = [
            (along(math.log2(m.x)) + _aside(sharing[m.x], name), up(m.mean), m)
            for m in sorted(own, key=lambda m: m.x)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" opacity="0.6"/>')
        for x, y, mark in points:
            parts.append(_line(x, up(mark.low), x, up(mark.high), colour, 1.5))
            title = f"{name} {mark.label}: {mark.mean:.1f} ({mark.low:.1f} to {mark.high:.1f})"
            parts.append(_shape(place, x, y, title))
    return _svg(parts, _HEIGHT, list(series))


def size_plot(series: Mapping[str, Sequence[int]], axis: str) -> str:
    """Draw for each series which share of the chunks has which size, in doubling steps."""
    most = max((max(own, default=1) for own in series.values()), default=1)
    bins = max(1, math.ceil(math.log2(most + 1)))
    left = _left(series)
    scale = _Scale(0, bins).onto(left, WIDTH - _RIGHT)
    parts: list[str] = []
    height = 40
    for place, (name, own) in enumerate(series.items()):
        base = _TOP + height * (place + 1)
        counts = [0] * bins
        for value in own:
            counts[min(bins - 1, int(math.log2(max(value, 1))))] += 1
        parts.append(_text(left - 10, base - 8, name, "end"))
        parts.append(_line(left, base, WIDTH - _RIGHT, base, "var(--rule,#ccc)", 1))
        for index, count in enumerate(counts):
            share = count / max(len(own), 1)
            tall = share * (height - 6) / 0.6
            title = f"{name}: {100 * share:.1f} % have {2**index:,} to {2 ** (index + 1) - 1:,}"
            parts.append(
                f'<rect x="{scale(index) + 1:.1f}" y="{base - min(tall, height - 6):.1f}" '
                f'width="{scale(1) - scale(0) - 2:.1f}" height="{min(tall, height - 6):.1f}" '
                f'fill="{_colour(place)}"><title>{escape(title)}</title></rect>'
            )
    bottom = _TOP + height * len(series)
    steps = range(0, bins + 1, 2)
    parts += [_text(scale(step), bottom + 16, _short(2**step), "middle") for step in steps]
    parts.append(_text((left + WIDTH) / 2, bottom + 38, axis, "middle"))
    return _svg(parts, bottom + _BOTTOM, [])


def bar_plot(values: Mapping[str, float], axis: str) -> str:
    """Draw a bar a label, from left to right, each with its value as a title."""
    up = _Scale(0.0, max(values.values(), default=0.0) or 1.0).onto(_BARS - _BOTTOM, _TOP)
    step = (WIDTH - 64 - _RIGHT) / max(len(values), 1)
    parts = _axis_left(up, 64, WIDTH - _RIGHT, axis)
    room = 0.0
    for place, (label, value) in enumerate(values.items()):
        x, top = 64 + place * step, up(value)
        parts.append(
            f'<rect x="{x + step / 8:.1f}" y="{top:.1f}" width="{step * 0.75:.1f}" '
            f'height="{up(0) - top:.1f}" fill="{_colour(0)}">'
            f"<title>{escape(label)}: {value:,g}</title></rect>"
        )
        if x >= room:
            parts.append(_text(x + step / 2, _BARS - _BOTTOM + 17, label, "middle"))
            room = x + _LETTER * (len(label) + 2)
    return _svg(parts, _BARS - _BOTTOM + 26, [])


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to places."""

    low: float
    high: float
    start: float = 0.0
    end: float = 1.0

    @classmethod
    def around(cls, values: Sequence[float]) -> "_Scale":
        low, high = min(values, default=0.0), max(values, default=1.0)
        margin = 0.06 * (high - low) or 1.0
        return cls(low - margin, high + margin)

    def onto(self, start: float, end: float) -> "_Scale":
        return _Scale(self.low, self.high, start, end)

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        raw = (self.high - self.low) / _TICKS
        power = 10 ** math.floor(math.log10(raw))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
        first = math.ceil(self.low / step)
        return [step * n for n in range(first, math.floor(self.high / step) + 1)]


def _axis_below(scale: _Scale, top: float, bottom: float, axis: str) -> list[str]:
    parts = []
    for tick in scale.ticks():
        x = scale(tick)
        parts.append(_line(x, top, x, bottom, "var(--rule,#ccc)", 1))
        parts.append(_text(x, bottom + 16, f"{tick:g}", "middle"))
    return [*parts, _text((scale.start + scale.end) / 2, bottom + 36, axis, "middle")]


def _axis_left(scale: _Scale, left: float, right: float, axis: str) -> list[str]:
    parts = []
    for tick in scale.ticks():
        y = scale(tick)
        parts.append(_line(left, y, right, y, "var(--rule,#ccc)", 1))
        parts.append(_text(left - 8, y + 4, f"{tick:g}", "end"))
    middle = (scale.start + scale.end) / 2
    turned = f'transform="rotate(-90 14 {middle:.0f})"'
    return [*parts, _text(14, middle, axis, "middle", turned)]


def _spaced(values: Sequence[float], along: _Scale) -> list[float]:
    """Leave out labels that would run into the one before."""
    kept: list[float] = []
    for value in values:
        room = 8 + _LETTER * len(_short(value))
        if not kept or along(math.log2(value)) - along(math.log2(kept[-1])) > room:
            kept.append(value)
    return kept


def _aside(names: Sequence[str], name: str) -> float:
    """Return how far a series stands beside a place that it shares."""
    return _DODGE * (names.index(name) - (len(names) - 1) / 2)


def _left(labels: Iterable[str]) -> float:
    """Return where the plot begins, so that every row label fits in front of it."""
    return max(_LEAST_LEFT, 16 + _LETTER * max(map(len, labels), default=0))


def _short(value: float) -> str:
    return f"{value:,.0f}"


def _colour(place: int) -> str:
    return f"var(--series-{place % len(_COLOURS)},{_COLOURS[place % len(_COLOURS)]})"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}'
    return f'<text {place} font-size="12" fill="var(--ink,#222)">{escape(text)}</text>'


def _shape(place: int, x: float, y: float, title: str) -> str:
    """Draw a circle, square, diamond or triangle, by the number of the series."""
    fill = f'fill="{_colour(place)}"'
    inner = f"<title>{escape(title)}</title>"
    kind = place % 4
    if kind == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {fill}>{inner}</circle>'
    corners: dict[int, list[tuple[float, float]]] = {
        1: [(-4, -4), (4, -4), (4, 4), (-4, 4)],
        2: [(0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)],
        3: [(0, -5), (5, 4), (-5, 4)],
    }
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners[kind])
    return f'<polygon points="{points}" {fill}>{inner}</polygon>'


def _svg(parts: Sequence[str], height: float, legend: Sequence[str]) -> str:
    column = 30 + _LETTER * max(map(len, legend), default=0)
    per_row = max(1, int((WIDTH - 60) / column))
    shown = legend if len(legend) > 1 else ()
    rows = -(-len(shown) // per_row)
    keys = []
    for place, name in enumerate(shown):
        x = 60 + place % per_row * column
        y = height + 12 + place // per_row * _LEGEND_ROW
        keys += [_shape(place, x, y, name), _text(x + 12, y + 4, name, "start")]
    total = height + rows * _LEGEND_ROW + (8 if rows else 0)
    size = f'viewBox="0 0 {WIDTH} {total:.0f}" width="{WIDTH}" height="{total:.0f}"'
    face = 'font-family="system-ui, sans-serif" role="img"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {face}>{"".join([*parts, *keys])}</svg>'
