"""Run the nightly job, or a part of it, in this process and tell what it did."""

import json
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from assets import STAGES
from assets.storing import STATE_TAG
from codelake.changes import ChangeCounts, count_changes
from codelake.chunking import chunker_named
from codelake.errors import (
    BusyError,
    EmbeddingError,
    SchemaError,
    SourceError,
    StoreError,
    UsageError,
)
from codelake.schemas import TABLES
from pipelines.definitions import defs
from pipelines.estimating import estimate_run
from pipelines.instance import open_instance, record_errors
from pipelines.summary import Summary
from resources.configuration import Configuration
from resources.places import work_folder
from resources.stages import Batches
from resources.store import LanceStore

JOB: Final = "nightly"
LIVE: Final = "live"
"""The name of the published state that an update between two nights leaves."""

_QUIET: Final = "CRITICAL"  # of what Dagster logs
# What a dry run does: everything that neither writes to the store nor embeds.
_DRY: Final = ("repositories", "files", "syntax", "chunks", "symbols", "changes")
_READ: Final = ("changed", "unchanged")  # statuses of repositories that the store stands for
_NEW: Final = ("added", "modified")  # changes of rows that stand in the store after a run
_OLD: Final = ("deleted", "modified")  # and of those that stood there before
_INTERRUPTS: Final = ("DagsterExecutionInterruptedError", "KeyboardInterrupt")
_OURS: Final = frozenset(
    cls.__name__
    for cls in (BusyError, EmbeddingError, SchemaError, SourceError, StoreError, UsageError)
)
_UNREADABLE: Final = (
    "cannot be read; check the rights of the file, or the repository with `git fsck`"
)


def run_index(
    configuration: Configuration, *, is_dry: bool = False, log_level: str = _QUIET
) -> Summary:
    """Run the job and return its summary; what failed is in the summary with its reason.

    Raises:
        UsageError: the settings name a chunker or an embedder that does not exist.
        EmbeddingError: the embedder lacks a key or a package, unless the run is dry.
        StoreError: the store cannot be written.
        KeyboardInterrupt: the run was interrupted; what it had stored is kept.
    """
    chunker_named(configuration.load().chunking.chunker)
    _check_embedder(configuration, is_dry=is_dry)
    if is_dry and not configuration.open_store().is_there:
        return _run_aside(configuration, log_level)
    return _run(configuration, is_dry=is_dry, log_level=log_level)


def run_update(
    configuration: Configuration, places: Collection[str] = (), *, wait_seconds: float = 0.0
) -> Summary:
    """Take the repositories in ``places`` through the stages of a night, between two nights.

    Dagster keeps no record of it: there may be thousands a day. Searches see its outcome as the
    state ``live``, which the next update replaces.

    Args:
        configuration: the settings.
        places: where the repositories lie, as their ``source`` says; empty for all.
        wait_seconds: how long to wait for another process that writes.

    Raises:
        BusyError: another process writes.
        StoreError: the store cannot be written.
        KeyboardInterrupt: the run was interrupted; what it had stored is kept.
    """
    part = configuration.model_copy(update={"places": json.dumps(sorted(places))})
    store = part.open_store()
    with (
        store.writing(wait_seconds=wait_seconds, is_brief=True),
        dg.DagsterInstance.ephemeral() as instance,
    ):
        result = defs.resolve_job_def(JOB).execute_in_process(
            run_config=_run_config(part, _QUIET),
            instance=instance,
            asset_selection=[asset.key for asset in STAGES],
            raise_on_error=False,
            tags={STATE_TAG: LIVE},
        )
        if _is_interrupted(result):
            raise KeyboardInterrupt
        summary = _summarize(result, store, _stages(part), is_dry=False)
        summary.seconds = _seconds(instance, result.run_id)
        return summary


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
    with store.writing(), record_errors(work), open_instance(work) as instance:
        result = defs.resolve_job_def(JOB).execute_in_process(
            run_config=_run_config(configuration, log_level),
            instance=instance,
            asset_selection=[dg.AssetKey(name) for name in _DRY] if is_dry else None,
            raise_on_error=False,
        )
        if _is_interrupted(result):
            raise KeyboardInterrupt
        summary = _summarize(result, store, _stages(configuration), is_dry=is_dry)
        if is_dry:
            _estimate(summary, configuration, _metadata(result))
        summary.seconds = _seconds(instance, result.run_id)
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
    folder = _stages(configuration)
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
            "configuration": {"config": configuration.recorded()},
            "stages": {"config": {"folder": str(_stages(configuration))}},
        },
        "loggers": {"console": {"config": {"log_level": log_level}}},
    }


def _stages(configuration: Configuration) -> Path:
    """Return the folder of the stage tables."""
    return work_folder(configuration.load()) / "stages"


def _first_cause(event: dg.DagsterEvent) -> tuple[str, str]:
    """Return class and message of the error that a step or a run failed with, below Dagster's own.

    One of ours tells what to do; what a library raised below it does not.
    """
    is_step = event.is_step_failure
    error = (event.step_failure_data if is_step else event.job_failure_data).error
    while error is not None and error.cause is not None and error.cls_name not in _OURS:
        error = error.cause
    if error is None:
        return "", ""
    return error.cls_name or "", error.message.strip().partition(": ")[2]


def _is_interrupted(result: dg.ExecuteInProcessResult) -> bool:
    """Tell whether Ctrl-C ended the run; Dagster records it as a failure."""
    failures = [e for e in result.all_events if e.is_step_failure or e.is_job_failure]
    return any(_first_cause(event)[0] in _INTERRUPTS for event in failures)


def _stage_failures(result: dg.ExecuteInProcessResult) -> list[dict[str, str]]:
    """Return why stages failed as a whole, without Dagster's frames around it.

    A stage that failed on purpose has told the reason by what it recorded.
    """
    found = []
    for event in result.all_events:
        if not event.is_step_failure or event.step_failure_data.user_failure_data is not None:
            continue
        reason = _first_cause(event)[1] or "unknown"
        found.append(_failure(f"stage {event.step_key} failed: {reason}"))
    if any(event.is_step_failure for event in result.all_events):
        return found
    # Between the stages, or before the first.
    ends = [event for event in result.all_events if event.is_job_failure]
    return [_failure(f"the run failed: {_first_cause(event)[1] or 'unknown'}") for event in ends]


def _broken_promises(result: dg.ExecuteInProcessResult) -> list[dict[str, str]]:
    """Return what the checks of the stored tables found; the others tell what is told already."""
    return [
        _failure(f"the tables are not sound: {problem}")
        for check in result.get_asset_check_evaluations()
        if "problems" in check.metadata and not check.passed
        for problem in cast("list[str]", check.metadata["problems"].value)
    ]


def _failure(reason: str, repository: str = "", path: str = "") -> dict[str, str]:
    return {"repository": repository, "path": path, "reason": reason}


def _summarize(
    result: dg.ExecuteInProcessResult, store: LanceStore, stages: Path, *, is_dry: bool
) -> Summary:
    metadata = _metadata(result)
    repositories = _made(stages, "repositories", metadata).to_pylist()
    summary = Summary(store=str(store.place))
    summary.failed = _failures(repositories, metadata) + _stage_failures(result)
    summary.failed += _broken_promises(result)
    unlisted = {failure["repository"] for failure in summary.failed}
    names = [
        r["repository"]
        for r in repositories
        if r["status"] in _READ and r["repository"] not in unlisted
    ]
    summary.repositories = len(names)
    summary.notices = _notices(repositories)
    summary.failed += _unreadable(store, names)
    summary.files = _files(
        _foreseen(store, stages, names, metadata)
        if is_dry
        else store.read("files", columns=["skip_reason"], repositories=names)[
            "skip_reason"
        ].to_pylist()
    )
    changes = _made(stages, "changes", metadata)
    counts = count_changes(changes)
    for table, asset in (("chunks", "chunk_table"), ("symbols", "symbol_table")):
        is_done = is_dry or asset in metadata
        change = counts.get(table, ChangeCounts()) if is_done else ChangeCounts()
        values = asdict(change)
        total = _rows_of(store, table, names)
        # A dry run counts what is stored before, any other what is stored after.
        others = _count(changes, table, names, _OLD if is_dry else _NEW) if is_done else 0
        values["unchanged"] = total - others
        setattr(summary, table, values)
    embeddings = metadata.get("embeddings", {})
    summary.texts = _texts(changes, embeddings)
    summary.usage |= {name: embeddings[name] for name in summary.usage if name in embeddings}
    return summary


def _texts(changes: pa.Table, embeddings: Mapping[str, Any]) -> dict[str, int]:
    """Return how many texts were embedded, and how many new rows got a vector without that."""
    if "model" not in embeddings:  # by words only, or not come so far
        return {"embedded": 0, "reused": 0}
    is_new = pc.is_in(changes["change"], pa.array(_NEW))
    rows = pc.sum(pc.and_(is_new, pc.not_equal(changes["text_hash"], ""))).as_py() or 0
    embedded, waiting = int(embeddings["embedded"]), int(embeddings["waiting"])
    return {"embedded": embedded, "reused": max(0, rows - embedded - waiting)}


def _made(
    folder: Path, name: str, metadata: Collection[str], columns: list[str] | None = None
) -> pa.Table:
    """Return the table a stage of this run made; a file of an earlier run does not count."""
    spec = TABLES[name]
    if name not in metadata:
        return spec.table()
    return Batches(folder / f"{name}.arrow", spec).table(columns)


def _metadata(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    return {
        event.asset_key.path[-1]: {
            name: value.value
            for name, value in event.step_materialization_data.materialization.metadata.items()
        }
        for event in result.get_asset_materialization_events()
        if event.asset_key is not None
    }


def _failures(
    repositories: list[dict[str, str]], metadata: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, str]]:
    found = [
        _failure(r["reason"], r["repository"] or r["source"])
        for r in repositories
        if r["status"] == "failed"
    ]
    found += metadata.get("files", {}).get("failed", [])
    embedded = metadata.get("embeddings", {})
    found += [
        _failure(f"text {text_hash} has no vector: {reason}")
        for text_hash, reason in embedded.get("failed", {}).items()
    ]
    if embedded.get("stopped"):
        found.append(_failure(f"the embedder stopped: {embedded['stopped']}"))
    return found


def _unreadable(store: LanceStore, names: list[str]) -> list[dict[str, str]]:
    """Return the files that were asked for and are not indexed; each is tried again next time."""
    columns = ["repository", "path", "skip_reason"]
    return [
        _failure(_UNREADABLE, row["repository"], row["path"])
        for row in store.read("files", columns=columns, repositories=names).to_pylist()
        if row["skip_reason"] == "unreadable" and row["path"]
    ]


def _notices(repositories: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return what a person should know of repositories that gave nothing without a fault."""
    return [
        {"repository": r["repository"], "reason": r["reason"]}
        for r in repositories
        if r["reason"] and r["status"] in {*_READ, "skipped"}
    ]


def _foreseen(
    store: LanceStore, stages: Path, names: list[str], metadata: Collection[str]
) -> Iterable[str]:
    """Return the reasons in the ledger as a run that stores would leave it."""
    place = ["repository", "path"]
    stored = store.read("files", columns=[*place, "skip_reason"], repositories=names)
    found = {(r["repository"], r["path"]): r["skip_reason"] for r in stored.to_pylist()}
    for row in _made(stages, "files", metadata, [*place, "skip_reason", "status"]).to_pylist():
        key = row["repository"], row["path"]
        if row["status"] == "deleted":
            found.pop(key, None)
        elif row["status"] != "unchanged":  # of those the ledger knows more: what parsing told
            found[key] = row["skip_reason"]
    for row in _made(stages, "syntax", metadata, [*place, "skip_reason"]).to_pylist():
        found[row["repository"], row["path"]] = row["skip_reason"]
    return found.values()


def _files(skip_reasons: Iterable[str]) -> dict[str, object]:
    reasons = Counter(skip_reasons)
    indexed = reasons.pop("", 0)
    return {"indexed": indexed, "skipped": dict(sorted(reasons.items()))}


def _rows_of(store: LanceStore, table: str, names: list[str]) -> int:
    return int(store.read(table, columns=["repository"], repositories=names).num_rows)


def _count(changes: pa.Table, table: str, names: list[str], kinds: tuple[str, ...]) -> int:
    """Return how many rows of ``table`` in the repositories ``names`` changed in such a way."""
    is_one = pc.and_(
        pc.equal(changes["table"], table), pc.is_in(changes["change"], pa.array(kinds))
    )
    is_here = pc.is_in(changes["repository"], pa.array(names, pa.string()))
    return int(pc.sum(pc.and_(is_one, is_here)).as_py() or 0)


def _seconds(instance: dg.DagsterInstance, run_id: str) -> dict[str, float]:
    steps = sorted(instance.get_run_step_stats(run_id), key=lambda step: step.start_time or 0.0)
    seconds = {
        step.step_key: round(step.end_time - step.start_time, 3)
        for step in steps
        if step.start_time is not None and step.end_time is not None
    }
    return seconds | {"total": round(sum(seconds.values()), 3)}
