"""Teach the table: a question must be nearer to its own code than to any other."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy import sparse

from training.material import Material
from training.table import Adam, Added, Array, Ids, Table, add_up, way_back

_NEVER: Final = -1e4  # the score of what does not compete


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a training is decided by.

    Args:
        epochs: times each pair is seen.
        batch: pairs of a step.
        group: pairs of one package that stand together in a batch, as each other's negatives.
        vector_rate: length of a step of the vectors.
        weight_rate: length of a step of the log weights.
        scale: what cosines are multiplied by before they compete.
        replaced: share of a question's words that are replaced by their like.
        joined: share of documents that another one of the package is put behind.
        headed: share of documents with path and name in front.
    """

    epochs: int = 2
    batch: int = 512
    group: int = 64
    vector_rate: float = 2e-3
    weight_rate: float = 1e-2
    scale: float = 20.0
    replaced: float = 0.1
    joined: float = 0.4
    headed: float = 0.5


@dataclass(slots=True)
class Training:
    """One training: moves a table by what it gets wrong, batch by batch."""

    table: Table
    material: Material
    recipe: Recipe
    draw: np.random.Generator
    _vectors: Adam = field(init=False)
    _weights: tuple[Adam, Adam] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the steps."""
        self._vectors = Adam(self.table.vectors, self.recipe.vector_rate)
        self._weights = (
            Adam(self.table.query_log, self.recipe.weight_rate),
            Adam(self.table.document_log, self.recipe.weight_rate),
        )

    def epoch(self, first_share: float, last_share: float) -> float:
        """See each pair once and return the mean loss.

        Args:
            first_share: share of the rates at the first batch.
            last_share: the same after the last one.
        """
        batches = list(self._batches())
        shares = np.linspace(first_share, last_share, len(batches))
        losses = [self._step(rows, float(s)) for rows, s in zip(batches, shares, strict=True)]
        return float(np.mean(losses))

    def _batches(self) -> Iterator[Ids]:
        """Yield the pairs in groups of one package."""
        packages, group = self.material.packages, self.recipe.group
        groups = []
        for package in np.unique(packages):
            rows = np.flatnonzero(packages == package)
            self.draw.shuffle(rows)
            groups += [rows[i : i + group] for i in range(0, len(rows), group)]
        self.draw.shuffle(groups)
        per_batch = self.recipe.batch // group
        for start in range(0, len(groups), per_batch):
            yield np.concatenate(groups[start : start + per_batch])

    def _step(self, rows: Ids, share: float) -> float:
        table, scale = self.table, np.float32(self.recipe.scale)
        asked = add_up(table, self._questions(rows), table.query_log)
        found = add_up(table, self._documents(rows), table.document_log)
        scores: Array = asked.units @ found.units.T
        scores *= scale
        # The same definition with another question: neither right nor wrong.
        same = self.material.definitions[rows]
        np.putmask(scores, (same[:, None] == same) & ~np.eye(len(rows), dtype=bool), _NEVER)
        loss, gradient = _contrast(scores)
        gradient *= scale
        self._move(asked, gradient @ found.units, 0, share)
        self._move(found, gradient.T @ asked.units, 1, share)
        return loss

    def _move(self, added: Added, gradient: Array, side: int, share: float) -> None:
        at_vectors, at_weights = way_back(self.table, added, gradient)
        self._vectors.step(added.tokens, at_vectors, share)
        self._weights[side].step(added.tokens, at_weights, share)

    def _questions(self, rows: Ids) -> sparse.csr_array:
        """Return questions in which some words are replaced by their like."""
        counts = self.material.questions[rows]
        like = self.material.like[counts.indices, self.draw.integers(self.material.like.shape[1])]
        is_replaced = (self.draw.random(len(like)) < self.recipe.replaced) & (like >= 0)
        counts.indices = np.where(is_replaced, like, counts.indices)
        counts.sum_duplicates()
        return counts

    def _documents(self, rows: Ids) -> sparse.csr_array:
        """Return code, some with its path and name in front, some with more code behind."""
        material, recipe = self.material, self.recipe
        counts = material.codes[rows]
        heads = sparse.diags_array((self.draw.random(len(rows)) < recipe.headed).astype(np.float32))
        others = sparse.diags_array(
            (self.draw.random(len(rows)) < recipe.joined).astype(np.float32)
        )
        starts = np.searchsorted(material.packages, material.packages[rows])
        ends = np.searchsorted(material.packages, material.packages[rows], "right")
        partners = self.draw.integers(starts, ends)
        added: sparse.csr_array = (
            counts + heads @ material.heads[rows] + others @ material.codes[partners]
        )
        return added.tocsr()


def _contrast(scores: Array) -> tuple[float, Array]:
    """Return the loss of taking others for the right one, both ways, and its gradient."""
    size = len(scores)
    forth, back = _softmax(scores), _softmax(scores.T).T
    right = np.arange(size)
    loss = -(np.log(forth[right, right] + 1e-9) + np.log(back[right, right] + 1e-9)).mean() / 2
    gradient = (forth + back) / np.float32(2 * size)
    gradient[right, right] -= np.float32(1 / size)
    return float(loss), gradient


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return shares
