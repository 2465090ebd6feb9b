"""Run the nightly job, or a part of it, in this process and tell what it did."""

import json
import tempfile
import uuid
from collections.abc import Collection
from contextlib import nullcontext
from typing import Any, Final

import dagster as dg

from assets import STAGES
from assets.storing import STATE_TAG
from codelake.chunking import chunker_named
from codelake.errors import (
    EmbeddingError,
)
from codelake.schemas import TABLES
from pipelines.definitions import defs
from pipelines.estimating import estimate_run
from pipelines.instance import WRITER_TAG, open_instance, open_passing_instance, record_errors
from pipelines.recording import NightRecord, plot_night
from pipelines.summarizing import (
    is_interrupted,
    may_heal,
    recorded_metadata,
    stage_folder,
    summarize,
    time_stages,
)
from pipelines.summary import Summary
from resources.configuration import Configuration
from resources.places import store_place, work_folder
from resources.stages import Batches

JOB: Final = "nightly"
LIVE: Final = "live"
"""The name of the published state that an update between two nights leaves."""

_QUIET: Final = "CRITICAL"  # of what Dagster logs
# What a dry run does: everything that neither writes to the store nor embeds.
_DRY: Final = ("repositories", "files", "syntax", "chunks", "symbols", "changes")


def run_index(
    configuration: Configuration, *, is_dry: bool = False, log_level: str = _QUIET
) -> Summary:
    """Run the job and return its summary; what failed is in the summary with its reason.

    Raises:
        UsageError: the settings name a chunker or an embedder that does not exist, or a cluster
            that is not set up.
        EmbeddingError: the embedder lacks a key or a package, unless the run is dry.
        StoreError: the store cannot be written.
        KeyboardInterrupt: the run was interrupted; what it had stored is kept.
    """
    chunker_named(configuration.load().chunking.chunker)
    configuration.open_engine()
    _check_embedder(configuration, is_dry=is_dry)
    if is_dry and not configuration.open_store().is_there:
        return _run_aside(configuration, log_level)
    return _run(configuration, is_dry=is_dry, log_level=log_level)


def run_update(
    configuration: Configuration, places: Collection[str] = (), *, wait_seconds: float = 0.0
) -> tuple[Summary, bool]:
    """Take the repositories in ``places`` through the stages of a night, between two nights.

    Dagster keeps no record of it: there may be thousands a day. Searches see its outcome as the
    state ``live``, which the next update replaces.

    Args:
        configuration: the settings.
        places: where the repositories lie, as their ``source`` says; empty for all.
        wait_seconds: how long to wait for another process that writes.

    Returns:
        What it did, and whether time may heal what failed.

    Raises:
        BusyError: another process writes.
        StoreError: the store cannot be written.
        KeyboardInterrupt: the run was interrupted; what it had stored is kept.
    """
    # A few files are parsed before a cluster is found.
    changes = json.dumps({**json.loads(configuration.changes), "run.engine": "local"})
    part = configuration.model_copy(
        update={"places": json.dumps(sorted(places)), "changes": changes}
    )
    store = part.open_store()
    with (
        store.writing(wait_seconds=wait_seconds, is_brief=True),
        open_passing_instance() as instance,
    ):
        result = defs.resolve_job_def(JOB).execute_in_process(
            run_config=_run_config(part, _QUIET),
            instance=instance,
            asset_selection=[asset.key for asset in STAGES],
            raise_on_error=False,
            tags={STATE_TAG: LIVE},
        )
        if is_interrupted(result.all_events):
            raise KeyboardInterrupt
        summary = summarize(result.all_events, store, stage_folder(part))
        summary.seconds = time_stages(instance, result.run_id)
        return summary, may_heal(result.all_events)


def _run_aside(configuration: Configuration, log_level: str) -> Summary:
    """Run dry in a store that is thrown away, where there is none to compare with."""
    with tempfile.TemporaryDirectory(prefix="codelake-dry-") as folder:
        aside = configuration.model_copy(update={"store": folder})
        summary = _run(aside, is_dry=True, log_level=log_level)
    summary.store = str(configuration.open_store().place)
    return summary


def _run(configuration: Configuration, *, is_dry: bool, log_level: str) -> Summary:
    store = configuration.open_store()
    # The lock first: who does not get it has touched nothing, and a folder that cannot be
    # written is told by the store.
    work = work_folder(configuration.load())
    with (
        store.writing(),
        record_errors(work),
        # Of a dry run Dagster keeps nothing: neither alerts nor plots are to tell of it.
        open_passing_instance() if is_dry else open_instance(work) as instance,
    ):
        run_id = str(uuid.uuid4())
        record = None if is_dry else NightRecord.begin(configuration, run_id, JOB)
        with record.guarding() if record else nullcontext():
            result = defs.resolve_job_def(JOB).execute_in_process(
                run_config=_run_config(configuration, log_level),
                instance=instance,
                asset_selection=[dg.AssetKey(name) for name in _DRY] if is_dry else None,
                raise_on_error=False,
                run_id=run_id,
                tags={WRITER_TAG: store_place(configuration.load().store)},
            )
            stages = stage_folder(configuration)
            summary = summarize(result.all_events, store, stages, is_dry=is_dry)
            summary.seconds = time_stages(instance, run_id)
            night = record.end(result.all_events, summary) if record else None
        if night:
            plot_night(instance, night)
        if is_interrupted(result.all_events):
            raise KeyboardInterrupt
        if is_dry:
            _estimate(summary, configuration, recorded_metadata(result.all_events))
        return summary


def _check_embedder(configuration: Configuration, *, is_dry: bool) -> None:
    """Open the embedder once before anything is done; a dry run needs no key."""
    try:
        configuration.open_embedder()
    except EmbeddingError:
        if not is_dry:
            raise
    configuration.close_embedder()


def _estimate(summary: Summary, configuration: Configuration, metadata: Collection[str]) -> None:
    """Put into ``summary`` what embedding would cost, and say if it is more than may be spent."""
    names = [name for name in ("chunks", "symbols") if name in metadata]
    folder = stage_folder(configuration)
    stages = [Batches(folder / f"{name}.arrow", TABLES[name]) for name in names]
    summary.estimate = estimate_run(configuration, configuration.open_store(), stages)
    most = configuration.load().embedding.max_cost
    cost = next((float(str(row["cost_usd"])) for row in summary.estimate), 0.0)
    if most and cost > most:
        reason = f"embedding is estimated at ${cost:.2f} and ends at max_cost = ${most:g}"
        summary.notices.append({"repository": "", "reason": reason})


def _run_config(configuration: Configuration, log_level: str) -> dict[str, Any]:
    return {
        "resources": {
            "configuration": {"config": {**configuration.recorded(), "is_recorded": False}},
            "stages": {"config": {"folder": str(stage_folder(configuration))}},
        },
        "loggers": {"console": {"config": {"log_level": log_level}}},
    }
