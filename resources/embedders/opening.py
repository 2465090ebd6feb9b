"""What every backend checks before it is opened: its settings, its key, its package."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from codelake.errors import EmbeddingError, UsageError
from codelake.settings import EmbeddingSettings
from resources.embedders.providers import Limits


def refuse_settings(settings: EmbeddingSettings, names: Sequence[str]) -> None:
    """Refuse settings that the chosen embedder does not have.

    Raises:
        UsageError: one of ``names`` has another value than its default.
    """
    for name in names:
        default = EmbeddingSettings.model_fields[name].default
        if getattr(settings, name) != default:
            message = (
                f"embedding.{name} = {getattr(settings, name)!r} means nothing to "
                f"{settings.embedder!r}: leave it out, or see docs/embedders.md for who takes it"
            )
            raise UsageError(message)


def require_key(environment: Mapping[str, str], variable: str, name: str) -> str:
    """Return the key in ``variable``.

    Raises:
        EmbeddingError: it is not set; ``name`` says what needs it.
    """
    key = environment.get(variable, "").strip()
    if not key:
        message = f"{name} needs a key; set the environment variable {variable}"
        raise EmbeddingError(message)
    return key


def require_package(package: str, extra: str) -> Any:  # noqa: ANN401 # a module that may be missing
    """Import an optional package.

    Raises:
        EmbeddingError: it is not installed; ``extra`` of codelake brings it.
    """
    try:
        return import_module(package)
    except ImportError:
        raise _missing(package, extra) from None


def expect_package(package: str, extra: str) -> None:
    """Make sure that an optional package is there without the time that importing it takes.

    Raises:
        EmbeddingError: it is not installed; ``extra`` of codelake brings it.
    """
    if find_spec(package) is None:
        raise _missing(package, extra)


def _missing(package: str, extra: str) -> EmbeddingError:
    return EmbeddingError(
        f"this embedder needs the package {package!r}; install codelake[{extra}], or choose "
        "a local embedder (minilm)"
    )


def clipped(limits: Limits, settings: EmbeddingSettings) -> Limits:
    """Return ``limits`` with no longer texts than ``embedding.max_tokens`` allows."""
    most = settings.max_tokens or limits.text_tokens
    return replace(limits, text_tokens=min(limits.text_tokens, most))


def clip_suffix(settings: EmbeddingSettings) -> str:
    """Return what a token limit of one's own adds to the name of the space."""
    return f"-t{settings.max_tokens}" if settings.max_tokens else ""
