"""``codelake metrics``: the last night for Prometheus."""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from codelake.errors import StoreError, UsageError
from pipelines.commands.options import GIVEN, read_settings, store_options
from pipelines.opening import require_night
from pipelines.stopping import end_on_signals
from resources.places import work_folder


@click.command()
@store_options
@click.option(
    "-o", "--output", type=GIVEN, metavar="FILE", help="Put in place of FILE in one step."
)
@click.option("--http", "is_http", is_flag=True, help="Serve /metrics until interrupted.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve on.")
@click.option("--port", type=click.IntRange(1, 65535), default=9518, show_default=True)
def metrics(
    *,
    store: str | None,
    config_file: str | None,
    output: str | None,
    is_http: bool,
    host: str,
    port: int,
) -> None:
    """Print what the last night did in the text format of Prometheus.

    With -o it is for the textfile collector of node_exporter, run after each night; --http serves
    it, read anew at each scrape.

    \b
    Examples:
      codelake metrics -o /var/lib/node_exporter/codelake.prom
      codelake metrics --http --port 9518
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    try:
        from prometheus_client import (  # noqa: PLC0415 - optional
            generate_latest,
            start_http_server,
            write_to_textfile,
        )
    except ModuleNotFoundError as error:
        message = (
            "the package 'prometheus-client' is not installed: pip install 'codelake[metrics]'"
        )
        raise UsageError(message) from error
    from pipelines.metrics import build_registry  # noqa: PLC0415 - as above

    settings = read_settings(config_file, store)
    # Served, there may come a night; written or printed without one, something is wrong.
    registry = build_registry(work_folder(settings) if is_http else require_night(settings))
    if not is_http and output is None:
        sys.stdout.write(generate_latest(registry).decode())
    elif not is_http:
        try:
            write_to_textfile(_place(str(output)), registry)
        except OSError as error:
            message = f"cannot write {output!r}: {error.strerror}; check the folder and its rights"
            raise StoreError(message) from error
    else:
        try:
            _, thread = start_http_server(port, host, registry)
        except OSError as error:
            message = f"cannot serve on {host}:{port}: {error.strerror}; choose another --port"
            raise UsageError(message) from error
        end_on_signals()
        click.echo(f"http://{host}:{port}/metrics", err=True)
        with suppress(KeyboardInterrupt):
            thread.join()


def _place(output: str) -> str:
    place = Path(os.path.realpath(output))  # a link stays one
    if place.exists() and not place.is_file():
        raise OSError(errno.EINVAL, "it is no file")
    return str(place)
