"""Sections of text, plots and tables as one HTML page or as Markdown."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

_STYLE: Final = Path(__file__).with_name("report.css")
_TITLE: Final = "codelake: chunkers compared"

# What would end a cell, or make a tag, a link or an image of what others wrote.
_MARKS: Final = re.compile(r"[\\|<`]|(?<=\])\(")

Cell = str


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report.

    Args:
        title: heading.
        text: plain sentences, one a paragraph.
        plot: SVG, or nothing.
        head: column names of the table; empty for no table.
        rows: cells of the table.
        is_prose: cells have several lines, which are wrapped.
    """

    title: str
    text: tuple[str, ...] = ()
    plot: str = ""
    head: tuple[str, ...] = ()
    rows: Sequence[Sequence[Cell]] = ()
    is_prose: bool = False


def as_html(sections: Sequence[Section], title: str = _TITLE) -> str:
    """Return the report as one page: no script, no font, no file besides itself."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for section in sections:
        parts.append(f"<section><h2>{escape(section.title)}</h2>")
        parts += [f"<p>{escape(sentence)}</p>" for sentence in section.text]
        if section.plot:
            parts.append(f'<div class="wide">{section.plot}</div>')
        if section.head:
            parts.append(_html_table(section))
        parts.append("</section>")
    icon = '<link rel="icon" href="data:,">'
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>{icon}'
    view = '<meta name="viewport" content="width=device-width,initial-scale=1">'
    style = f"<style>{_STYLE.read_text('utf-8')}</style>"
    body = f"<body><main>{''.join(parts)}</main></body>"
    return f'<!doctype html><html lang="en"><head>{head}{view}{style}</head>{body}</html>\n'


def as_markdown(sections: Sequence[Section], title: str = _TITLE) -> str:
    """Return the report as Markdown; plots are left to the page."""
    parts = [f"# {title}\n"]
    for section in sections:
        parts.append(f"## {section.title}\n")
        parts += [f"{sentence}\n" for sentence in section.text]
        if section.head:
            rule = "|".join("---" for _ in section.head)
            lines = [_markdown_row(row) for row in section.rows]
            parts.append("\n".join([_markdown_row(section.head), f"|{rule}|", *lines]) + "\n")
    return "\n".join(parts)


def _html_table(section: Section) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in section.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in section.rows
    )
    kind = ' class="prose"' if section.is_prose else ""
    return f'<div class="wide"><table{kind}><tr>{head}</tr>{rows}</table></div>'


def _markdown_row(cells: Sequence[Cell]) -> str:
    clean = (_MARKS.sub(r"\\\g<0>", " ".join(cell.splitlines())) for cell in cells)
    return f"| {' | '.join(clean)} |"
