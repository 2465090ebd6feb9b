"""A run killed at any moment leaves tables that read well, and the next one ends where none was.

A subprocess writes, embeds, switches models and tidies up; it is killed after a random number of
its own steps and a random moment more. `make soak` does it hundreds of times.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from codelake.bucket_settings import S3Settings
from codelake.schemas import CHUNKS, SYMBOLS
from resources.store import LanceStore
from resources.store.bucket import BucketPlace
from tests.stored_rows import (
    DIMENSION,
    batches,
    by_key,
    chunk,
    embed_all,
    embeddings,
    ledger_files,
    ledger_repositories,
    symbol,
)

_ROOT = Path(__file__).parents[1]
_KILLS = 20
_SOAK_KILLS = 300
_FILES = 30
_MODELS = ("words/4", "other/4")
_MOST_SECONDS = 0.08  # longer than any step takes in a folder
_MOST_WAIT = 60  # seconds, for the lock of who was killed in a bucket


def state(number: int) -> tuple[list[dict[str, object]], list[dict[str, object]], list[str]]:
    """Return the chunks, symbols and files of the repository's state ``number``."""
    chance = random.Random(number)  # noqa: S311 - chance for a test
    paths = sorted(chance.sample([f"{i}.py" for i in range(_FILES)], _FILES - 5))
    chunks = [chunk(path, f"text {path} {chance.randrange(3)}") for path in paths]
    return chunks, [symbol(f"name{number}_{i}", path=paths[i]) for i in range(5)], paths


def run(store: LanceStore, number: int, step: Callable[[], None] = lambda: None) -> None:
    """Bring the store to state ``number`` as a run does: rows, ledger, vectors, upkeep."""
    model_id = _MODELS[number % len(_MODELS)]
    chunks, symbols, paths = state(number)
    with store.writing(wait_seconds=_MOST_WAIT):
        for table, spec, rows in (("chunks", CHUNKS, chunks), ("symbols", SYMBOLS, symbols)):
            key = f"{table[:-1]}_id"
            ids = set(store.read(table, columns=[key])[key].to_pylist())
            gone = sorted(ids - {str(row[key]) for row in rows})
            store.replace_rows(table, delete_ids=gone, batches=batches(spec, rows))
            step()
        old = set(store.read("files", columns=["path"])["path"].to_pylist())
        gone_files = [("shop", path) for path in sorted(old - set(paths))]
        store.replace_rows("files", delete_ids=gone_files, batches=ledger_files(*paths))
        store.replace_rows("repositories", batches=ledger_repositories("shop"))
        step()
        store.index_new_rows()
        store.use_model(model_id, DIMENSION)
        step()
        waiting = [text_hash for text_hash, _ in store.pending(model_id)]
        for start in range(0, len(waiting), 10):
            store.append_embeddings(embeddings(waiting[start : start + 10], model_id=model_id))
            step()
        for table in ("chunks", "symbols"):
            store.fill_vectors(table, model_id)
            step()
        store.complete_model(model_id)
        step()
        store.optimize()
        store.publish("night", keep=2)
        step()


def opened(where: str) -> LanceStore:
    """Open a store in a folder, or in a bucket that is given with how to reach it."""
    url, _, settings = where.partition(" ")
    if not settings:
        return LanceStore(Path(where))
    return LanceStore(BucketPlace(url, S3Settings.model_construct(**json.loads(settings))))


def killed_run(
    where: str, number: int, chance: random.Random, most_seconds: float = _MOST_SECONDS
) -> None:
    """Run in a process of its own that is killed at a random moment after a random step."""
    steps, seconds = chance.randrange(14), chance.random() * most_seconds
    command = [sys.executable, __file__, where, str(number), str(steps), str(seconds)]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(command, check=False, cwd=_ROOT, env=environment)
    assert done.returncode in {-signal.SIGKILL, 0}


def run_and_die(where: str, number: int, steps: int, seconds: float) -> None:
    """Run until ``seconds`` after step ``steps`` and be killed then."""
    left = steps

    def step() -> None:
        nonlocal left
        if left == 0:
            killer = threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGKILL])
            killer.daemon = True
            killer.start()
        left -= 1

    step()
    run(opened(where), number, step)


def rows_of(store: LanceStore) -> dict[str, list[dict[str, object]]]:
    keys = {"chunks": "chunk_id", "symbols": "symbol_id", "files": "path", "repositories": "source"}
    return {table: by_key(store.read(table), key) for table, key in keys.items()}


@pytest.mark.parametrize(
    "kills", [_KILLS, pytest.param(_SOAK_KILLS, marks=pytest.mark.soak)], ids=["some", "many"]
)
def test_a_killed_run_is_finished_by_the_next(tmp_path: Path, kills: int) -> None:
    kill_often(str(tmp_path / "store"), kills, tmp_path)


def kill_often(
    where: str, kills: int, tmp_path: Path, *, most_seconds: float = _MOST_SECONDS
) -> None:
    """Kill runs, and compare with a fresh store after every fifth."""
    chance = random.Random(kills)  # noqa: S311 - chance for a test
    for number in range(kills):
        killed_run(where, number, chance, most_seconds)
        store = opened(where)
        if store.is_there:
            assert {p.kind for p in store.verify()} <= {
                "missing-vector",
                "stale-rows",
                "missing-rows",
                "unknown-repository",
            }
            for table in ("chunks", "symbols"):
                store.search_tables().coverage(table)
        if number % 5 == 0:
            run(store, number)
            assert store.verify() == []
            fresh = LanceStore(tmp_path / f"fresh{number}")
            run(fresh, number)
            assert rows_of(store) == rows_of(fresh)


def test_a_killed_run_embeds_nothing_again(tmp_path: Path) -> None:
    store = LanceStore(tmp_path)
    run(store, 0)
    kept = store.summary()["embeddings"]
    chance = random.Random(7)  # noqa: S311 - chance for a test
    killed_run(str(tmp_path), 0, chance)
    assert embed_all(store, _MODELS[0]) == 0
    assert store.summary()["embeddings"] == kept


if __name__ == "__main__":
    run_and_die(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
