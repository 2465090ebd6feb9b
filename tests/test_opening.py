"""What a question needs, and what is said where it is missing."""

from pathlib import Path

import pytest

from codelake.errors import StoreError, UsageError
from codelake.settings import Settings
from pipelines.opening import open_query_reranker, require_languages, require_store


def test_a_missing_store_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="run `codelake index"):
        require_store(Settings(store=str(tmp_path / "none")))


def test_an_unknown_language_names_the_nearest() -> None:
    require_languages(("python", "rust"))
    with pytest.raises(UsageError, match="unknown language 'pyton', did you mean python"):
        require_languages(("pyton",))


def test_the_local_reranker_answers_where_multihop_is_asked_for() -> None:
    assert open_query_reranker(Settings(), "hybrid") is None
    assert open_query_reranker(Settings(), "text") is None
    reranker = open_query_reranker(Settings(), "multihop")
    assert reranker is not None
    assert not reranker.is_remote
