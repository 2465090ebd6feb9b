"""``codelake mcp``: the search as tools for agents."""

import secrets
import sys

import click

from codelake.errors import UsageError
from pipelines.commands.options import read_settings, store_options
from pipelines.opening import (
    open_query_embedder,
    open_query_reranker,
    require_known,
    require_store,
)

_TOKEN_BYTES = 24  # 192 bits, nothing to guess


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
def mcp(
    *,
    store: str | None,
    config_file: str | None,
    is_http: bool,
    port: int,
    token: str | None,
    repository: tuple[str, ...],
) -> None:
    """Serve the search to agents (Model Context Protocol), on stdio or loopback HTTP.

    \b
    Examples:
      codelake mcp --store .codelake
      codelake mcp --http --port 8317
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
    if not is_http:
        server.run()
        return
    secret = token or secrets.token_urlsafe(_TOKEN_BYTES)
    sys.stderr.write(f"http://127.0.0.1:{port}/mcp\n")
    if not token:
        sys.stderr.write(f"Authorization: Bearer {secret}\n")
    serve_http(server, port=port, token=secret)
