"""Show the hits of a search: highlighted on a terminal, plain lines elsewhere."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.padding import Padding
from rich.syntax import ANSI_DARK, ANSISyntaxTheme, Syntax
from rich.text import Text

from codelake.paths import display_path, path_to_bytes
from codelake.search import Answer, Hit, Outline, Shown
from codelake.search.snippets import cut_snippet, make_visible

_SHOWN_LINES: Final = 12  # of a hit; ten hits then fill three screens
_SHOWN_COPIES: Final = 3

# The sixteen colours of the person's own terminal, whatever its background.
# Some lines out of a comment are no code; they should not look like a mistake in it.
_THEME: Final = ANSISyntaxTheme({k: v for k, v in ANSI_DARK.items() if "Error" not in k})

_UNLIMITED: Final = 1_000_000  # columns of what is no terminal: a line is not cut there


@contextmanager
def paged() -> Iterator[Console]:
    """Yield a console; on a terminal what is longer than a screen goes through ``PAGER``.

    Whoever reads from a pipe gets each line whole.
    """
    console = Console()
    if not console.is_terminal:
        yield Console(width=_UNLIMITED)
        return
    with console.capture() as captured:
        yield console
    text = captured.get()
    if text.count("\n") < console.height:
        console.file.write(text)
        return
    os.environ.setdefault("LESS", "FRX")  # colours as they are, as git does
    click.echo_via_pager(text, color=True)


def print_answer(
    answer: Answer,
    console: Console,
    *,
    roots: Mapping[str, Path] | None = None,
    lines: int = _SHOWN_LINES,
    is_explained: bool = False,
) -> None:
    """Print ``answer`` on ``console``.

    Args:
        answer: what a search gave.
        console: where to; a console that is no terminal gets plain lines.
        roots: folder of each repository that has one here; its paths become links.
        lines: most lines of code shown of a hit.
        is_explained: show what each score is made of.
    """
    show = _print_fancy if console.is_terminal else _print_plain
    asked = {query for hit in answer.hits for query in hit.matched_queries}
    for number, hit in enumerate(answer.hits, 1):
        show(hit, number, console, roots or {}, lines)
        if len(asked) > 1:
            _print(console, f"    found by: {'; '.join(hit.matched_queries)}", style="dim")
        if is_explained:
            _print(console, f"    score: {explain(hit)}", style="dim")
    if not answer.hits:
        _print(console, "No hits.")
    if answer.stopped:
        _print(console, f"Multi-hop ended: {answer.stopped}.", style="dim")
    for notice in answer.notices:
        _print(console, notice, style="yellow")


def print_shown(shown: Shown, console: Console, *, roots: Mapping[str, Path]) -> None:
    """Print one row whole, what it lies in, and its neighbours with their ids."""
    hit = shown.hit
    show = _print_fancy if console.is_terminal else _print_plain
    show(hit, 0, console, roots, len(hit.text.split("\n")))
    around = [("in", outline) for outline in shown.enclosing]
    around += [(w, o) for w, o in (("after", shown.before), ("before", shown.after)) if o]
    for word, outline in around:
        _print(console, f"{word} {_outline(outline)}", style="dim")


def _outline(outline: Outline) -> str:
    lines = f"{outline.start_line}-{outline.end_line}"
    name = make_visible(outline.qualified_name)
    return f"{lines} {outline.kind} {name}  {outline.id}"


def explain(hit: Hit) -> str:
    """Return what the score of ``hit`` is made of, in one line."""
    parts = [f"{name} {value:.3f}" for name, value in sorted(hit.scores.items())]
    if hit.hop:
        parts.append(f"hop {hit.hop} from {hit.seed}")
    return f"{hit.score:.3f} = " + ", ".join(parts)


def location(hit: Hit) -> str:
    """Return ``path:first-last`` of ``hit``, without hidden characters."""
    return f"{display_path(hit.path)}:{hit.start_line}-{hit.end_line}"


def _print_plain(
    hit: Hit, number: int, console: Console, roots: Mapping[str, Path], lines: int
) -> None:
    place = roots.get(hit.repository)
    path = f"{display_path(str(place))}/{location(hit)}" if place else location(hit)
    name = " ".join(part for part in (hit.kind, make_visible(hit.qualified_name)) if part)
    rank, score = (f"{number}. ", f" {hit.score:.3f}") if number else ("", "")
    _print(console, f"{rank}{display_path(hit.repository)} {path} {name}{score}")
    for line in _code(hit, lines):
        _print(console, f"    {line}".rstrip())
    for line in _notes(hit):
        _print(console, f"    {line}")


def _print_fancy(
    hit: Hit, number: int, console: Console, roots: Mapping[str, Path], lines: int
) -> None:
    heading = Text().append(f"{number}. " if number else "", style="dim")
    heading.append(display_path(hit.repository), style="magenta").append(" ")
    heading.append(location(hit), style=_link(hit, roots)).append(" ")
    heading.append(hit.kind, style="green")
    if hit.qualified_name:
        heading.append(" ").append(make_visible(hit.qualified_name), style="bold")
    heading.append(f" {hit.score:.3f}" if number else "", style="dim")
    console.print(heading, soft_wrap=True)
    snippet = cut_snippet(hit, lines)
    code = Syntax(
        make_visible(snippet.text),
        Syntax.guess_lexer(hit.path),
        theme=_THEME,
        line_numbers=True,
        start_line=snippet.start_line,
        highlight_lines=set(hit.lines),
        background_color="default",
        word_wrap=True,
    )
    console.print(Padding(code, (0, 0, 0, 2)))
    for line in _notes(hit, snippet.after):
        _print(console, f"    {line}", style="dim")


def _link(hit: Hit, roots: Mapping[str, Path]) -> str:
    root = roots.get(hit.repository)
    if root is None:
        return "cyan"
    path = Path(root, path_to_bytes(hit.path).decode("utf-8", "surrogateescape"))
    return f"cyan link {path.as_uri()}#{hit.start_line}"


def _code(hit: Hit, lines: int) -> Iterator[str]:
    snippet = cut_snippet(hit, lines)
    if snippet.before:
        yield f"... from line {snippet.start_line}"
    yield from make_visible(snippet.text).split("\n")
    if snippet.after:
        yield f"... {snippet.after} more lines"


def _notes(hit: Hit, after: int = 0) -> Iterator[str]:
    if after:
        yield f"... {after} more lines"
    for copy in hit.also_at[:_SHOWN_COPIES]:
        path = f"{display_path(copy.path)}:{copy.start_line}-{copy.end_line}"
        yield f"also at {display_path(copy.repository)} {path}"
    if len(hit.also_at) > _SHOWN_COPIES:
        yield f"and at {len(hit.also_at) - _SHOWN_COPIES} other places"


def _print(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)
