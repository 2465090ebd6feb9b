"""Repositories made by git for tests that read them."""

import subprocess
from pathlib import Path

from codelake.repositories import Repository
from codelake.schemas import FILES
from codelake.settings import Settings, build_settings
from resources.files import read_files


def git(place: Path, *arguments: str) -> str:
    """Run git there and return what it printed."""
    command = ["git", "-C", str(place), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def make_clone(place: Path, *, files: dict[str, str] | None = None, form: str = "sha1") -> Path:
    """Make a repository with one commit."""
    subprocess.run(["git", "init", "-qb", "main", f"--object-format={form}", place], check=True)
    for name, text in (files or {"a.py": "x = 1\n"}).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "one")
    return place


def with_sources(settings: Settings, **sources: object) -> Settings:
    """Return the settings with other sources."""
    return build_settings({**settings.model_dump(), "sources": sources})


def read_rows(repository: Repository, settings: Settings) -> dict[str, dict[str, object]]:
    """Return the files of a repository by path."""
    nothing = FILES.table().drop_columns(["content"])
    batches = read_files(repository, nothing, settings, fingerprint="f")
    return {row["path"]: row for batch in batches for row in batch.to_pylist()}
