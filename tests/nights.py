"""Run the real job over repositories made for a test."""

import json
import subprocess
from pathlib import Path
from typing import Any

from codelake.settings import Settings, build_settings, merge_settings
from pipelines.running import run_index
from pipelines.summary import Summary
from resources.configuration import Configuration
from resources.store import LanceStore
from resources.store.place import Place

_GIT = ("git", "-c", "user.name=sample", "-c", "user.email=sample@example.invalid")


def git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder`` and return what it printed."""
    done = subprocess.run(
        [*_GIT, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder: Path, files: dict[str, str] | None = None, message: str = "change") -> None:
    """Write ``files``, add everything and commit; the repository is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    for name, text in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


def night(
    store: Path | str, *sources: Path | str, is_dry: bool = False, **changes: object
) -> Summary:
    """Index ``sources`` into ``store``; settings are given with ``__`` between their parts."""
    return run_index(configured(store, *sources, **changes), is_dry=is_dry)


def configured(store: Path | str, *sources: Path | str, **changes: object) -> Configuration:
    """Return the settings of :func:`night` as the job takes them."""
    dotted: dict[str, object] = {key.replace("__", "."): value for key, value in changes.items()}
    dotted.setdefault("embedding.embedder", "hash")
    dotted.setdefault("run.workers", 1)
    dotted.setdefault("run.retries", 0)
    dotted["sources.paths"] = [str(source) for source in sources]
    # A dry check of the settings: a typing error in a test should not look like a failed run.
    assert isinstance(merge_settings(build_settings({}), dotted), Settings)
    return Configuration(store=str(store), changes=json.dumps(dotted))


def rows(store: Path | Place, table: str) -> list[dict[str, Any]]:
    """Return the rows of a stored table, sorted by everything in them."""
    found = LanceStore(store).read(table).to_pylist()
    return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))
