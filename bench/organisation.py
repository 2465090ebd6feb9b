"""Thousands of small repositories, night by night: what a night costs by what changed.

The repositories are made on the spot, objects and references written as git lays them out, since
starting git three times for each would take longer than the night. Every fifth is a fork of one
before it. ``CODELAKE_BENCH_REPOSITORIES`` says how many; 5,000 by default.
"""

import hashlib
import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import dagster as dg

from bench.figures import Figure
from bench.measure import folder_megabytes
from bench.pipeline import index
from bench.trees import Source
from pipelines.instance import open_instance

_FILES: Final = 4  # of a repository
_FORKED: Final = 5  # every so many-th repository is a fork
_CHANGED: Final = 100  # every so many-th repository changes in a night
_LINES: Final = 60  # of a file
_TEAMS: Final = 50  # folders the repositories lie in
_SLOWEST: Final = 6  # stages that are named
_SETTINGS: Final = "[embedding]\nembedder = 'hash'\ndimensions = 64\n"
_WHO: Final = b"bench <bench@example.org> 1700000000 +0000"


def measure(sources: list[Source]) -> list[Figure]:
    """Index many small repositories cut out of ``sources``, then change some."""
    count = int(os.environ.get("CODELAKE_BENCH_REPOSITORIES", "5000"))
    with tempfile.TemporaryDirectory(prefix="codelake-organisation-") as name:
        folder = Path(name)
        pieces = _pieces(sources, count * _FILES)
        for number in range(count):
            origin = number - 1 if number % _FORKED == _FORKED - 1 else number
            files = {f"src/part{n}.py": pieces[origin * _FILES + n] for n in range(_FILES)}
            write_commit(folder / "tree" / f"team{number % _TEAMS}" / f"repository{number}", files)
        return [Figure("repositories", count), *_nights(folder, pieces, count)]


def _pieces(sources: list[Source], count: int) -> list[bytes]:
    """Return ``count`` different files of some lines."""
    pieces: list[bytes] = []
    turn = 0
    while len(pieces) < count:
        for source in (s for s in sources if s.language == "python"):
            lines = source.content.splitlines(keepends=True)
            for start in range(0, len(lines), _LINES):
                mark = f"# {len(pieces)} {turn}\n".encode()
                pieces.append(mark + b"".join(lines[start : start + _LINES]))
        turn += 1
    return pieces[:count]


def _nights(folder: Path, pieces: list[bytes], count: int) -> list[Figure]:
    figures = _night(folder, "the first night")
    for number in range(0, count, _CHANGED):
        place = folder / "tree" / f"team{number % _TEAMS}" / f"repository{number}"
        files = {f"src/part{n}.py": pieces[number * _FILES + n] for n in range(_FILES)}
        files["src/part0.py"] += b"\n\ndef added():\n    return 1\n"
        files["src/renamed.py"] = files.pop("src/part1.py")
        write_commit(place, files)
    figures += _night(folder, "a night with 1 % changed")
    figures += _night(folder, "a night with nothing changed")
    return figures


def _night(folder: Path, name: str) -> list[Figure]:
    config, store = folder / "codelake.toml", folder / "store"
    config.write_text(_SETTINGS, encoding="utf-8")
    before = _told(store)[0]
    cost, summary = index(folder / "tree", store, config)
    events, freed = _told(store)
    tables = sum(folder_megabytes(place) for place in store.glob("*.lance"))
    seconds = cast("dict[str, float]", summary["seconds"])
    slow = sorted(seconds.items(), key=lambda item: -item[1])[:_SLOWEST]
    return [
        Figure(name, cost.cpu_seconds, "CPU s"),
        Figure(f"{name}: peak memory", cost.peak_megabytes, "MB"),
        Figure(f"{name}: events of Dagster", events - before),
        Figure(f"{name}: size of the tables before upkeep", tables + freed / 1e6, "MB"),
        Figure(f"{name}: size of the tables after upkeep", tables, "MB"),
        *(Figure(f"{name}:   {stage}", value, "s of wall time") for stage, value in slow),
    ]


def _told(store: Path) -> tuple[int, float]:
    """Return the number of events that are kept, and the bytes the last upkeep freed."""
    if not store.exists():
        return 0, 0.0
    with open_instance(store) as instance:
        events = sum(len(instance.all_logs(run.run_id)) for run in instance.get_runs())
        (record,) = instance.fetch_materializations(dg.AssetKey("indexes"), limit=1).records
        made = record.asset_materialization
        return events, cast("float", made.metadata["bytes_freed"].value) if made else 0.0


def write_commit(repository: Path, files: Mapping[str, bytes]) -> None:
    """Make a commit of ``files`` and nothing else in ``repository``, which is made if needed."""
    git = repository / ".git"
    if not git.exists():
        for part in ("objects", "refs/heads"):
            (git / part).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (git / "config").write_text("[core]\n\trepositoryformatversion = 0\n", encoding="utf-8")
    tree = b"".join(
        b"100644 %s\0" % path.removeprefix("src/").encode() + _write(git, b"blob", content)
        for path, content in sorted(files.items())
    )
    root = b"40000 src\0" + _write(git, b"tree", tree)
    top = _write(git, b"tree", root).hex().encode()
    text = b"tree %s\nauthor %s\ncommitter %s\n\nstate\n" % (top, _WHO, _WHO)
    commit = _write(git, b"commit", text).hex()
    (git / "refs" / "heads" / "main").write_text(commit + "\n", encoding="utf-8")


def _write(git: Path, kind: bytes, content: bytes) -> bytes:
    data = b"%s %d\0" % (kind, len(content)) + content
    digest = hashlib.sha1(data, usedforsecurity=False)
    place = git / "objects" / digest.hexdigest()[:2] / digest.hexdigest()[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(data, 1))
    return digest.digest()
