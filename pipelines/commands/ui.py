"""``codelake ui``: the Dagster user interface over one store."""

import os
import signal
import sys
from pathlib import Path

import click

from pipelines.commands.options import config_path, read_settings, store_options
from pipelines.instance import prepare_home
from resources.places import store_place, work_folder


@click.command()
@store_options
@click.option("--port", default=3000, show_default=True, help="Port on this machine.")
def ui(store: str | None, config_file: str | None, port: int) -> None:
    """Open the Dagster user interface on this store: lineage, runs, checks, schedules.

    \b
    Example:
      codelake ui --store .codelake --port 3000
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    settings = read_settings(config_file, store)
    environment = os.environ | {
        "DAGSTER_HOME": str(prepare_home(work_folder(settings))),
        "CODELAKE_STORE": store_place(settings.store),
    }
    path = config_path(config_file)
    # Without settings the checkout's own are not meant either, which is where Dagster starts.
    environment["CODELAKE_CONFIG"] = str(Path(path).absolute()) if path else os.devnull
    checkout = Path(__file__).parents[2]
    # The warning is Dagster's, of a newer command that cannot be given a workspace.
    python = [sys.executable, "-W", "ignore::FutureWarning"]
    workspace = ["-w", str(checkout / "workspace.yaml"), "--port", str(port)]
    os.chdir(checkout)
    # Dagster lets SIGTERM do what Ctrl-C does, which what a script starts with `&` ignores.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execve(sys.executable, [*python, "-m", "dagster", "dev", *workspace], environment)  # noqa: S606 # own interpreter, no shell
