"""The last night as metrics for Prometheus, read anew each time they are asked for."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from codelake.schemas import SKIP_REASONS
from resources.nights import Night, read_nights

_OUTCOMES: Final = ("done", "partial", "failed", "interrupted", "unfinished")
_GOOD: Final = ("done", "partial")  # outcomes after which the index is fresh but for what is told
_LOOKED_AT: Final = 30  # nights in which the last good one is looked for
_CHANGES: Final = ("added", "modified", "deleted", "unchanged")


class NightCollector(Collector):
    """Reads the last night over a store at each scrape."""

    def __init__(self, store: Path) -> None:
        """Name the store; nothing is read yet."""
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; none before the first night."""
        nights = read_nights(self._store, _LOOKED_AT)
        if nights:
            yield from _times(nights)
            yield from _facts(next((night for night in nights if night.summary), nights[0]))


def build_registry(store: Path) -> CollectorRegistry:
    """Return what :mod:`prometheus_client` writes or serves."""
    registry = CollectorRegistry()
    registry.register(NightCollector(store))
    return registry


def _times(nights: list[Night]) -> Iterator[Metric]:
    last = nights[0]
    yield _one("night_start_timestamp_seconds", "when the last night began", _unix(last.began))
    good = [_unix(night.ended) for night in nights if night.outcome in _GOOD and night.ended]
    if good:
        told = "when the last night ended that indexed all it could"
        yield _one("fresh_timestamp_seconds", told, good[0])
    states = {outcome: float(outcome == last.outcome) for outcome in _OUTCOMES}
    yield _many("night_outcome", "1 at what came of the last night", ("outcome",), states)


def _facts(night: Night) -> Iterator[Metric]:
    told = night.summary
    yield _many("rows", "rows of each table", ("table",), night.rows)
    yield _many("repositories", "by what the night found", ("status",), night.repositories)
    if not told:
        return
    yield _one("files", "files that are indexed", told["files"]["indexed"])
    skipped = {reason: told["files"]["skipped"].get(reason, 0) for reason in SKIP_REASONS}
    yield _many("files_skipped", "files that are not, by reason", ("reason",), skipped)
    changed = {(t, c): told[t][c] for t in ("chunks", "symbols") for c in _CHANGES}
    yield _many("night_rows", "rows by what happened to them", ("table", "change"), changed)
    yield _many("night_texts", "texts embedded and reused", ("what",), told["texts"])
    yield _one("night_tokens", "tokens that were embedded", told["usage"]["tokens"])
    yield _one("night_cost_dollars", "what the embedder cost", told["usage"]["cost_usd"])
    yield _one("night_failures", "files, repositories and texts that failed", len(told["failed"]))
    seconds = {stage: value for stage, value in told["seconds"].items() if stage != "total"}
    yield _many("night_stage_seconds", "seconds of each stage", ("stage",), seconds)
    passed = {check["name"]: float(check["passed"]) for check in night.checks}
    yield _many("check_passed", "1 where a check passed", ("check",), passed)


def _one(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(f"codelake_{name}", told, value=value)


def _many(
    name: str,
    told: str,
    labels: tuple[str, ...],
    values: Mapping[str, float] | Mapping[tuple[str, str], float],
) -> Metric:
    family = GaugeMetricFamily(f"codelake_{name}", told, labels=labels)
    for key, value in values.items():
        family.add_metric((key,) if isinstance(key, str) else key, value)
    return family


def _unix(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
