"""The Dagster assets: one file, one asset, one table."""
