"""``codelake report``: a night as a page that a person would hand on."""

import sys
from pathlib import Path
from typing import Final

import click

from codelake.errors import UsageError
from pipelines.commands.options import GIVEN, read_settings, store_options
from pipelines.opening import require_night
from resources.nights import read_nights

_MOST: Final = 400  # as many as are kept


@click.command()
@store_options
@click.option("--run", "run_id", type=GIVEN, metavar="ID", help="The run, or how its id begins.")
@click.option(
    "--nights", type=click.IntRange(1, _MOST), default=14, show_default=True, help="In the history."
)
@click.option("--format", "form", type=click.Choice(["html", "markdown"]), default=None)
@click.option(
    "-o", "--output", type=GIVEN, metavar="FILE", help="Where to; otherwise standard output."
)
def report(
    *,
    store: str | None,
    config_file: str | None,
    run_id: str | None,
    nights: int,
    form: str | None,
    output: str | None,
) -> None:
    """Tell a night on one page: what is fresh, red and skipped and why, cost, checks, trends.

    The page is one file that needs nothing else; the format follows the name of the file.

    \b
    Examples:
      codelake report -o night.html
      codelake report --run 6f1c --format markdown
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    from pipelines.night_report import write_report  # noqa: PLC0415 - plots, for this alone

    kept = read_nights(require_night(read_settings(config_file, store)), _MOST)
    chosen = [n for n, night in enumerate(kept) if night.run_id.startswith(run_id or "")]
    if not chosen:
        message = f"no night {run_id!r} is kept; the last ones are: "
        message += ", ".join(f"{night.run_id[:8]} ({night.began})" for night in kept[:5])
        raise UsageError(message)
    is_html = form == "html" if form else (output or "").endswith((".html", ".htm"))
    text = write_report(kept[chosen[0] :][:nights], is_html=is_html)
    if output:
        Path(output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
