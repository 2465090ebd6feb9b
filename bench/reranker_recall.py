"""What reordering the nearest chunks wins in recall and costs in CPU seconds, on retrieval sets.

``python -m bench.reranker_recall SETS`` prints a row a set and a way to reorder the first 30 of
``minilm``: not at all, by ``maxsim`` alone, by the mean of both scores, and by the nearest token
vectors of MiniLM itself (0.3 cosine and 0.7 of it), for which the model reads every
text that no earlier question had among its 30.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from bench.embedder_recall import Corpus, asked_corpora, is_gold, recall_parser
from resources.embedders.minilm import DEFAULT_TOKENS, MODEL, MiniLMEmbedder, load_tokenizer
from resources.models import model_file
from resources.rerankers.maxsim import MaxSimReranker

_CANDIDATES: Final = 30
_FOUND: Final = 5
_RANKED: Final = 10
# An ONNX file is a message that another one may be appended to: this adds an output, the state of
# the last layer, "5.output".
_LAST_STATE: Final = b"\x3a\x0c\x62\x0a\x0a\x085.output"

Array = NDArray[np.float32]
Scores = Callable[[str, Sequence[str], Array], Array]


class _TokenVectors:
    """MiniLM's own vectors of the tokens of a text."""

    def __init__(self) -> None:
        model = model_file(MODEL).read_bytes() + _LAST_STATE
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_mem_pattern = False
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._known: dict[str, Array] = {}

    def read(self, text: str) -> Array:
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str) -> Array:
        ids = np.array([load_tokenizer().encode(text).ids[:DEFAULT_TOKENS]], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        state: Array = self._session.run(["5.output"], feeds)[0][0, 1:-1]
        lengths: Array = np.linalg.norm(state, axis=1, keepdims=True)
        return state / lengths

    def scores(self, query: str, texts: Sequence[str], cosines: Array) -> Array:
        asked = self.read(query)
        near = [float((asked @ self.read(text).T).max(axis=1).mean()) for text in texts]
        return np.float32(0.3) * cosines + np.float32(0.7) * np.array(near, np.float32)


def main() -> None:
    """Print the table for the sets that are named."""
    options = recall_parser("bench.reranker_recall", __doc__).parse_args()
    print("| set | reordered by | questions | found@5 | MRR@10 | CPU ms a question |")
    print("|---|---|---|---|---|---|")
    for name, corpora in asked_corpora(options):
        for way, scores in _ways().items():
            print(_row(name, way, corpora, scores), flush=True)


def _ways() -> dict[str, Scores]:
    maxsim, tokens = MaxSimReranker(), _TokenVectors()
    return {
        "nothing": lambda _query, _texts, cosines: cosines,
        "maxsim": lambda query, texts, _cosines: maxsim.rerank(query, texts),
        "mean of cosine and maxsim": lambda query, texts, cosines: (
            (cosines + maxsim.rerank(query, texts)) / np.float32(2)
        ),
        "MiniLM's token vectors": tokens.scores,
    }


def _row(name: str, way: str, corpora: Sequence[Corpus], scores: Scores) -> str:
    embedder = MiniLMEmbedder()
    ranks: list[int] = []
    spent = 0.0
    for corpus in corpora:
        documents = embedder.embed_documents([piece.text for piece in corpus.pieces]).vectors
        queries = embedder.embed_queries([question.text for question in corpus.questions]).vectors
        for question, query in zip(corpus.questions, queries, strict=True):
            cosines = documents @ query
            order = np.argsort(-cosines, kind="stable")
            first = order[:_CANDIDATES]
            before = time.process_time()
            found = scores(question.text, [corpus.pieces[i].text for i in first], cosines[first])
            spent += time.process_time() - before
            order[:_CANDIDATES] = first[np.argsort(-found, kind="stable")]
            gold = [is_gold(corpus.pieces[i], [question]) for i in order]
            ranks.append(gold.index(True))
    places = np.array(ranks)
    reciprocal = np.where(places < _RANKED, 1.0 / (places + 1.0), 0.0).mean()
    return (
        f"| {name} | {way} | {len(places)} | {(places < _FOUND).mean():.3f} "
        f"| {reciprocal:.3f} | {1000 * spent / len(places):.0f} |"
    )


if __name__ == "__main__":
    main()
