"""The Dagster code location: assets, checks, the nightly job and its schedule."""

from pathlib import Path

import dagster as dg

from assets import ASSETS, CHECKS
from evaluation.chunker_benchmark import EVALUATION_ASSETS
from pipelines.commands.options import config_path
from resources.configuration import Configuration
from resources.memory import keep_memory_flat
from resources.settings_file import load_settings
from resources.stages import StageIOManager

keep_memory_flat()

CONFIG_FILE = config_path(dg.EnvVar("CODELAKE_CONFIG").get_value(""))
STORE = dg.EnvVar("CODELAKE_STORE").get_value("") or load_settings(CONFIG_FILE, {}).store

nightly = dg.define_asset_job(
    "nightly",
    selection=dg.AssetSelection.assets(*ASSETS),
    description="Bring the index up to date with every repository: parse, diff, embed, store.",
)

nightly_schedule = dg.ScheduleDefinition(
    job=nightly,
    cron_schedule="0 2 * * *",
    description="Every night at two; switched off until someone switches it on.",
)

defs = dg.Definitions(
    assets=[*ASSETS, *EVALUATION_ASSETS],
    asset_checks=CHECKS,
    jobs=[nightly],
    schedules=[nightly_schedule],
    resources={
        "configuration": Configuration(config_file=CONFIG_FILE, store=STORE),
        "stages": StageIOManager(folder=str(Path(STORE) / "stages")),
    },
    # A step in its own process costs 4.5 CPU seconds, one in this process 0.04: the stages run
    # here and use worker processes of their own where that pays.
    executor=dg.in_process_executor,
)
