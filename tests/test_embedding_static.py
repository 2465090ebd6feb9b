"""The token table: what it says, how it is stored, and that every text has a vector."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.embedding import BLANK
from codelake.errors import UsageError
from codelake.settings import EmbeddingSettings
from resources.embedders import open_embedder
from resources.embedders.static import DIMENSION, REVISION, TABLE, StaticEmbedder, load_table
from resources.embedders.wording import only_words
from resources.models import FOLDER, model_file
from resources.models.build_static import is_word, quantize
from resources.models.tensors import read_tensors, write_tensors


def test_the_model_id_names_the_shipped_table() -> None:
    data = model_file(TABLE).read_bytes()
    assert hashlib.sha256(data).hexdigest().startswith(REVISION)
    assert len(data) < 10_000_000
    assert open_embedder(EmbeddingSettings(embedder="static")).model_id == f"static-{REVISION}-512"


def test_its_origin_is_shipped_with_it() -> None:
    assert "Apache License" in (FOLDER / "static_NOTICE.txt").read_text("utf-8")


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


def test_rare_words_weigh_more_and_marks_nothing() -> None:
    table = load_table()
    assert table.vectors.shape == (30522, DIMENSION)
    assert not table.document_weight[:106].any()  # [PAD], [CLS], unused, "!" ...
    assert table.document_weight[30_000] > table.document_weight[2_000] > 0
    assert [is_word(token) for token in ("[CLS]", "##ing", "(", "9")] == [False, True, False, True]


def test_rows_keep_their_direction_in_eight_bits() -> None:
    rows = np.random.default_rng(3).standard_normal((20, 64)).astype(np.float32)
    table, scale = quantize(rows)
    back = table.astype(np.float32) * scale[:, None]
    cosines = (back * rows).sum(1) / np.linalg.norm(back, axis=1) / np.linalg.norm(rows, axis=1)
    assert cosines.min() > 0.999


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
        ("JSONResponseParser", "JSON Response Parser"),
        ("parse_json2Text", "parse json2 Text"),
        ("a.b(c);", "a b c "),
        ("{ } ;", "{ } ;"),
        ("größeÄndern", "größeÄndern"),
    ],
)
def test_code_is_told_in_words(code: str, words: str) -> None:
    assert only_words(code) == words
