"""Keep what each night did: as a file beside the tables, and as numbers in Dagster."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from logging import WARNING
from pathlib import Path
from typing import Any, Final, cast

import dagster as dg

from assets.nights import NIGHTS
from codelake.errors import CodelakeError, StoreError
from codelake.schemas import SKIP_REASONS, TABLES
from pipelines.summarizing import (
    Events,
    check_results,
    is_interrupted,
    recorded_metadata,
    stage_failures,
    summarize,
    time_stages,
)
from pipelines.summary import Summary
from resources.configuration import Configuration
from resources.logs import log_stage
from resources.nights import Night, write_night
from resources.places import work_folder
from resources.stages import Batches
from resources.store import LanceStore

_NAMED: Final = 1000  # repositories and failures of a night that are kept by name
_UNLISTED: Final = "skipped"


class RecordingConfiguration(Configuration):
    """The settings of a run that Dagster started; it is recorded when it ends."""

    is_recorded: bool = True

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[None]:
        """Be the one run over this store, and keep what it did."""
        with super().yield_for_execution(context) as mine:
            run, instance = context.run, context.instance
            if not self.is_recorded or run is None or instance is None:
                yield mine
                return
            record = NightRecord.begin(self, run.run_id, run.job_name)
            try:
                yield mine
            finally:
                with record.guarding():
                    logs = instance.all_logs(run.run_id)
                    events = [log.dagster_event for log in logs if log.dagster_event is not None]
                    summary = summarize(events, record.store, record.work / "stages")
                    summary.seconds = time_stages(instance, run.run_id)
                    night = record.end(events, summary)
                plot_night(instance, night)


@dataclass(frozen=True, slots=True)
class NightRecord:
    """A night that has begun."""

    store: LanceStore
    work: Path
    night: Night

    @classmethod
    def begin(cls, configuration: Configuration, run_id: str, job: str) -> "NightRecord":
        """Record that a night began."""
        work = work_folder(configuration.load())
        record = cls(configuration.open_store(), work, Night(run_id, job, _now()))
        record._keep(record.night)
        return record

    def end(self, events: Events, summary: Summary) -> Night:
        """Record how it ended."""
        told = summary.to_dict()
        repositories = _repositories(self.work, events)
        rows: Mapping[str, int] = {}
        with suppress(StoreError):  # a table is lost, which the failure of a stage has told
            rows = self.store.summary()
        night = replace(
            self.night,
            ended=_now(),
            outcome=_outcome(events, summary),
            summary={**told, "failed": summary.failed[:_NAMED]},
            repositories=dict(Counter(row["status"] for row in repositories)),
            skipped=_left_out(repositories),
            checks=tuple(_checks(events)),
            rows=rows,
        )
        self._keep(night)
        return night

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Record that it ended if the block is left before :meth:`end` could tell more."""
        try:
            yield
        except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
            self._keep(replace(self.night, ended=_now(), outcome="interrupted"))
            raise
        except Exception as error:  # a table is lost, say: there is nothing to tell of the rows
            reason = str(error) if isinstance(error, CodelakeError) else repr(error)
            self._keep(replace(self.night, ended=_now(), outcome="failed", reason=reason))
            raise

    def _keep(self, night: Night) -> None:
        try:
            write_night(self.work, night)
        except StoreError as error:  # the run is worth more than what is told of it
            log_stage(WARNING, "nights", str(error))


def plot_night(instance: dg.DagsterInstance, night: Night) -> None:
    """Let Dagster plot a night that is kept already: what fails here changes no record."""
    instance.report_runless_asset_event(
        dg.AssetMaterialization(NIGHTS, metadata=night_numbers(night))
    )


def night_numbers(night: Night) -> dict[str, int | float]:
    """Return ``night`` as flat numbers, under the same keys every night but for stages."""
    told = night.summary
    skipped = told["files"]["skipped"]
    return {
        **{f"{name} rows": count for name, count in night.rows.items()},
        "repositories": told["repositories"],
        **{f"repositories {s}": night.repositories.get(s, 0) for s in ("changed", "failed")},
        "files": told["files"]["indexed"],
        **{f"files skipped {reason}": skipped.get(reason, 0) for reason in SKIP_REASONS},
        **{f"{t} {name}": n for t in ("chunks", "symbols") for name, n in told[t].items()},
        **{f"texts {name}": count for name, count in told["texts"].items()},
        "tokens": told["usage"]["tokens"],
        "dollars": float(told["usage"]["cost_usd"]),
        "failures": len(told["failed"]),
        "checks failed": sum(not check["passed"] for check in night.checks),
        **{f"seconds {stage}": float(seconds) for stage, seconds in told["seconds"].items()},
    }


def _outcome(events: Events, summary: Summary) -> str:
    if is_interrupted(events):
        return "interrupted"
    if stage_failures(events):
        return "failed"
    return "partial" if summary.failed else "done"


def _repositories(work: Path, events: Events) -> list[dict[str, Any]]:
    """Return what the run found of each repository; nothing if it did not come so far."""
    if "repositories" not in recorded_metadata(events):
        return []
    stage = Batches(work / "stages" / "repositories.arrow", TABLES["repositories"])
    rows = stage.table(["repository", "status", "reason"]).to_pylist()
    return cast("list[dict[str, Any]]", rows)


def _left_out(repositories: list[dict[str, Any]]) -> dict[str, str]:
    found = [row for row in repositories if row["status"] == _UNLISTED]
    return {row["repository"]: row["reason"] for row in found[:_NAMED]}


def _checks(events: Events) -> Iterator[dict[str, object]]:
    for check in check_results(events):
        facts = {name: value.value for name, value in check.metadata.items()}
        yield {
            "name": check.check_name,
            "passed": check.passed,
            "warns": check.severity == dg.AssetCheckSeverity.WARN,
            "told": "" if check.passed else _told(facts),
        }


def _told(facts: Mapping[str, Any]) -> str:
    parts: list[str] = []
    for name, value in facts.items():
        if isinstance(value, dict):
            parts += [f"{key}: {inner}" for key, inner in value.items()]
        else:
            parts += map(str, value) if isinstance(value, list) else [f"{name}: {value}"]
    return "; ".join(parts)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
