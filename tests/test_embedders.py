"""The registry, the hash embedder, and the errors of a wrong choice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.embedding import BLANK
from codelake.errors import UsageError
from codelake.settings import EmbeddingSettings
from resources.embedders import EMBEDDERS, open_embedder
from resources.embedders.hashing import HashEmbedder


def test_an_unknown_name_is_answered_with_the_choices() -> None:
    with pytest.raises(UsageError) as caught:
        open_embedder(EmbeddingSettings(embedder="minilmm"))
    assert "unknown embedder 'minilmm', did you mean 'minilm'?" in str(caught.value)
    for name in EMBEDDERS:
        assert name in str(caught.value)


def test_the_default_is_local() -> None:
    embedder = open_embedder(EmbeddingSettings(local_only=True))
    assert not embedder.is_remote
    assert embedder.dimension == 384


@pytest.mark.parametrize(
    "settings",
    [
        EmbeddingSettings(embedder="hash", model="x"),
        EmbeddingSettings(embedder="hash", base_url="http://localhost"),
        EmbeddingSettings(embedder="minilm", model="x"),
        EmbeddingSettings(embedder="minilm", dimensions=128),
        EmbeddingSettings(embedder="minilm", output_type="int8"),
        EmbeddingSettings(embedder="minilm", max_tokens=513),
        EmbeddingSettings(embedder="minilm", max_tokens=2),
    ],
    ids=[
        "hash-model",
        "hash-url",
        "minilm-model",
        "minilm-size",
        "minilm-form",
        "too-many",
        "too-few",
    ],
)
def test_a_setting_that_means_nothing_is_refused(settings: EmbeddingSettings) -> None:
    with pytest.raises(UsageError, match=r"embedding\."):
        open_embedder(settings)


def test_hash_vectors_never_change() -> None:
    vector = HashEmbedder(4).embed_documents(["def parse_lines(text): ..."]).vectors[0]
    np.testing.assert_allclose(vector, [-0.690297, -0.471803, 0.548536, 0], atol=1e-5)


def test_texts_that_share_words_are_near() -> None:
    texts = ["def parse_lines(text)", "parseLines of TEXT", "class HttpServer: port = 80"]
    near, far = HashEmbedder(256).embed_documents(texts).vectors[1:]
    query = HashEmbedder(256).embed_queries(["parse lines"]).vectors[0]
    assert query @ near > query @ far + 0.3


@given(st.lists(st.text(), max_size=8), st.integers(1, 80))
def test_every_text_that_says_something_has_a_unit_vector(texts: list[str], dimension: int) -> None:
    answer = HashEmbedder(dimension).embed_documents(texts)
    lengths = np.linalg.norm(answer.vectors, axis=1)
    for row, text in enumerate(texts):
        assert answer.failures.get(row) == (None if text.strip() else BLANK)
        assert lengths[row] == pytest.approx(1.0 if text.strip() else 0.0, abs=1e-5)
