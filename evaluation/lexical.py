"""BM25 in memory, over words split as the product splits identifiers.

The product's own words live in an index on disk that is built for millions of rows; here an index
is needed per repository, chunker and budget and thrown away after a few questions, so bm25s (one
package over numpy) does it. The formula and its constants are Lucene's defaults, as in the store.
"""

import functools
import re
from collections.abc import Sequence
from typing import Final

import bm25s
import numpy as np
from numpy.typing import NDArray

from codelake.hashing import content_hash
from codelake.natural_names import natural_name
from evaluation.metrics import Floats

VERSION: Final = "bm25-1"
K1: Final = 1.2
B: Final = 0.75
_WORD: Final = re.compile(r"\w+")
_REMEMBERED: Final = 1 << 18  # identifiers whose words are kept; a set has fewer

Ids = NDArray[np.int32]


class Vocabulary:
    """Numbers for words; the words of a text are found once, however many arms contain it."""

    def __init__(self) -> None:
        """Start without words."""
        self._numbers: dict[str, int] = {}
        self._texts: dict[str, Ids] = {}

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self._numbers)

    def ids(self, text: str) -> Ids:
        """Return the words of ``text`` as numbers, in order and with repetition."""
        key = content_hash(text)
        if key not in self._texts:
            numbers = self._numbers
            ids = [numbers.setdefault(word, len(numbers)) for word in words(text)]
            self._texts[key] = np.array(ids, np.int32)
        return self._texts[key]


def words(text: str) -> list[str]:
    """Return the words of a text: identifiers are split, case is folded.

    >>> words("parseHTTPHeader(max_size=2)")
    ['parse', 'http', 'header', 'max', 'size', '2']
    """
    return [word for token in _WORD.findall(text) for word in _split(token)]


@functools.lru_cache(_REMEMBERED)
def _split(token: str) -> tuple[str, ...]:
    return tuple(natural_name(token).split())


def bm25_scores(texts: Sequence[str], queries: Sequence[str], vocabulary: Vocabulary) -> Floats:
    """Return the BM25 score of every text (column) for every query (row).

    A word that a query repeats counts as often.
    """
    documents = [vocabulary.ids(text) for text in texts]
    asked = [vocabulary.ids(query) for query in queries]
    if not any(map(len, documents)):
        return np.zeros((len(queries), len(texts)))
    # bm25s wants every word somewhere: those that stand only in other snapshots are renumbered.
    known, flat = np.unique(np.concatenate(documents), return_inverse=True)
    bounds = np.cumsum([len(document) for document in documents])[:-1]
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    own = [part.tolist() for part in np.split(flat, bounds)]
    index.index((own, {str(i): i for i in range(len(known))}), show_progress=False)
    scores = np.zeros((len(queries), len(texts)))
    for row, ids in enumerate(asked):
        inside = np.searchsorted(known, ids).clip(0, len(known) - 1)
        found = inside[known[inside] == ids]
        if len(found):
            scores[row] = index.get_scores_from_ids(found.tolist())
    return scores
