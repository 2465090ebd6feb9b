"""What a run did, read off the events that Dagster keeps of it and the tables it left."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from codelake.changes import ChangeCounts, count_changes
from codelake.errors import CodelakeError
from codelake.schemas import TABLES
from pipelines.summary import Summary
from resources.configuration import Configuration
from resources.places import work_folder
from resources.stages import Batches
from resources.store import LanceStore

Events = Sequence[dg.DagsterEvent]

_READ: Final = ("changed", "unchanged")  # statuses of repositories that the store stands for
_NEW: Final = ("added", "modified")  # changes of rows that stand in the store after a run
_OLD: Final = ("deleted", "modified")  # and of those that stood there before
_INTERRUPTS: Final = ("DagsterExecutionInterruptedError", "KeyboardInterrupt")
_UNREADABLE: Final = (
    "cannot be read; check the rights of the file, or the repository with `git fsck`"
)


def stage_folder(configuration: Configuration) -> Path:
    """Return the folder of the stage tables."""
    return work_folder(configuration.load()) / "stages"


def summarize(events: Events, store: LanceStore, stages: Path, *, is_dry: bool = False) -> Summary:
    """Return the summary of a run; what failed is in it with its reason.

    Args:
        events: of the run.
        store: as the run left it.
        stages: folder of the stage tables, as the run left them.
        is_dry: nothing was stored: the summary tells what would be.
    """
    metadata = recorded_metadata(events)
    repositories = _made(stages, "repositories", metadata).to_pylist()
    summary = Summary(store=str(store.place))
    summary.failed = _failures(repositories, metadata) + stage_failures(events)
    summary.failed += _broken_promises(events)
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


def _first_cause(event: dg.DagsterEvent) -> tuple[str, str]:
    """Return class and message of the error that a step or a run failed with, below Dagster's own.

    One of ours tells what to do; what a library raised below it does not.
    """
    is_step = event.is_step_failure
    error = (event.step_failure_data if is_step else event.job_failure_data).error
    ours = frozenset(_names(CodelakeError))  # all that Dagster keeps of a class
    while error is not None and error.cause is not None and error.cls_name not in ours:
        error = error.cause
    if error is None:
        return "", ""
    return error.cls_name or "", error.message.strip().partition(": ")[2]


def _names(base: type[Exception]) -> Iterator[str]:
    """Yield the name of a class and of every one below it."""
    yield base.__name__
    for below in base.__subclasses__():
        yield from _names(below)


def is_interrupted(events: Events) -> bool:
    """Tell whether Ctrl-C ended the run; Dagster records it as a failure."""
    failures = [e for e in events if e.is_step_failure or e.is_job_failure]
    return any(_first_cause(event)[0] in _INTERRUPTS for event in failures)


def stage_failures(events: Events) -> list[dict[str, str]]:
    """Return why stages failed as a whole, without Dagster's frames around it.

    A stage that failed on purpose has told the reason by what it recorded.
    """
    found = []
    for event in events:
        if not event.is_step_failure or event.step_failure_data.user_failure_data is not None:
            continue
        reason = _first_cause(event)[1] or "unknown"
        found.append(_failure(f"stage {event.step_key} failed: {reason}"))
    if any(event.is_step_failure for event in events):
        return found
    # Between the stages, or before the first.
    ends = [event for event in events if event.is_job_failure]
    return [_failure(f"the run failed: {_first_cause(event)[1] or 'unknown'}") for event in ends]


def may_heal(events: Events) -> bool:
    """Say whether the same run may do later what this one could not.

    Not where only a repository failed or a text was refused, which fail again until something is
    changed, nor where all that may be spent was: the next run would spend as much.
    """
    embedded = recorded_metadata(events).get("embeddings", {})
    if embedded.get("is_spent"):
        return False
    is_unanswered = bool(embedded.get("stopped") or embedded.get("lost"))
    return is_unanswered or bool(stage_failures(events) or _broken_promises(events))


def _broken_promises(events: Events) -> list[dict[str, str]]:
    """Return what the checks of the stored tables found; the others tell what is told already."""
    return [
        _failure(f"the tables are not sound: {problem}")
        for check in check_results(events)
        if "problems" in check.metadata and not check.passed
        for problem in cast("list[str]", check.metadata["problems"].value)
    ]


def _failure(reason: str, repository: str = "", path: str = "") -> dict[str, str]:
    return {"repository": repository, "path": path, "reason": reason}


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


def recorded_metadata(events: Events) -> dict[str, dict[str, Any]]:
    """Return what each asset recorded."""
    return {
        event.asset_key.path[-1]: {
            name: value.value
            for name, value in event.step_materialization_data.materialization.metadata.items()
        }
        for event in events
        if event.is_step_materialization and event.asset_key is not None
    }


def check_results(events: Events) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield what each check found."""
    for event in events:
        if event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            yield event.asset_check_evaluation_data


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


def time_stages(instance: dg.DagsterInstance, run_id: str) -> dict[str, float]:
    """Return the seconds of each step of a run, in their order, and of all together."""
    steps = sorted(instance.get_run_step_stats(run_id), key=lambda step: step.start_time or 0.0)
    seconds = {
        step.step_key: round(step.end_time - step.start_time, 3)
        for step in steps
        if step.start_time is not None and step.end_time is not None
    }
    return seconds | {"total": round(sum(seconds.values()), 3)}
