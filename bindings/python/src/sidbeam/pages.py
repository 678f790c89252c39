"""Objects as HTML, for notebooks: small tables with bars. All text is escaped. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, NamedTuple, Sequence

MOST_ROWS = 20  # of a table; notebooks are no place for a thousand beams


class Bar(NamedTuple):
    """A number as a bar beside it, of a width that is its share of the largest."""

    value: float
    share: float  #: 0 .. 1
    text: str


def bars(values: Iterable[Any]) -> list[Bar]:
    """Numbers that are not negative, side by side."""
    given = [float(value) for value in values]
    most = max(given, default=0.0)
    return [Bar(value, value / most if most > 0 else 0.0, f"{value:,.0f}") for value in given]


def _cell(value: Any) -> str:
    if not isinstance(value, Bar):
        return f"<td>{escape(str(value))}</td>"
    style = f"display:inline-block;height:.7em;width:{120 * value.share:.0f}px;background:#4a7ab0;margin-right:.5em"
    return f'<td style="text-align:left"><span style="{style}"></span>{escape(value.text)}</td>'


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; of more rows than MOST_ROWS the first ones, and how many are left."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        body += f'<tr><td colspan="{len(columns)}">and {len(rows) - MOST_ROWS:,} more</td></tr>'
    return f"<div><b>{escape(title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
