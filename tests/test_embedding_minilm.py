"""The shipped model: its vectors, its limits, and what it costs to load."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from codelake.embedding import BLANK, embed_texts
from codelake.settings import EmbeddingSettings
from resources.embedders import open_embedder
from resources.embedders.minilm import MODEL, REVISION, MiniLMEmbedder
from resources.models import FOLDER, model_file

REFERENCE = json.loads((Path(__file__).parent / "minilm_reference.json").read_text("utf-8"))


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (left * right).sum(axis=1) / np.linalg.norm(right, axis=1)


def test_vectors_are_those_of_the_float_model() -> None:
    found = MiniLMEmbedder(512).embed_documents([row["text"] for row in REFERENCE]).vectors
    wanted = np.array([row["vector"] for row in REFERENCE])
    assert cosines(found, wanted).min() >= 0.99
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)


def test_the_model_id_names_the_shipped_file_and_the_limit() -> None:
    digest = hashlib.sha256(model_file(MODEL).read_bytes()).hexdigest()
    assert digest.startswith(REVISION)
    embedder = open_embedder(EmbeddingSettings(max_tokens=96))
    assert embedder.model_id == f"minilm-{REVISION}-96"


def test_its_licence_is_shipped_with_it() -> None:
    notice = (FOLDER / "minilm_NOTICE.txt").read_text("utf-8")
    assert "all-MiniLM-L6-v2" in notice
    assert "Apache License, Version 2.0" in notice


def test_a_question_finds_its_function() -> None:
    embedder = MiniLMEmbedder()
    code = [
        "def retry(call, attempts):\n    for n in range(attempts):\n        try: return call()",
        "class Stack:\n    def push(self, item): self.items.append(item)",
        "SELECT name FROM users WHERE id = 1",
    ]
    query = embedder.embed_queries(["run a failing call again"]).vectors[0]
    assert int((embedder.embed_documents(code).vectors @ query).argmax()) == 0


def test_texts_that_begin_with_the_same_tokens_are_read_alike() -> None:
    embedder = MiniLMEmbedder(8)
    texts = ["int add ( int a , int b )", "int  add(int a, \n int c) { }", "int sub (int a)"]
    first, second, other = embedder.reading_hashes(texts)
    assert first == second != other
    vectors = embedder.embed_documents(texts).vectors
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_a_vector_does_not_depend_on_its_company_or_the_threads() -> None:
    texts = [f"def f{i}(x): return x * {i}" + " + 1" * (i % 40) for i in range(70)]
    together = MiniLMEmbedder(threads=3).embed_documents(texts).vectors
    alone = [MiniLMEmbedder(threads=1).embed_documents([text]).vectors[0] for text in texts[:5]]
    np.testing.assert_array_equal(together[:5], alone)


def test_a_long_text_is_read_to_the_limit_and_marked() -> None:
    embedder = MiniLMEmbedder(16)
    beginning = "alpha beta gamma delta"
    texts = [beginning, beginning + " word" * 10, beginning + " word" * 500, " " * 9999 + "x"]
    answer = embedder.embed_documents(texts)
    assert answer.truncated == (2, 3)
    assert embedder.usage.truncated == 2
    np.testing.assert_array_equal(answer.vectors[1], answer.vectors[2])


def test_blank_texts_have_no_vector() -> None:
    answer = MiniLMEmbedder().embed_documents(["", "x", " \n"])
    assert answer.failures == {0: BLANK, 2: BLANK}
    assert not answer.vectors[0].any()


def test_a_stream_is_read_window_by_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resources.embedders.minilm.WINDOW_TEXTS", 8)
    texts = [(str(i), "word " * (i + 1)) for i in range(20)]
    slices = list(embed_texts(texts, MiniLMEmbedder(), slice_texts=5))
    assert sorted(int(h) for s in slices for h in s.table["text_hash"].to_pylist()) == [*range(20)]
    assert not any(s.failures for s in slices)


def test_nothing_is_loaded_before_the_first_text() -> None:
    program = (
        "import sys, codelake.settings as s, resources.embedders as e\n"
        "e.EMBEDDERS\n"
        "assert 'onnxruntime' not in sys.modules\n"
        "e.open_embedder(s.EmbeddingSettings())\n"
        "from resources.embedders import minilm\n"
        "assert minilm._load_session.cache_info().currsize == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=FOLDER.parents[1])
