"""The local reranker: an order that makes sense, and scores that stay between 0 and 1."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from resources.rerankers import open_reranker
from resources.rerankers.maxsim import MaxSimReranker

CODE = [
    "class Stack:\n    def push(self, item): self.items.append(item)",
    "def retry_call(callback, attempts):\n    while attempts: return callback()",
    "SELECT name FROM users WHERE id = 1",
]


def test_the_text_that_answers_comes_first() -> None:
    scores = MaxSimReranker().rerank("retry a callback a few attempts", CODE)
    assert int(scores.argmax()) == 1
    assert len(scores) == 3


def test_a_score_does_not_depend_on_the_other_texts() -> None:
    reranker = open_reranker("maxsim")
    together = reranker.rerank("push an item", CODE)
    alone = [reranker.rerank("push an item", [text])[0] for text in CODE]
    np.testing.assert_allclose(together, alone, atol=1e-6)


@given(st.text(max_size=20), st.lists(st.text(max_size=30), max_size=5))
def test_scores_stay_between_nothing_and_one(query: str, texts: list[str]) -> None:
    scores = MaxSimReranker().rerank(query, texts)
    assert scores.shape == (len(texts),)
    assert ((scores >= 0) & (scores <= 1)).all()
    blank = np.array([not text.strip() or not query.strip() for text in texts], dtype=bool)
    assert not scores[blank].any()


def test_it_sends_nothing_away_and_names_its_table() -> None:
    reranker = open_reranker("maxsim")
    assert not reranker.is_remote
    assert reranker.model_id.startswith("maxsim-")
