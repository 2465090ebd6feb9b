"""The evaluation as Dagster assets: retrieval sets, a partition each, and the chunker benchmark."""

import base64
from pathlib import Path
from typing import Any, Final

import dagster as dg
from pydantic import Field

from codelake.settings import EmbeddingSettings
from evaluation.retrieval_sets import open_set

_BESIDE: Final = Path(__file__).parents[2] / "shared" / "data" / "eval"

PUBLIC_SETS: Final = dg.StaticPartitionsDefinition(
    ["commit_loc", "docstring_nl", "repoeval_function", "semble_nl", "swebench_lite_loc"]
)


class SetConfig(dg.Config):
    """Where a set is."""

    root: str = str(_BESIDE)


class BenchmarkConfig(dg.Config):
    """What is compared; the names are those of ``codelake eval``."""

    root: str = str(_BESIDE)
    cache: str = ".codelake-eval"
    sets: list[str] = Field(default_factory=list)
    chunkers: list[str] = Field(default_factory=lambda: ["lines:50", "fixed", "ast", "cast"])
    budgets: list[int] = Field(default_factory=lambda: [1200, 2000])
    headers: list[str] = Field(default_factory=lambda: ["none"])
    retrieval: list[str] = Field(default_factory=lambda: ["bm25"])
    embedders: list[str] = Field(default_factory=list)
    baseline: str = ""


@dg.asset(
    partitions_def=PUBLIC_SETS,
    group_name="evaluation",
    description="Questions with the lines that answer them, over snapshots of repositories.",
)
def retrieval_sets(context: dg.AssetExecutionContext, config: SetConfig) -> Any:  # noqa: ANN401 # dagster's result type is untyped
    """Load one set and record what identifies it."""
    found = open_set(Path(config.root), context.partition_key)
    facts = {"questions": len(found.questions), "repositories": len(found.licences)}
    licences = sorted(set(found.licences.values()))
    return dg.MaterializeResult(
        metadata={**facts, "licences": ", ".join(licences)},
        data_version=dg.DataVersion(found.content_hash),
    )


@dg.asset(
    deps=[
        dg.AssetDep(retrieval_sets, partition_mapping=dg.AllPartitionMapping()),
    ],
    group_name="evaluation",
    description="Chunkers x budgets x rankings x embedders on the sets, with a report.",
)
def chunker_benchmark(context: dg.AssetExecutionContext, config: BenchmarkConfig) -> Any:  # noqa: ANN401 # dagster's result type is untyped
    """Compare the chunkers; what was computed in an earlier run is reused."""
    from evaluation.session import Request, evaluate  # noqa: PLC0415 # needs the extra `eval`

    names = config.model_dump(exclude={"root", "cache", "retrieval", "embedders"})
    embedders = [EmbeddingSettings(embedder=name) for name in config.embedders]
    root, cache = Path(config.root), Path(config.cache)
    found = evaluate(
        Request(root, cache, retrievals=config.retrieval, embedders=embedders, **names),
        context.log.info,
    )
    page = found.report.write(cache / "report")
    metadata: dict[str, Any] = {
        section.title: dg.MetadataValue.md(_image(section.plot))
        for section in found.report.sections
        if section.plot
    }
    metadata |= {
        "verdict": dg.MetadataValue.md("\n\n".join(found.report.sections[0].text)),
        "report": dg.MetadataValue.path(str(page.absolute())),
        "questions": len(found.results.rows),
        "texts embedded": found.embedded,
    }
    return dg.MaterializeResult(metadata=metadata)


def _image(svg: str) -> str:
    """Return a plot as Markdown that carries it inside."""
    return f"![plot](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


EVALUATION_ASSETS: Final = [retrieval_sets, chunker_benchmark]
