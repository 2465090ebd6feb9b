"""Checks of the contracts on the stored tables."""

import dagster as dg

CHECKS: list[dg.AssetChecksDefinition] = []
