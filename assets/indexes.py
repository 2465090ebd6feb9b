"""The end of a run: vector indexes, compaction, old versions forgotten."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from typing import Final

import dagster as dg

from assets.storing import state_name
from resources.configuration import Configuration
from resources.memory import release_memory
from resources.progress import reporter
from resources.upkeep import tidy_up

# A night that is late by an hour is told, one that was left out is an error.
_FRESH: Final = dg.FreshnessPolicy.time_window(
    warn_window=timedelta(hours=25), fail_window=timedelta(hours=36)
)

_SOUND: Final = dg.AssetCheckSpec(
    "tables_are_sound",
    asset="indexes",
    description="Of what changed: no id twice, no row of a file the ledger does not know, every "
    "vector finite and of length one; every data file there.",
)


@dg.asset(
    group_name="store",
    freshness_policy=_FRESH,
    kinds={"lancedb"},
    deps=["vectors"],
    check_specs=[_SOUND],
    description="Vector indexes where they pay, tables compacted, old versions and what nobody "
    "uses dropped. What changed is verified, and searches see it only if it is sound.",
)
def indexes(
    context: dg.AssetExecutionContext, configuration: Configuration
) -> Iterator[dg.MaterializeResult[None]]:
    """Bring the tables into shape and publish them if sound; fail if a row lacks its vector."""
    reporter().stage("indexes")
    release_memory()
    store = configuration.open_store()
    settings = configuration.load()
    done = asdict(tidy_up(store, settings))
    found = store.publish_sound(state_name(context.run), keep=settings.upkeep.states)
    problems = [str(problem) for problem in found]
    rows = {f"{table} rows": count for table, count in store.summary().items()}
    yield dg.MaterializeResult(
        metadata={**done, **rows},
        check_results=[
            dg.AssetCheckResult(passed=not problems, metadata={"problems": problems}),
        ],
    )
    embedder = configuration.open_embedder()
    waiting = store.pending_count(embedder.model_id) if embedder is not None else 0
    if waiting:
        # Everything is stored and searchable by words, but the run is not what was asked for.
        message = f"{waiting} texts have no vector; the next run tries them again"
        raise dg.Failure(message)
