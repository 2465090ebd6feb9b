"""Checks of the contracts on the stored tables, run by Dagster after the assets they look at."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import dagster as dg
import pyarrow.compute as pc

from codelake.measure import Measure
from codelake.schemas import SKIP_REASONS
from resources.configuration import Configuration
from resources.stages import Batches
from resources.store import SEARCHED

# A night on which more than this share of files is skipped is worth a look: a wrong exclude rule,
# a checkout with its LFS files missing.
_MOST_SKIPPED: Final = 0.5

# Files of a night that are counted character by character, and of one batch: 0.1 CPU s.
_SAMPLED: Final = 200
_SAMPLED_OF_BATCH: Final = 5
_NAMED: Final = 3  # examples of what is wrong


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
    counts = configuration.open_store().counts("files", "skip_reason", ("", *SKIP_REASONS))
    total = sum(counts.values())
    return dg.AssetCheckResult(
        passed=total - counts.get("", 0) <= _MOST_SKIPPED * total,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"files": dg.MetadataValue.json({k or "indexed": n for k, n in counts.items()})},
    )


@dg.asset_check(
    asset="chunk_table",
    additional_ins={"syntax": dg.AssetIn("syntax")},
    description="Every non-whitespace character of a sample of the files of this night stands in "
    "exactly one stored chunk.",
)
def sampled_files_are_covered(configuration: Configuration, syntax: Batches) -> dg.AssetCheckResult:
    """Count the characters of some files and of their stored chunks."""
    if configuration.load().chunking.chunker != "cast":
        return dg.AssetCheckResult(passed=True, metadata={"files": 0})  # others may lap over
    wanted = dict(_sample(syntax))
    names, paths = ({key[part] for key in wanted} for part in (0, 1))
    stored = configuration.open_store().read(
        "chunks",
        columns=["repository", "path", "nws"],
        repositories=sorted(names),
        paths=sorted(paths),
    )
    found = Counter[tuple[str, str]]()
    for row in stored.to_pylist():
        found[row["repository"], row["path"]] += row["nws"]
    problems = [
        f"{':'.join(key)}: {found[key]} of {nws} characters are in its chunks"
        for key, nws in wanted.items()
        if found[key] != nws
    ]
    return _checked(problems, files=len(wanted))


def _checked(problems: list[str], **facts: int) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=not problems, metadata={**facts, "problems": problems[:_NAMED]}
    )


def _sample(syntax: Batches) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield some files of each batch with their non-whitespace characters, up to a number."""
    columns, left = ["repository", "path", "skip_reason", "text"], _SAMPLED
    for batch in syntax:
        rows = batch.select(columns).slice(0, min(_SAMPLED_OF_BATCH, left)).to_pylist()
        left -= len(rows)
        for row in rows:
            if not row["skip_reason"]:
                nws = Measure(row["text"]).nws(0, len(row["text"]))
                yield (row["repository"], row["path"]), nws
        if not left:
            return


@dg.asset_check(
    asset="symbol_table",
    additional_ins={"changes": dg.AssetIn("changes")},
    additional_deps=["chunk_table"],
    description="Every chunk and symbol that was made this night is stored, and none that was "
    "deleted.",
)
def rows_are_stored_as_made(configuration: Configuration, changes: Batches) -> dg.AssetCheckResult:
    """Compare the changes of this night with the stored ids of the repositories they touch."""
    table, store = changes.table(), configuration.open_store()
    problems, count = [], 0
    for name, id_column in SEARCHED.items():
        mine = table.filter(pc.equal(table["table"], name))
        names = pc.unique(mine["repository"]).to_pylist()
        stored = store.read(name, columns=[id_column], repositories=names)[id_column]
        is_stored = pc.is_in(mine["row_id"], value_set=stored.combine_chunks())
        is_wrong = pc.xor(is_stored, pc.not_equal(mine["change"], "deleted"))
        count += mine.num_rows
        problems += [
            f"{name} {row['row_id']} of {row['repository']}:{row['path']} is {row['change']}, but "
            f"{'not' if row['change'] != 'deleted' else 'still'} stored"
            for row in mine.filter(is_wrong).to_pylist()
        ]
    return _checked(problems, rows=count)


CHECKS = [
    sampled_files_are_covered,
    rows_are_stored_as_made,
    every_row_has_its_vector,
    every_repository_was_read,
    few_files_are_skipped,
]
