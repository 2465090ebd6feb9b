"""What the nights did: a small JSON file each in the work folder, read without Dagster."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from resources.store.errors import store_errors

UNFINISHED: Final = "unfinished"
_FOLDER: Final = "nights"
_KEPT: Final = 400  # a year of nights, some MB


@dataclass(frozen=True, slots=True)
class Night:
    """One run over a store.

    Args:
        run_id: Dagster's.
        job: nightly or reindex.
        began: when, in UTC, as ISO text.
        ended: when; empty while it runs, or if it was killed.
        outcome: done; partial (something failed, the rest is indexed); failed (a stage failed as
            a whole); interrupted; unfinished.
        summary: what ``codelake index --json`` prints.
        repositories: how many, by what the run found of them.
        skipped: repositories that were left out, with the reason.
        checks: name, whether it passed, whether it only warns, and problems of each check.
        rows: rows of each table at the end.
        reason: why nothing else is told of a night that failed.
    """

    run_id: str
    job: str
    began: str
    ended: str = ""
    outcome: str = UNFINISHED
    summary: Mapping[str, Any] = field(default_factory=dict)
    repositories: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[Mapping[str, Any], ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the night that :func:`write_night` wrote.

        Raises:
            ValueError: it is no such text; a newer version may have written it.
        """
        values = json.loads(text)
        try:
            return cls(**{**values, "checks": tuple(values.get("checks", ()))})
        except (TypeError, AttributeError) as error:
            message = f"no record of a night: {error}"
            raise ValueError(message) from error


def write_night(work: Path, night: Night) -> None:
    """Keep ``night``, in place of what was kept of it before; very old ones are forgotten.

    Raises:
        StoreError: the folder cannot be written.
    """
    folder = work / _FOLDER
    mark = night.began.translate({ord(letter): None for letter in "-:+"})
    place = folder / f"{mark}{_ending(night.run_id)}"
    with store_errors(str(work), "keep the record of the night"):
        folder.mkdir(parents=True, exist_ok=True)
        partial = place.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(night), indent=1), encoding="utf-8")
        partial.replace(place)
        for old in sorted(folder.glob("*.json"))[:-_KEPT]:
            old.unlink(missing_ok=True)


def read_nights(work: Path, most: int = 1) -> list[Night]:
    """Return the last nights, the newest first; what cannot be read is left out."""
    return list(islice(_nights(work), most))


def find_night(work: Path, run_id: str) -> Night | None:
    """Return what is recorded of a run."""
    found = _nights(work, _ending(run_id))
    return next((night for night in found if night.run_id == run_id), None)


def _ending(run_id: str) -> str:
    return f"-{run_id[:8]}.json"


def _nights(work: Path, ending: str = ".json") -> Iterator[Night]:
    for place in sorted((work / _FOLDER).glob(f"*{ending}"), reverse=True):
        with suppress(OSError, ValueError):
            yield Night.from_json(place.read_text(encoding="utf-8"))
