"""Train the token table of the embedder ``static``; docs/static-table.md has the recipe."""
