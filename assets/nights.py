"""What each night did, in numbers that Dagster draws over time."""

import dagster as dg

NIGHTS = dg.AssetKey("nights")

nights = dg.AssetSpec(
    NIGHTS,
    deps=["indexes", "outcomes"],
    group_name="store",
    kinds={"dagster"},
    description="The record of each night, written at its end however it ends: repositories, files "
    "and rows by outcome, skips by reason, texts, tokens, dollars, seconds of each stage. "
    "*Plots* draws them over the nights.",
)
