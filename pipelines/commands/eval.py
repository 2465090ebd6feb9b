"""``codelake eval``: compare chunkers on retrieval sets."""

import sys
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from codelake.errors import UsageError
from pipelines.commands.options import config_path, json_option, print_json, read_settings

_SETS: Final = Path(__file__).parents[3] / "shared" / "data" / "eval"  # beside the checkout
_CACHE: Final = ".codelake-eval"


def _split(
    context: click.Context,  # noqa: ARG001 # click's signature
    parameter: click.Parameter,  # noqa: ARG001 # as above
    value: str | None,
) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in (value or "").split(",") if part.strip())
    if value is not None and not parts:
        message = f"{value!r} names nothing; name one or more, or leave it out"
        raise click.BadParameter(message)
    return parts


def _budgets(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    parts = _split(context, parameter, value)
    if not all(part.isdecimal() and int(part) for part in parts):
        message = f"{value!r} has something that is no whole number above 0"
        raise click.BadParameter(message)
    return tuple(map(int, parts))


@click.command("eval")
@click.option("--chunkers", default="lines:50,fixed,ast,cast", show_default=True, callback=_split)
@click.option("--budgets", default="1200,2000", show_default=True, callback=_budgets)
@click.option("--headers", default="none", show_default=True, callback=_split)
@click.option("--retrieval", default="bm25", show_default=True, callback=_split)
@click.option("--embedders", callback=_split, help="Of dense and hybrid retrieval.")
@click.option("--sets", callback=_split, help="NAME[:GOLD][@SAMPLE]; all if not given.")
@click.option("--baseline", default="", help="Chunker to compare with; the first if not given.")
@click.option("--root", default=str(_SETS), type=click.Path(), help="Folder of the sets.")
@click.option("--cache", default=_CACHE, show_default=True, type=click.Path())
@click.option(
    "--report", type=click.Path(), help="Folder of the report; in the cache if not given."
)
@click.option("--config", "config_file", metavar="FILE", help="Settings of the embedders.")
@json_option
def eval(*, as_json: bool, **options: Any) -> None:  # noqa: A001, ANN401 # the command's name; a dozen options of click
    """Compare chunkers on retrieval sets and write a report.

    Retrieval is bm25, dense, hybrid or hybrid:WEIGHT; search is the product's own hybrid, multihop
    its walk from hit to hit. A chunker is a registered name, taken at each budget, or has a size of
    its own: lines:50, cast:1200, fixed:1500+200 (with overlap).

    \b
    Examples:
      codelake eval --sets repoeval_function --chunkers lines:50,cast:2000
      codelake eval --retrieval bm25,dense,hybrid --embedders minilm --json
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    try:
        from evaluation.session import Request, evaluate  # noqa: PLC0415 # needs the extra `eval`
    except ModuleNotFoundError as error:
        message = f"codelake eval needs {error.name}: pip install 'codelake[eval]'"
        raise UsageError(message) from error
    settings = read_settings(config_path(options["config_file"]), None).embedding
    request = Request(
        root=Path(options["root"]),
        cache=Path(options["cache"]),
        sets=options["sets"],
        chunkers=options["chunkers"],
        budgets=options["budgets"],
        headers=options["headers"],
        retrievals=options["retrieval"],
        embedders=[settings.model_copy(update={"embedder": e}) for e in options["embedders"]],
        baseline=options["baseline"],
    )
    console = Console(file=sys.stderr)
    found = evaluate(request, lambda text: console.print(text, highlight=False))
    page = found.report.write(Path(options["report"] or request.cache / "report"))
    if as_json:
        summary = found.report.summary.to_pylist()
        verdict = list(found.report.sections[0].text)
        answer = {"verdict": verdict, "summary": summary, "embedded": found.embedded}
        print_json({**answer, "report": str(page)})
        return
    for sentence in found.report.sections[0].text:
        click.echo(sentence)
    click.echo(f"report: {page}")
