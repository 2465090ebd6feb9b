"""``codelake mcp``: the search as tools for agents."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from codelake.errors import UsageError
from codelake.settings import Settings
from pipelines.commands.options import config_path, read_settings, store_options
from pipelines.opening import (
    open_query_embedder,
    open_query_reranker,
    require_known,
    require_store,
)
from resources.moves import NOT_INSTALLED, require_watchable

_TOKEN_BYTES: Final = 24  # 192 bits, nothing to guess
_WATCH: Final = "from pipelines.command_line import main; main()"


@click.command()
@store_options
@click.option("--http", "is_http", is_flag=True, help="Serve on 127.0.0.1 instead of stdio.")
@click.option("--port", type=click.IntRange(1, 65535), default=8317, show_default=True)
@click.option(
    "--token",
    envvar="CODELAKE_MCP_TOKEN",
    help="What HTTP clients must send; made up and printed if not given.",
)
@click.option("--repository", "-r", multiple=True, metavar="R", help="Only these may be seen.")
@click.option("--watch", "is_watching", is_flag=True, help="Run `codelake watch` beside it.")
def mcp(  # noqa: PLR0913 # one parameter an option
    *,
    store: str | None,
    config_file: str | None,
    is_http: bool,
    port: int,
    token: str | None,
    repository: tuple[str, ...],
    is_watching: bool,
) -> None:
    """Serve the search to agents (Model Context Protocol), on stdio or loopback HTTP.

    \b
    Examples:
      codelake mcp --store .codelake
      codelake mcp --http --port 8317
      codelake mcp --config codelake.toml --watch
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    try:
        from pipelines.mcp_server import Lake, build_server, serve_http  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "starlette", "uvicorn"}:
            raise
        message = "the package 'mcp' is not installed: pip install 'codelake[mcp]'"
        raise UsageError(message) from error
    settings = read_settings(config_file, store)
    opened = require_store(settings)
    require_known("repository", repository, [r["repository"] for r in opened.repositories()])
    embedder = open_query_embedder(opened, settings, settings.search.mode)
    reranker = open_query_reranker(settings, settings.search.mode)
    server = build_server(
        Lake(opened, embedder, settings.search, reranker, repositories=repository)
    )
    with _watching(settings, config_file, store) if is_watching else nullcontext():
        if not is_http:
            server.run()
            return
        secret = token or secrets.token_urlsafe(_TOKEN_BYTES)
        sys.stderr.write(f"http://127.0.0.1:{port}/mcp\n")
        if not token:
            sys.stderr.write(f"Authorization: Bearer {secret}\n")
        serve_http(server, port=port, token=secret)


@contextmanager
def _watching(settings: Settings, config_file: str | None, store: str | None) -> Iterator[None]:
    """Keep the index current in a process of its own, which ends with this one however it ends.

    Raises:
        UsageError: nothing on this machine is to be watched, or the package is not installed.
    """
    require_watchable(settings)
    if find_spec("watchfiles") is None:
        raise UsageError(NOT_INSTALLED)
    words = [sys.executable, "-P", "-c", _WATCH, "watch", "--until-closed"]
    words += ["--store", store] if store else []
    words += ["--config", path] if (path := config_path(config_file)) else []
    # Ours first: -P keeps a folder of the same name in the present one from being imported.
    found = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path[1:]])
    environment = os.environ | {"PYTHONPATH": found}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=sys.stderr, env=environment):  # noqa: S603 # own interpreter, no shell
        yield
