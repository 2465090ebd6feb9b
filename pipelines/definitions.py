"""The Dagster code location: assets, checks, jobs, the nightly schedule and the sensor."""

from datetime import UTC, datetime
from typing import Final

import dagster as dg

from assets import ASSETS, CHECKS, STAGES, indexed_repository, nights, outcomes
from evaluation.chunker_benchmark import EVALUATION_ASSETS
from pipelines.alerting import Ending, RunAlerts, alert_of_staleness
from pipelines.commands.options import config_path
from pipelines.instance import WRITER_TAG
from pipelines.recording import RecordingConfiguration
from pipelines.watching import look_at_sources
from pipelines.webhook import VARIABLE
from resources.memory import keep_memory_flat
from resources.places import store_place, work_folder
from resources.settings_file import load_settings
from resources.stages import StageIOManager

keep_memory_flat()

_ALERT_SECONDS: Final = 60  # between two looks at which runs ended
_STALE_SECONDS: Final = 1800  # between two looks at the last night
_LOOK_SECONDS: Final = 600  # between two looks at the sources; a list that is the same costs little

CONFIG_FILE = config_path(dg.EnvVar("CODELAKE_CONFIG").get_value(""))
_GIVEN: Final = dg.EnvVar("CODELAKE_STORE").get_value("")
_SETTINGS: Final = load_settings(CONFIG_FILE, {"store": _GIVEN} if _GIVEN else {})
STORE = store_place(_SETTINGS.store)
WORK = work_folder(_SETTINGS)

# One run at a time in a queue that keeps the limit of pipelines/instance.py; without a queue the
# store's lock refuses the second.
_ONE_WRITER: Final = {WRITER_TAG: STORE}

CONFIGURATION = RecordingConfiguration(config_file=CONFIG_FILE, store=STORE)

nightly = dg.define_asset_job(
    "nightly",
    selection=dg.AssetSelection.assets(*STAGES, outcomes),
    tags=_ONE_WRITER,
    description="Bring the index up to date with every repository: parse, diff, embed, store.",
)

reindex = dg.define_asset_job(
    "reindex",
    selection=dg.AssetSelection.assets(*STAGES, indexed_repository),
    tags=_ONE_WRITER,
    description="Bring the index up to date with some repositories alone: one that failed and is "
    "mended, or part after part with a changed chunker.",
)

nightly_schedule = dg.ScheduleDefinition(
    job=nightly,
    cron_schedule="0 2 * * *",
    description="Every night at two; switched off until someone switches it on.",
)


@dg.sensor(
    job=nightly,
    minimum_interval_seconds=_LOOK_SECONDS,
    description="Starts a night when the sources list a repository more or less than before; "
    "switched off until someone switches it on.",
)
def new_and_removed_repositories(
    context: dg.SensorEvaluationContext,
) -> dg.SensorResult | dg.SkipReason:
    """Look at the sources; not through the resource, which is for the one run that writes."""
    return look_at_sources(CONFIGURATION.load(), context.cursor)


@dg.sensor(
    minimum_interval_seconds=_ALERT_SECONDS,
    description=f"Tells the webhook of {VARIABLE} that a night is red, and why; switched off until "
    "someone switches it on.",
)
def alert_on_failure(context: dg.SensorEvaluationContext) -> dg.SensorResult:
    """Tell of a run that failed."""
    return _alert(context, dg.DagsterEventType.RUN_FAILURE)


@dg.sensor(
    minimum_interval_seconds=_ALERT_SECONDS,
    description=f"Tells the webhook of {VARIABLE} that a check failed in a night that is green.",
)
def alert_on_checks(context: dg.SensorEvaluationContext) -> dg.SensorResult:
    """Tell of a run that ended well and left something that is not."""
    return _alert(context, dg.DagsterEventType.RUN_SUCCESS)


@dg.sensor(
    minimum_interval_seconds=_STALE_SECONDS,
    description=f"Tells the webhook of {VARIABLE} that there was no night for 36 hours.",
)
def alert_on_staleness(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Tell that a night was left out."""
    now = datetime.now(UTC)
    return alert_of_staleness(_alert_address(), WORK, now, context.cursor)


def _alert(context: dg.SensorEvaluationContext, ending: Ending) -> dg.SensorResult:
    alerts = RunAlerts(WORK, STORE, (nightly.name, reindex.name), ending)
    return alerts.tell(context.instance, _alert_address(), context.cursor, datetime.now(UTC))


def _alert_address() -> str:
    return dg.EnvVar(VARIABLE).get_value("") or ""


defs = dg.Definitions(
    assets=[*ASSETS, nights, *EVALUATION_ASSETS],
    asset_checks=CHECKS,
    jobs=[nightly, reindex],
    schedules=[nightly_schedule],
    sensors=[
        new_and_removed_repositories,
        alert_on_failure,
        alert_on_checks,
        alert_on_staleness,
    ],
    resources={
        "configuration": CONFIGURATION,
        "stages": StageIOManager(folder=str(WORK / "stages")),
    },
    # A step in its own process costs 4.5 CPU seconds, one in this process 0.04: the stages run
    # here and use worker processes of their own where that pays.
    executor=dg.in_process_executor,
)
