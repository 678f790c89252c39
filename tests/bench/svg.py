"""Line and bar charts as SVG text, by the standard library alone.

SPDX-License-Identifier: Apache-2.0
"""
import math
from dataclasses import dataclass, field
from html import escape

# Okabe and Ito's colours, which people with any colour vision tell apart; each round of them has its own dash.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
DASHES = ("", "6 3", "2 2", "8 3 2 3")
WIDTH, HEIGHT = 1040, 440
LEFT, TOP, RIGHT, BOTTOM = 70, 44, 270, 56  # margins; the legend is in the right one
LINE = 13  # of a label of several lines
STYLE = "text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:600}.tick{fill:#555;font-size:11px}"
# Where the reader's pages are dark, so is the figure: its ground, ink and grid, and the black series, change places.
DARK = {"[fill='#fff']": "fill:#16191d", "text": "fill:#ddd", ".tick": "fill:#aaa", "[stroke='#ddd']": "stroke:#3a3f45",
        "[stroke='#222']": "stroke:#ccc", "[stroke='#000000']": "stroke:#fff", "[fill='#000000']": "fill:#fff"}
STYLE += "@media(prefers-color-scheme:dark){" + "".join(f"{what}{{{how}}}" for what, how in DARK.items()) + "}"


@dataclass
class Point:
    x: float | str  # in a bar chart a category: the words of its label, each on a line of its own
    y: float
    low: float  # of the spread
    high: float


@dataclass
class Series:
    name: str
    points: list[Point]


@dataclass
class Chart:
    title: str
    x_label: str
    y_label: str
    series: list[Series] = field(default_factory=list)
    bars: bool = False
    free_x: bool = False  # ticks of the axis are round numbers, not the points'
    log_x: bool = False
    log_y: bool = False


def short(value):
    """2.5k, 10M: an axis has little room."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:g}"


class Scale:
    """From values to pixels of one axis, with its ticks."""

    def __init__(self, low, high, log, begin, end):
        self.log, self.begin, self.end = log, begin, end
        if log:
            self.ticks = log_ticks(low, high)
            self.low, self.high = min(low, self.ticks[0]), max(high, self.ticks[-1])
        else:
            self.ticks = linear_ticks(low, high)
            self.low, self.high = self.ticks[0], self.ticks[-1]

    def __call__(self, value):
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        value = math.log(max(value, self.low)) if self.log else value
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)


def log_ticks(low, high):
    """Decades that enclose the values, or 1-2-5 steps where these span less than two."""
    steps = (1,) if high / low >= 100 else (1, 2, 5)
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    all_ticks = [step * 10.0 ** exponent for exponent in exponents for step in steps]
    first = max(i for i, tick in enumerate(all_ticks) if tick <= low * (1 + 1e-9))
    last = min(i for i, tick in enumerate(all_ticks) if tick >= high * (1 - 1e-9))
    return all_ticks[first:max(last, first + 1) + 1]


def linear_ticks(low, high):
    low = min(low, 0.0)
    high = high if high > low else low + 1
    raw = (high - low) / 5
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * n for n in (1, 2, 5, 10) if size * n >= raw)
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def text(x, y, what, anchor="start", css="", turn=None):
    extra = f' class="{css}"' if css else ""
    extra += f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn is not None else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(what)}</text>'


def line(x1, y1, x2, y2, colour, width=1.0):
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def y_scale(chart):
    values = [v for s in chart.series for p in s.points for v in (p.low, p.y, p.high)]
    if chart.log_y:
        values = [v for v in values if v > 0] or [1.0]
    return Scale(min(values), max(values), chart.log_y, HEIGHT - BOTTOM, TOP)


def categories(chart):
    return list(dict.fromkeys(p.x for s in chart.series for p in s.points))


def height(chart):
    """Of the whole; labels of several lines make it taller, not the plot smaller."""
    return HEIGHT + LINE * (max(len(c.split()) for c in categories(chart)) - 1) if chart.bars else HEIGHT


def frame(chart, scale):
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    out = [text(LEFT, 22, chart.title, css="title"),
           text((LEFT + right) / 2, height(chart) - 12, chart.x_label, "middle"),
           text(16, (TOP + bottom) / 2, chart.y_label, "middle", turn=-90)]
    for tick in scale.ticks:
        y = scale(tick)
        out += [line(LEFT, y, right, y, "#ddd"), text(LEFT - 6, y + 4, short(tick), "end", "tick")]
    return out + [line(LEFT, bottom, right, bottom, "#222")]


def look(i):
    return COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)]


def legend(chart):
    out = []
    step = min(18.0, (HEIGHT - TOP - 10) / max(1, len(chart.series)))
    order = list(enumerate(chart.series))
    if not chart.bars:  # from the top down, as the lines end
        order.sort(key=lambda entry: -max(entry[1].points, key=lambda p: p.x).y)
    for row, (i, series) in enumerate(order):
        colour, dash = look(i)
        x, y = WIDTH - RIGHT + 14, TOP + 8 + row * step
        out.append(f'<path d="M{x} {y:.1f}h22" stroke="{colour}" stroke-width="{10 if chart.bars else 2.2}"'
                   f'{dashed(dash)}/>')
        out.append(text(x + 28, y + 4, series.name))
    return out


def dashed(dash):
    return f' stroke-dasharray="{dash}"' if dash else ""


def x_ticks(values):
    """The values themselves, thinned out to at most ten."""
    every = -(-len(values) // 10)
    return values[::every]


def lines(chart, scale_y):
    xs = sorted({p.x for s in chart.series for p in s.points})
    scale_x = Scale(xs[0], xs[-1], chart.log_x, LEFT + 14, WIDTH - RIGHT - 14)
    scale_x.low, scale_x.high = xs[0], xs[-1] if xs[-1] > xs[0] else xs[0] + 1
    ticks = [x for x in scale_x.ticks if xs[0] <= x <= xs[-1]] if chart.free_x else x_ticks(xs)
    out = [text(scale_x(x), HEIGHT - BOTTOM + 16, short(x), "middle", "tick") for x in ticks]
    for i, series in enumerate(chart.series):
        colour, dash = look(i)
        points = sorted(series.points, key=lambda p: p.x)
        path = "L".join(f"{scale_x(p.x):.1f} {scale_y(p.y):.1f}" for p in points)
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed(dash)}/>')
        for p in points:
            x = scale_x(p.x)
            out += [line(x, scale_y(p.low), x, scale_y(p.high), colour),
                    f'<circle cx="{x:.1f}" cy="{scale_y(p.y):.1f}" r="3" fill="{colour}"/>']
    return out


def bars(chart, scale_y):
    names = categories(chart)
    group = (WIDTH - RIGHT - LEFT) / len(names)
    width = group * 0.8 / len(chart.series)
    bottom = HEIGHT - BOTTOM
    zero = bottom if chart.log_y else scale_y(0.0)
    out = [line(LEFT, zero, WIDTH - RIGHT, zero, "#222")]
    for c, name in enumerate(names):
        middle = LEFT + group * (c + 0.5)
        out += [text(middle, bottom + 16 + LINE * i, word, "middle", "tick") for i, word in enumerate(name.split())]
    for i, series in enumerate(chart.series):
        colour, _ = look(i)
        for p in series.points:
            x = LEFT + group * (names.index(p.x) + 0.1) + width * i
            y = scale_y(p.y)
            out.append(f'<rect x="{x:.1f}" y="{min(y, zero):.1f}" width="{width * 0.92:.1f}" '
                       f'height="{abs(zero - y):.1f}" fill="{colour}"/>')
            middle = x + width * 0.46
            out.append(line(middle, scale_y(p.low), middle, scale_y(p.high), "#222"))
    return out


def render(chart):
    """The chart as an SVG document. A chart without points is refused."""
    if not any(series.points for series in chart.series):
        raise ValueError(f"the chart '{chart.title}' has no points")
    scale = y_scale(chart)
    body = frame(chart, scale) + (bars if chart.bars else lines)(chart, scale) + legend(chart)
    size = f'viewBox="0 0 {WIDTH} {height(chart)}" width="{WIDTH}" height="{height(chart)}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
            f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(body) + "\n</svg>\n")
