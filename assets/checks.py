"""Checks of the contracts on the stored tables, run by Dagster after the assets they look at."""

from collections import Counter

import dagster as dg

from resources.configuration import Configuration

# A night on which more than this share of files is skipped is worth a look: a wrong exclude rule,
# a checkout with its LFS files missing.
_MOST_SKIPPED = 0.5


@dg.asset_check(
    asset="vectors", description="Every row that is to be embedded has a vector of the model."
)
def every_row_has_its_vector(configuration: Configuration) -> dg.AssetCheckResult:
    """Count the texts that still wait for their vector."""
    embedder, store = configuration.open_embedder(), configuration.open_store()
    waiting = store.pending_count(embedder.model_id) if embedder is not None else 0
    return dg.AssetCheckResult(passed=waiting == 0, metadata={"texts_without_vector": waiting})


@dg.asset_check(
    asset="repository_table", description="Every repository of the sources could be read."
)
def every_repository_was_read(configuration: Configuration) -> dg.AssetCheckResult:
    """List the repositories that failed, with the reason."""
    rows = configuration.open_store().read("repositories").to_pylist()
    failed = {row["repository"]: row["reason"] for row in rows if row["status"] == "failed"}
    return dg.AssetCheckResult(
        passed=not failed, metadata={"failed": dg.MetadataValue.json(failed)}
    )


@dg.asset_check(asset="file_table", description="Most files are indexed, not skipped.")
def few_files_are_skipped(configuration: Configuration) -> dg.AssetCheckResult:
    """Warn where more than half of the files are skipped, and say for which reasons."""
    reasons = configuration.open_store().read("files", columns=["skip_reason"])["skip_reason"]
    counts = Counter(reasons.to_pylist())
    skipped = counts.total() - counts[""]
    return dg.AssetCheckResult(
        passed=skipped <= _MOST_SKIPPED * counts.total(),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"files": dg.MetadataValue.json({k or "indexed": n for k, n in counts.items()})},
    )


CHECKS = [
    every_row_has_its_vector,
    every_repository_was_read,
    few_files_are_skipped,
]
