"""Figures of one question: what a ranking finds of the gold lines."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from evaluation.metrics import (
    BLOCK_LINES,
    MEASURES,
    Answer,
    Pieces,
    Ranking,
    block_scores,
    file_recall,
    gold_recall,
    gold_shares,
    line_mapped,
    map_lines,
    question_measures,
    rank,
    relevant_pieces,
    retrieved,
    standard_measures,
)

# A snapshot of two files: ten lines of 10 nws each in the first, five in the second.
_LINES = (10, 5)
_LINE_NWS = np.arange(16) * 10


def _pieces(*spans: tuple[int, int]) -> Pieces:
    """Make chunks of whole lines, given as first and last global line."""
    first = np.array([a for a, _ in spans], np.int64)
    last = np.array([b for _, b in spans], np.int64)
    file = (first >= _LINES[0]).astype(np.int64)
    return Pieces(_LINE_NWS[first], _LINE_NWS[last + 1], first, last, file)


def _answer(*lines: int) -> Answer:
    found = np.array(lines, np.int64)
    spans = np.stack([found, found], axis=1).reshape(-1, 2)
    return Answer(found, np.unique((found >= _LINES[0]).astype(np.int64)), spans)


def test_a_chunk_is_relevant_if_one_of_its_lines_is_gold() -> None:
    pieces = _pieces((0, 3), (4, 5), (6, 9), (10, 14))
    assert relevant_pieces(pieces, _answer(5, 6)).tolist() == [False, True, True, False]


def test_standard_measures_of_a_known_ranking() -> None:
    relevant = np.array([False, True, False, True, False, False, True])
    (found,) = standard_measures([Ranking(relevant, np.array([0, 1, 2, 4, 3, 5, 6]))])
    dcg = 1 / np.log2(3) + 1 / np.log2(6)
    ideal = 1 + 1 / np.log2(3) + 1 / np.log2(4)
    assert found == pytest.approx(
        {"recall@5": 2 / 3, "precision@5": 0.4, "ndcg@5": dcg / ideal, "mrr": 0.5, "hit@5": 1.0}
    )


def test_first_relevant_chunk_beyond_the_depth_still_counts_for_mrr_alone() -> None:
    relevant = np.zeros(10, bool)
    relevant[7] = True
    (found,) = standard_measures([Ranking(relevant, np.arange(10))])
    assert found == {"recall@5": 0, "precision@5": 0, "ndcg@5": 0, "mrr": 1 / 8, "hit@5": 0}


def test_nothing_relevant_scores_zero_everywhere() -> None:
    nothing = Ranking(np.zeros(3, bool), np.arange(3))
    something = Ranking(np.array([True, False, False]), np.arange(3))
    first, second, third = standard_measures([nothing, something, nothing])
    assert set(first.values()) == set(third.values()) == {0.0}
    assert second["recall@5"] == 1.0
    assert standard_measures([nothing]) == [first]


def test_equal_scores_keep_the_order_of_the_repository() -> None:
    assert rank(np.array([0.5, 1.0, 0.5, 1.0])).tolist() == [1, 3, 0, 2]


def test_max_and_mean_mapping_rank_blocks_differently() -> None:
    # Two blocks. The best chunk has one line of the second; the rest of it scores nothing.
    count = BLOCK_LINES
    first = np.array([0, count, count + 1])
    last = np.array([count - 1, count, 2 * count - 1])
    pieces = Pieces(first, last + 1, first, last, np.zeros(3, np.int64))
    mapping = map_lines(pieces, [2 * count], np.arange(2 * count))
    scores = np.array([0.5, 1.0, 0.0])
    assert block_scores(scores, mapping, "max").tolist() == [0.5, 1.0]
    assert block_scores(scores, mapping, "mean").tolist() == [0.5, 1.0 / count]


def test_a_line_with_two_chunks_takes_the_better_score() -> None:
    pieces = _pieces((0, 4), (4, 9))
    mapping = map_lines(pieces, _LINES, np.arange(15))
    assert block_scores(np.array([0.0, 1.0]), mapping, "mean")[0] == pytest.approx(0.6)


def test_blocks_start_anew_in_each_file_and_blank_ones_are_not_ranked() -> None:
    pieces = _pieces((0, 9), (10, 14))
    assert map_lines(pieces, _LINES, np.arange(15)).solid.tolist() == [0, 1]
    assert map_lines(pieces, _LINES, np.arange(10, 15)).solid.tolist() == [1]


def test_blocks_without_a_chunk_come_last() -> None:
    mapping = map_lines(_pieces((10, 14)), _LINES, np.arange(15))
    assert block_scores(np.array([-3.0]), mapping, "max").tolist() == [-np.inf, -3.0]
    nothing = map_lines(_pieces(), _LINES, np.arange(15))
    assert block_scores(np.empty(0), nothing, "max").tolist() == [-np.inf, -np.inf]


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6), st.integers(0, 299))
def test_mapping_changes_nothing_for_chunks_that_are_the_blocks(
    scores: list[float], line: int
) -> None:
    first = np.arange(6) * BLOCK_LINES
    last = first + BLOCK_LINES - 1
    pieces = Pieces(first, last + 1, first, last, np.zeros(6, np.int64))
    mapping = map_lines(pieces, [300], np.arange(300))
    answer = Answer(np.array([line]), np.array([0]), np.array([[line, line]]))
    values = np.array(scores)
    direct, largest, mean = standard_measures(
        [
            Ranking(relevant_pieces(pieces, answer), rank(values)),
            line_mapped(values, mapping, answer, "max"),
            line_mapped(values, mapping, answer, "mean"),
        ]
    )
    assert largest == direct
    # The mean of fifty equal numbers can differ in the last bit, and so can the order of ties.
    if len(set(np.round(values, 6))) == len(values):
        assert mean == direct


def test_the_last_chunk_is_cut_where_the_budget_ends() -> None:
    pieces = _pieces((0, 3), (4, 9), (10, 14))
    order = np.array([2, 0, 1])
    assert retrieved(pieces, order, 70).tolist() == [[100, 150], [0, 20]]
    assert retrieved(pieces, order, 50).tolist() == [[100, 150]]
    assert retrieved(pieces, order, 1000).tolist() == [[100, 150], [0, 40], [40, 100]]


def test_overlapping_chunks_are_paid_twice_and_count_once() -> None:
    pieces = _pieces((0, 4), (3, 7))
    intervals = retrieved(pieces, np.array([0, 1]), 60)
    assert intervals.tolist() == [[0, 50], [30, 40]]
    shares = gold_shares(intervals, _answer(3, 4, 5, 6), _LINE_NWS)
    assert shares == {"gold_lines": 0.5, "gold_nws": 0.5}


def test_a_gold_line_counts_only_whole_its_characters_count_each() -> None:
    shares = gold_shares(np.array([[0, 15]]), _answer(0, 1), _LINE_NWS)
    assert shares == {"gold_lines": 0.5, "gold_nws": 0.75}


def test_nothing_retrieved_and_blank_gold_are_zero() -> None:
    none = np.empty((0, 2), np.int64)
    assert set(gold_shares(none, _answer(1), _LINE_NWS).values()) == {0.0}
    assert set(gold_shares(np.array([[0, 9]]), _answer(), _LINE_NWS).values()) == {0.0}


_INTERVAL = st.tuples(st.integers(0, 150), st.integers(0, 150)).map(sorted)


@given(st.lists(_INTERVAL, max_size=8), st.sets(st.integers(0, 14), min_size=1))
def test_shares_equal_counting_character_by_character(
    pairs: list[list[int]], lines: set[int]
) -> None:
    inside = {place for start, end in pairs for place in range(start, end)}
    held = [sum(p in inside for p in range(10 * n, 10 * n + 10)) for n in sorted(lines)]
    intervals = np.array(pairs, np.int64).reshape(-1, 2)
    shares = gold_shares(intervals, _answer(*sorted(lines)), _LINE_NWS)
    assert shares["gold_nws"] == pytest.approx(sum(held) / (10 * len(lines)))
    assert shares["gold_lines"] == pytest.approx(sum(h == 10 for h in held) / len(lines))


@pytest.mark.parametrize(
    ("spans", "depth", "share"),
    [
        ([(1, 2)], 1, 1.0),  # the chunk holds more than half of the gold
        ([(3, 9)], 1, 0.0),  # one line of seven
        ([(0, 14)], 1, 1.0),  # the gold holds the chunk
        ([(3, 9)], 2, 1.0),
        ([(1, 2), (10, 14)], 2, 0.5),
        ([], 2, 0.0),
    ],
)
def test_gold_is_found_by_more_than_half(
    spans: list[tuple[int, int]], depth: int, share: float
) -> None:
    pieces = _pieces((0, 3), (4, 9), (10, 14))
    nothing = np.empty(0, np.int64)
    answer = Answer(nothing, nothing, np.array(spans, np.int64).reshape(-1, 2))
    assert gold_recall(pieces, np.array([0, 1, 2]), answer, depth) == share


def test_file_recall_counts_distinct_files() -> None:
    pieces = _pieces((0, 1), (2, 3), (4, 9), (10, 14))
    order = np.array([0, 1, 2, 3])
    assert file_recall(pieces, order, _answer(4, 11), depth=1) == 0.5
    assert file_recall(pieces, order, _answer(4, 11), depth=2) == 1.0
    assert file_recall(pieces, order, _answer(), depth=2) == 0.0


def test_every_figure_of_a_question_is_named_and_a_perfect_answer_is_one() -> None:
    pieces = _pieces((0, 4), (5, 9), (10, 14))
    mapping = map_lines(pieces, _LINES, np.arange(15))
    answers = [_answer(10, 11, 12, 13, 14)]
    scores = np.array([[0.0, 0.1, 1.0]])
    (found,) = question_measures(scores, pieces, mapping, answers, _LINE_NWS)
    assert list(found) == list(MEASURES)
    assert found.pop("precision@5") == pytest.approx(0.2)
    assert set(found.values()) == {1.0}
