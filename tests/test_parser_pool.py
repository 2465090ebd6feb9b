import os
import random
import signal
from pathlib import Path

import pyarrow as pa
import pytest

from codelake.chunking.batches import chunk_batch
from codelake.languages import LANGUAGES, detect_language
from codelake.schemas import SYNTAX
from codelake.settings import Settings, build_settings
from resources.parser_pool import ParserPool
from tests.language_samples import samples
from tests.laws import assert_row_laws, file_batch
from tests.strategies import FRAGMENTS

_SHORT = build_settings({"chunking": {"parse_seconds": 1.0, "budget": 60}})


def _parse(batches: list[pa.RecordBatch], workers: int, settings: Settings) -> pa.Table:
    with ParserPool(workers, settings) as pool:
        found = list(pool.map(batches))
    for batch in found:
        SYNTAX.check(batch)
    return pa.Table.from_batches(found, schema=SYNTAX.schema)


def _reasons(table: pa.Table) -> list[str]:
    return table.column("parse_reason").to_pylist()


def test_rows_come_in_input_order_whatever_the_workers() -> None:
    batches = [
        file_batch([(f"{b}/{i}.py", "python", b"def f%d(): pass\n" % i) for i in range(70)])
        for b in range(3)
    ]
    one, two = _parse(batches, 1, Settings()), _parse(batches, 2, Settings())
    assert one.equals(two)
    assert one.column("path").to_pylist() == [f"{b}/{i}.py" for b in range(3) for i in range(70)]


def test_no_batch_and_an_empty_batch_start_no_process() -> None:
    with ParserPool(2, Settings()) as pool:
        assert list(pool.map([])) == []
        assert [batch.num_rows for batch in pool.map([file_batch([("a", "", b"x")]).slice(1)])] == [
            0
        ]
        assert pool.process_ids() == []


def test_hanging_grammar_costs_one_deadline_and_no_other_file() -> None:
    before = file_batch([("a.py", "python", b"def f(): pass\n"), ("b.cob", "cobol", b"x")])
    after = file_batch([("c.cob", "cobol", b"x"), ("d.py", "python", b"def g(): pass\n")])
    one, two = _parse([before, after], 1, _SHORT), _parse([before, after], 2, _SHORT)
    assert _reasons(one) == ["", "timeout", "grammar-stopped", ""]
    assert one.equals(two)
    assert one.column("parse_status").to_pylist() == ["ok", "lines", "lines", "ok"]
    paths = chunk_batch(one.combine_chunks().to_batches()[0], _SHORT).column("path").to_pylist()
    assert paths == ["a.py", "b.cob", "c.cob", "d.py"]


def test_file_that_wants_too_much_memory_is_cut_by_lines() -> None:
    settings = build_settings({"files": {"max_bytes": 1}})
    bomb = b"x = " + b"a+" * 2_500_000 + b"1"
    table = _parse(
        [file_batch([("a.py", "python", bomb), ("b.py", "python", b"y\n")])], 1, settings
    )
    assert table.column("parse_status").to_pylist() == ["lines", "ok"]
    assert _reasons(table)[0] in {"crash", "memory"}


def test_worker_that_is_killed_from_outside_is_replaced() -> None:
    batches = [file_batch([(f"{i}.py", "python", b"x = 1\n")]) for i in range(4)]
    with ParserPool(1, Settings()) as pool:
        found = pool.map(batches)
        first = next(found)
        for process in pool.process_ids():
            os.kill(process, signal.SIGKILL)
        rest = list(found)
    assert [b.column("parse_status").to_pylist() for b in (first, *rest)] == [["ok"]] * 4


def test_no_process_is_left_when_the_caller_fails() -> None:
    processes: list[int] = []
    with pytest.raises(KeyboardInterrupt), ParserPool(2, Settings()) as pool:  # noqa: PT012 - the loop is what is interrupted
        for _ in pool.map([file_batch([("a.py", "python", b"x\n")])]):
            processes = pool.process_ids()
            raise KeyboardInterrupt
    assert processes
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_rows_that_were_skipped_before_keep_their_reason() -> None:
    rows = file_batch([("a.py", "python", b"")]).to_pylist()
    rows[0]["skip_reason"] = "too-large"
    batch = pa.RecordBatch.from_pylist(rows, schema=file_batch([("a", "", b"")]).schema)
    assert _parse([batch], 1, Settings()).column("skip_reason").to_pylist() == ["too-large"]


_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "shift_jis")


def _mutated(generator: random.Random, sample: str) -> bytes:
    """Cut, duplicate, interleave and flip pieces of several languages, or of a file of one."""
    pieces = [generator.choice(FRAGMENTS) for _ in range(generator.randint(1, 8))]
    if sample and generator.random() < 0.5:
        start = generator.randrange(len(sample))
        pieces += [sample[start : start + generator.randint(100, 4000)]] * generator.randint(1, 2)
        generator.shuffle(pieces)
    encoding = generator.choice(_ENCODINGS)
    data = bytearray("".join(pieces).encode(encoding, "replace"))
    for _ in range(generator.randint(0, 4)):
        at = generator.randrange(len(data) + 1)
        end = min(at + generator.randint(0, 30), len(data))
        match generator.randrange(5):
            case 0:
                del data[at:end]
            case 1:
                data[at:at] = data[at:end] * 3
            case 2:
                data[at:at] = generator.choice(FRAGMENTS).encode()[: end - at]
            case 3:
                data[at:at] = b"\0" * generator.randint(0, 1)
            case _:
                data[at:end] = bytes(b ^ 1 << generator.randrange(8) for b in data[at:end])
    return bytes(data).replace(b"\n", generator.choice([b"\n", b"\r\n", b"\r"]))


def _assert_laws_over_every_grammar(seed: int, per_grammar: int) -> None:
    generator = random.Random(seed)  # noqa: S311 - test data
    texts = {detect_language(path.name, b""): path.read_text() for path in samples()}
    files = [
        (f"{language}/{i}", language, _mutated(generator, texts.get(language, "")))
        for language in sorted(LANGUAGES)
        for i in range(per_grammar)
    ]
    settings = build_settings(
        {"chunking": {"parse_seconds": 5.0, "budget": 50}, "secrets": {"redact": False}}
    )
    batches = [file_batch(files[i : i + 200]) for i in range(0, len(files), 200)]
    with ParserPool(2, settings) as pool:
        results = list(pool.map(batches))
    found = [row for batch in results for row in batch.to_pylist()]
    rows: dict[str, list[dict[str, object]]] = {file["path"]: [] for file in found}
    for batch in results:
        for row in chunk_batch(batch, settings).to_pylist():
            assert row["nws"] <= 50
            rows[row["path"]].append(row)
    assert "crash" not in {file["parse_reason"] for file in found}
    for (path, _, raw), file in zip(files, found, strict=True):
        assert_row_laws(raw, file, rows[path])


def test_laws_hold_for_every_grammar_on_mutated_text() -> None:
    _assert_laws_over_every_grammar(seed=1, per_grammar=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_laws_hold_for_every_grammar_on_much_mutated_text(seed: int) -> None:
    _assert_laws_over_every_grammar(seed, per_grammar=30)


def test_a_worker_that_waits_for_the_other_is_not_taken_for_stuck() -> None:
    batches = [file_batch([(f"{n}.py", "python", b"x = 1\n")]) for n in range(12)]
    with ParserPool(2, Settings()) as pool:
        processes = {pid for _ in pool.map(batches) for pid in pool.process_ids()}
    assert len(processes) == 2
