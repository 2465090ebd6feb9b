"""Read the settings file; for the job and for commands that do not wait for Dagster alike."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codelake.errors import UsageError
from codelake.settings import Settings, merge_settings, parse_settings
from resources.addresses import is_url
from resources.places import expand_home, is_bucket

# Embedders and rerankers whose model is a folder; to the others it is a name at a service.
_EMBEDDERS: Final = ("ane", "folder")
_RERANKERS: Final = ("onnx",)


def load_settings(config_file: str, changes: Mapping[str, object]) -> Settings:
    """Read ``config_file`` if it is named, then apply dotted ``changes``.

    A relative path in the file starts at the file's folder, one among the changes at the current.

    Raises:
        UsageError: the file does not exist or says something unknown.
    """
    text = ""
    if config_file:
        try:
            text = Path(config_file).read_text(encoding="utf-8-sig")  # editors of Windows mark it
        except (OSError, UnicodeDecodeError) as error:
            message = f"cannot read the settings file {config_file!r}: {error}"
            raise UsageError(message) from error
    settings = parse_settings(text, origin=config_file or "settings")
    folder = Path(config_file).parent
    if folder != Path():
        changes = {**_paths_from(folder, settings, changes), **changes}
    return merge_settings(settings, changes) if changes else settings


def _paths_from(
    folder: Path, settings: Settings, changes: Mapping[str, object]
) -> dict[str, object]:
    """Return the settings that are relative paths as they read from here."""
    embeds = changes.get("embedding.embedder", settings.embedding.embedder) in _EMBEDDERS
    reranks = changes.get("search.reranker", settings.search.reranker) in _RERANKERS
    is_given = "store" in settings.model_fields_set and not is_bucket(settings.store)
    given = {
        "store": settings.store if is_given else "",
        "s3.folder": settings.s3.folder,
        "embedding.model": settings.embedding.model if embeds else "",
        "search.reranking.model": settings.search.reranking.model if reranks else "",
    }
    found: dict[str, object] = {key: _from(folder, path) for key, path in given.items() if path}
    if words := settings.sources.paths:
        found["sources.paths"] = [_source_from(folder, word) for word in words]
    return found


def _from(folder: Path, path: str) -> str:
    return str(folder / expand_home(path))


def _source_from(folder: Path, word: str) -> str:
    # An empty word stays one, that it can be refused and is not the file's folder.
    is_whole = not word or word.startswith("file://") or is_url(word, str(folder))
    return word if is_whole else _from(folder, word)
