"""The token table: what it says, how it is stored, and that every text has a vector."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.embedding import BLANK
from codelake.errors import UsageError
from codelake.settings import EmbeddingSettings
from resources.embedders import open_embedder
from resources.embedders.static import (
    DIMENSION,
    REVISION,
    TABLE,
    VOCABULARY,
    StaticEmbedder,
    load_table,
)
from resources.embedders.wording import WordPieces, words_of
from resources.models import FOLDER, model_file
from resources.models.tensors import read_tensors, write_tensors


def test_the_model_id_names_the_shipped_table() -> None:
    table, vocabulary = model_file(TABLE).read_bytes(), model_file(VOCABULARY).read_bytes()
    assert hashlib.sha256(table + vocabulary).hexdigest().startswith(REVISION)
    assert len(table) < 10_000_000
    assert open_embedder(EmbeddingSettings(embedder="static")).model_id == f"static-{REVISION}-512"


def test_its_origin_is_shipped_with_it() -> None:
    assert "Apache License" in (FOLDER / "static_NOTICE.txt").read_text("utf-8")


REFERENCE = json.loads(Path(__file__).with_name("static_reference.json").read_text("utf-8"))


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: row["text"][:20])
def test_vectors_are_the_reference_ones(row: dict[str, Any]) -> None:
    embedder = StaticEmbedder()
    document = embedder.embed_documents([row["text"]]).vectors[0]
    question = embedder.embed_queries([row["text"]]).vectors[0]
    np.testing.assert_allclose(document[:16], row["document"], atol=2e-5)
    np.testing.assert_allclose(question[:16], row["question"], atol=2e-5)


def test_a_vector_is_the_weighed_sum_of_its_tokens() -> None:
    arrays = read_tensors(model_file(TABLE))
    words = model_file(VOCABULARY).read_text("utf-8").splitlines()
    mutex, lock = words.index("mutex"), words.index("lock")
    rows = arrays["table"].astype(np.float64) * arrays["scale"][:, None]
    weight = arrays["document_weight"]
    wanted = weight[mutex] * rows[mutex] + 2 * weight[lock] * rows[lock]  # four times is twice
    found = StaticEmbedder().embed_documents(["mutexLock(lock); LOCK lock"]).vectors[0]
    np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), atol=1e-5)


def test_a_question_finds_its_function() -> None:
    embedder = StaticEmbedder()
    code = [
        "def retryCall(callback, maxAttempts):\n    while maxAttempts: return callback()",
        "class Stack:\n    def push(self, item): self.items.append(item)",
        "SELECT name FROM users WHERE id = 1",
    ]
    query = embedder.embed_queries(["how are failing callbacks attempted again"]).vectors[0]
    assert int((embedder.embed_documents(code).vectors @ query).argmax()) == 0


def test_punctuation_weighs_nothing() -> None:
    vectors = StaticEmbedder().embed_documents(
        ["open file name", "open(file.name);", "openFileName"]
    )
    np.testing.assert_allclose(vectors.vectors[0], vectors.vectors[1], atol=1e-6)
    np.testing.assert_allclose(vectors.vectors[0], vectors.vectors[2], atol=1e-6)


@given(st.lists(st.text(max_size=40), max_size=6))
def test_every_text_that_says_something_has_a_unit_vector(texts: list[str]) -> None:
    answer = StaticEmbedder().embed_documents(texts)
    for row, text in enumerate(texts):
        assert answer.failures.get(row) == (None if text.strip() else BLANK)
        length = float(np.linalg.norm(answer.vectors[row]))
        assert length == pytest.approx(1.0 if text.strip() else 0.0, abs=1e-5)


def test_a_long_text_is_read_to_the_limit_and_marked() -> None:
    embedder = StaticEmbedder(4)
    answer = embedder.embed_documents(["one two three four", "one two three four five six"])
    np.testing.assert_array_equal(answer.vectors[0], answer.vectors[1])
    assert answer.truncated == (1,)
    assert embedder.usage.truncated == 1


def test_a_setting_that_means_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"embedding\.dimensions"):
        open_embedder(EmbeddingSettings(embedder="static", dimensions=64))


def test_each_token_has_a_row_and_what_is_no_word_weighs_nothing() -> None:
    table = load_table()
    words = model_file(VOCABULARY).read_text("utf-8").splitlines()
    assert table.vectors.shape == (len(words), DIMENSION)
    assert table.query_weight.shape == table.document_weight.shape == (len(words),)
    assert words[0] == "[UNK]"
    assert table.query_weight[0] == table.document_weight[0] == 0
    assert (table.query_weight[1:] > 0).all()
    assert table.query_weight[words.index("mutex")] > 2 * table.query_weight[words.index("the")]


def test_arrays_come_back_from_a_file(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(6, dtype=np.int8).reshape(2, 3),
        "b": np.array([1.5, -2], dtype=np.float32),
        "c": np.array([[0.5]], dtype=np.float16),
    }
    write_tensors(tmp_path / "x.safetensors", arrays)
    found = read_tensors(tmp_path / "x.safetensors")
    assert list(found) == list(arrays)
    for name, values in arrays.items():
        np.testing.assert_array_equal(found[name], values)
        assert found[name].dtype == values.dtype


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("JSONResponseParser", "json response parser"),
        ("parse_json2Text", "parse json2 text"),
        ("SHA256Hash UTF8", "sha256 hash utf8"),
        ("a.b(c);", "a b c"),
        ("{ } ;", ""),
        ("größeÄndern", "größeändern"),
    ],
)
def test_code_is_told_in_words(code: str, words: str) -> None:
    assert " ".join(words_of(code)) == words


PIECES = ["[UNK]", "read", "##er", "##s", "a", "##b", "##bc"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Reader, readers", ["read", "##er", "read", "##er", "##s"]),
        ("read_read", ["read", "read"]),
        ("abc", ["a", "##bc"]),
        ("réad", ["read"]),
        ("reading abd", ["[UNK]", "[UNK]"]),
        ("read" * 26, ["[UNK]"]),
        ("()", ["[UNK]"]),
    ],
)
def test_words_are_cut_into_the_longest_tokens(text: str, tokens: list[str]) -> None:
    assert [PIECES[number] for number in WordPieces(PIECES).ids(text)] == tokens


@given(st.text(max_size=30))
def test_words_are_cut_alike_every_time(text: str) -> None:
    pieces = WordPieces(PIECES)
    assert pieces.ids(text) == pieces.ids(text)
