"""Palettes of weights: a few values, and for each weight which of them it is."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_BINS: Final = 1 << 16  # of equal width, in which weights are counted instead of sorted
_WIDE_BINS: Final = 1 << 10  # in which their density is told
_ROUNDS: Final = 30
_PART: Final = 1 << 24  # weights that are looked up at once


def palette_of(
    bits: int,
) -> Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[np.uint8]]]:
    """Return what chooses 2**bits values for some weights: k-means on a line."""

    def choose(weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        flat = weights.ravel()
        values = _centres(flat.astype(np.float32), 1 << bits)
        borders = ((values[1:] + values[:-1]) / 2).astype(np.float32)
        places = np.empty(flat.size, np.uint8)
        for start in range(0, flat.size, _PART):
            part = slice(start, start + _PART)
            places[part] = np.searchsorted(borders, flat[part].astype(np.float32))
        return values.astype(weights.dtype), places

    return choose


def _centres(weights: NDArray[np.float32], count: int) -> NDArray[np.float64]:
    """Return ``count`` values, ascending, near which the weights lie."""
    counts, edges = np.histogram(weights, bins=_BINS)
    middles = (edges[1:] + edges[:-1]) / 2
    # The best values lie as dense as the cube root of the weights. From even ranks the few large
    # weights, which matter most, would share one value for many rounds.
    dense = np.cumsum(np.cbrt(counts.reshape(_WIDE_BINS, -1).sum(axis=1)))
    ranks = (np.arange(count) + 0.5) * dense[-1] / count
    values = np.interp(ranks, np.concatenate([[0.0], dense]), edges[:: _BINS // _WIDE_BINS])
    mass = np.concatenate([[0], np.cumsum(counts)])
    moment = np.concatenate([[0.0], np.cumsum(counts * middles)])
    for _ in range(_ROUNDS):
        ends = np.searchsorted(middles, (values[1:] + values[:-1]) / 2)
        ends = np.concatenate([[0], ends, [_BINS]])
        sizes = np.diff(mass[ends])
        values = np.where(sizes > 0, np.diff(moment[ends]) / np.maximum(sizes, 1), values)
    return np.sort(values)
