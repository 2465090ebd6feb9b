"""Figures for one question: what a ranking of chunks finds of the lines that answer it.

Everything is measured in two global coordinates of a snapshot: *lines* counted through all files
one after the other, and *nws*, the non-whitespace characters before a place, counted likewise. A
chunk is an interval in both. Standard measures come from ir-measures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import ir_measures
import numpy as np
from ir_measures import RR, P, R, nDCG
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BUDGET: Final = 10_000  # nws a reader gets: five chunks of the paper's 2,000
SHORT_BUDGETS: Final = (2_500, 5_000)  # what a reader with less room gets of the same ranking
BLOCK_LINES: Final = 50  # the paper's baseline, and the unit of its line mapping
DEPTH: Final = 5
WIDE_DEPTH: Final = 10  # hits of an answer that a person or an agent is shown


@dataclass(frozen=True, slots=True)
class Pieces:
    """The chunks of a snapshot as intervals, one entry a chunk.

    Args:
        nws_start: nws before the chunk.
        nws_end: nws before what follows it.
        first_line: its first line in global lines, 0-based.
        last_line: its last line, inclusive.
        file: index of its file.
    """

    nws_start: Ints
    nws_end: Ints
    first_line: Ints
    last_line: Ints
    file: Ints


@dataclass(frozen=True, slots=True)
class Answer:
    """The gold of one question in global coordinates.

    Args:
        lines: global lines, ascending and distinct, that have a non-whitespace character.
        files: indexes of the files they are in, ascending.
        spans: a row a gold: its first and last global line.
    """

    lines: Ints
    files: Ints
    spans: Ints


def rank(scores: Floats) -> Ints:
    """Return the chunks from the best to the worst; equal scores keep their order."""
    return np.argsort(-scores, kind="stable")


def relevant_pieces(pieces: Pieces, answer: Answer) -> Bools:
    """Tell for each chunk whether one of its lines is gold."""
    before = np.searchsorted(answer.lines, pieces.first_line, side="left")
    until = np.searchsorted(answer.lines, pieces.last_line, side="right")
    return until > before


class Ranking(NamedTuple):
    """One question's ranking of what is retrieved.

    Args:
        relevant: whether each piece answers the question.
        order: pieces from the best to the worst.
    """

    relevant: Bools
    order: Ints


def standard_measures(
    rankings: Sequence[Ranking], depth: int = DEPTH, *, ranked: int = 100
) -> list[dict[str, float]]:
    """Return Recall@k, precision@k, nDCG@k, MRR and hit@k of each ranking.

    Args:
        rankings: a question each; asked together, as each call costs more than a question.
        depth: the ``k`` of the measures; MRR looks at ``ranked`` pieces.
        ranked: pieces of a ranking that are handed to the measures.
    """
    measures = {
        R @ depth: f"recall@{depth}",
        P @ depth: f"precision@{depth}",
        nDCG @ depth: f"ndcg@{depth}",
        RR @ ranked: "mrr",
    }
    found = [dict.fromkeys([*measures.values(), f"hit@{depth}"], 0.0) for _ in rankings]
    qrels, run = {}, {}
    for question, (relevant, order) in enumerate(rankings):
        if relevant.any():
            qrels[str(question)] = {str(index): 1 for index in np.flatnonzero(relevant)}
            # Ranks instead of scores: the measures break ties by name, we by place.
            places = enumerate(order[:ranked])
            run[str(question)] = {str(index): float(-place) for place, index in places}
            found[question][f"hit@{depth}"] = float(relevant[order[:depth]].any())
    for metric in ir_measures.iter_calc(list(measures), qrels, run) if qrels else ():
        found[int(metric.query_id)][measures[metric.measure]] = float(metric.value)
    return found


@dataclass(frozen=True, slots=True)
class LineMap:
    """Which chunks lie on which lines, and which block of lines each line is in.

    Args:
        chunks: the chunks on the lines, line by line.
        line_starts: where in ``chunks`` each line that has any begins.
        block_starts: which of those lines are the first of their block.
        blocks: places in ``solid`` of the blocks that have such lines.
        block_of_line: block of every global line.
        solid: blocks with a non-whitespace character, ascending: only these are ranked.
    """

    chunks: Ints
    line_starts: Ints
    block_starts: Ints
    blocks: Ints
    block_of_line: Ints
    solid: Ints


def map_lines(pieces: Pieces, lines_of_file: Sequence[int], solid_lines: Ints) -> LineMap:
    """Prepare the line mapping of a snapshot's chunks onto blocks of 50 lines.

    Args:
        pieces: the chunks.
        lines_of_file: number of lines of each file.
        solid_lines: global lines with a non-whitespace character, ascending.
    """
    counts = pieces.last_line - pieces.first_line + 1
    chunks = np.repeat(np.arange(len(counts)), counts)
    inside = np.arange(len(chunks)) - np.repeat(np.cumsum(counts) - counts, counts)
    lines = pieces.first_line[chunks] + inside
    by_line = np.argsort(lines, kind="stable")
    blocks, first = [np.empty(0, np.int64)], 0
    for length in lines_of_file:
        blocks.append(first + np.arange(length) // BLOCK_LINES)
        first += -(-length // BLOCK_LINES)
    block_of_line = np.concatenate(blocks)
    solid = np.unique(block_of_line[solid_lines])
    line_starts = _changes(lines[by_line])
    on_lines = block_of_line[lines[by_line][line_starts]]
    block_starts = _changes(on_lines)
    places = np.searchsorted(solid, on_lines[block_starts])
    return LineMap(chunks[by_line], line_starts, block_starts, places, block_of_line, solid)


def _changes(ascending: Ints) -> Ints:
    """Return where each number of an ascending series stands first."""
    return np.flatnonzero(np.diff(ascending, prepend=-1))


def block_scores(scores: Floats, mapping: LineMap, how: Literal["max", "mean"]) -> Floats:
    """Return the score of each solid block: the largest or the mean score of its lines.

    A line takes the score of the chunk on it, the best one if there are several. Lines without a
    chunk (blank ones between chunks) do not count.
    """
    found = np.full(len(mapping.solid), -np.inf)
    if not len(mapping.chunks):
        return found
    per_line = np.maximum.reduceat(scores[mapping.chunks], mapping.line_starts)
    if how == "max":
        found[mapping.blocks] = np.maximum.reduceat(per_line, mapping.block_starts)
    else:
        counts = np.diff(mapping.block_starts, append=len(per_line))
        found[mapping.blocks] = np.add.reduceat(per_line, mapping.block_starts) / counts
    return found


def line_mapped(
    scores: Floats, mapping: LineMap, answer: Answer, how: Literal["max", "mean"]
) -> Ranking:
    """Return the ranking of the paper: chunk scores mapped onto blocks of 50 lines."""
    gold = np.unique(mapping.block_of_line[answer.lines])
    return Ranking(np.isin(mapping.solid, gold), rank(block_scores(scores, mapping, how)))


def retrieved(pieces: Pieces, order: Ints, budget: int = BUDGET) -> Ints:
    """Return the nws intervals that fill ``budget`` in rank order, the last one cut.

    A character that two chunks hold is paid twice, as whoever reads the chunks pays it.
    """
    sizes = (pieces.nws_end - pieces.nws_start)[order]
    before = np.cumsum(sizes) - sizes
    taken = order[: int(np.searchsorted(before, budget, side="left"))]
    room = budget - before[: len(taken)]
    ends = np.minimum(pieces.nws_end[taken], pieces.nws_start[taken] + room)
    return np.stack([pieces.nws_start[taken], ends], axis=1)


def gold_shares(intervals: Ints, answer: Answer, line_nws: Ints) -> dict[str, float]:
    """Return the shares of gold lines and of gold nws that lie inside ``intervals``.

    A line counts when all of its characters are there.

    Args:
        intervals: pairs of nws start and end, from :func:`retrieved`.
        answer: the gold.
        line_nws: nws before each global line, and the total as last entry.
    """
    starts, ends = line_nws[answer.lines], line_nws[answer.lines + 1]
    if not len(starts):
        return {"gold_lines": 0.0, "gold_nws": 0.0}
    merged = _merge(intervals)
    inside = _covered(merged, ends) - _covered(merged, starts)
    sizes = ends - starts
    return {
        "gold_lines": float((inside == sizes).mean()),
        "gold_nws": float(inside.sum() / sizes.sum()),
    }


def gold_recall(pieces: Pieces, order: Ints, answer: Answer, depth: int = WIDE_DEPTH) -> float:
    """Return the share of golds that one of the best ``depth`` chunks finds.

    A gold is found if more than half of its lines are in the chunk, or more than half of the chunk
    is in it.
    """
    if not len(answer.spans):
        return 0.0
    best = order[:depth]
    first, last = answer.spans[:, :1], answer.spans[:, 1:]
    shared = np.minimum(pieces.last_line[best], last) - np.maximum(pieces.first_line[best], first)
    chunk = (pieces.last_line - pieces.first_line)[best]
    is_found = 2 * (shared + 1) > np.minimum(chunk, last - first) + 1
    return float(is_found.any(axis=1).mean())


def file_recall(pieces: Pieces, order: Ints, answer: Answer, depth: int = DEPTH) -> float:
    """Return the share of gold files that the best ``depth`` distinct files hold."""
    _, first = np.unique(pieces.file[order], return_index=True)
    best = pieces.file[order[np.sort(first)[:depth]]]
    return float(np.isin(answer.files, best).mean()) if len(answer.files) else 0.0


def question_measures(
    scores: Floats, pieces: Pieces, mapping: LineMap, answers: Sequence[Answer], line_nws: Ints
) -> list[dict[str, float]]:
    """Return every figure of each question (a row of ``scores``) by name, see :data:`MEASURES`."""
    asked = list(zip(scores, answers, strict=True))
    direct = [Ranking(relevant_pieces(pieces, answer), rank(own)) for own, answer in asked]
    found = standard_measures(direct)
    for how in ("max", "mean"):
        mapped = standard_measures([line_mapped(own, mapping, a, how) for own, a in asked])
        for figures, own in zip(found, mapped, strict=True):
            figures[f"line_{how}_recall@5"] = own[f"recall@{DEPTH}"]
    for figures, answer, (_, order) in zip(found, answers, direct, strict=True):
        figures.update(gold_shares(retrieved(pieces, order), answer, line_nws))
        for budget in SHORT_BUDGETS:
            shares = gold_shares(retrieved(pieces, order, budget), answer, line_nws)
            figures[f"gold_nws@{budget}"] = shares["gold_nws"]
        figures["file_recall@5"] = file_recall(pieces, order, answer)
        figures["gold_recall@10"] = gold_recall(pieces, order, answer)
    return [{name: figures[name] for name in MEASURES} for figures in found]


MEASURES: Final[Mapping[str, str]] = {
    "gold_lines": "share of gold lines wholly inside the first 10,000 retrieved nws",
    "gold_nws": "share of gold nws inside the first 10,000 retrieved nws",
    "gold_nws@2500": "the same inside the first 2,500",
    "gold_nws@5000": "the same inside the first 5,000",
    "line_max_recall@5": "Recall@5 of 50-line blocks, block score = largest line score",
    "line_mean_recall@5": "Recall@5 of 50-line blocks, block score = mean line score",
    "recall@5": "share of the chunks on gold lines that are among the first 5",
    "precision@5": "share of the first 5 chunks that are on gold lines",
    "ndcg@5": "nDCG@5 of the chunks on gold lines",
    "mrr": "reciprocal rank of the first chunk on a gold line, 0 beyond 100",
    "gold_recall@10": "share of the golds that one of the first 10 chunks finds by more than half",
    "file_recall@5": "share of gold files among the first 5 distinct files",
    "hit@5": "whether any of the first 5 chunks is on a gold line; rewards shredding",
}


def _merge(intervals: Ints) -> Ints:
    """Return disjoint ascending intervals that cover the same places."""
    if not len(intervals):
        return intervals
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ordered[:, 1])
    fresh = np.flatnonzero(np.r_[True, ordered[1:, 0] > reach[:-1]])
    last = np.r_[fresh[1:] - 1, len(ordered) - 1]
    return np.stack([ordered[fresh, 0], reach[last]], axis=1)


def _covered(merged: Ints, places: Ints) -> Ints:
    """Return for each place how many covered characters lie before it."""
    if not len(merged):
        return np.zeros(len(places), np.int64)
    sizes = merged[:, 1] - merged[:, 0]
    before = np.r_[0, np.cumsum(sizes)]
    index = np.searchsorted(merged[:, 0], places, side="right") - 1
    inside = np.clip(places - merged[index, 0], 0, sizes[index])
    return np.where(index < 0, 0, before[index] + inside)
