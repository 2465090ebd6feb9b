"""Laws of grouping and merging over made-up candidates."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from codelake.search.batches import merge
from codelake.search.candidates import Candidate
from codelake.search.grouping import group, is_overlapping
from codelake.settings import RankingSettings

RANKING = RankingSettings()


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    numbers = range(draw(st.integers(0, 14)))
    return [draw(_candidate(number)) for number in numbers]


@st.composite
def _candidate(draw: st.DrawFn, number: int) -> Candidate:
    start = draw(st.integers(1, 12))
    end = start + draw(st.integers(0, 8))
    path = draw(st.sampled_from("ab"))
    return Candidate(
        draw(st.sampled_from(["chunks", "symbols"])),
        f"id{number}",
        repository="r",
        path=path,
        language="python",
        start_line=start,
        end_line=end,
        kind="function",
        name="f",
        content_hash=draw(st.sampled_from(["x", "y", f"own{number}"])),
        flags=frozenset(),
        qualified_name="f",
        text="",
        score=draw(st.floats(0, 2)),
    )


def _copy(given_candidates: list[Candidate]) -> list[Candidate]:
    return [
        Candidate(
            c.table,
            c.id,
            repository=c.repository,
            path=c.path,
            language=c.language,
            start_line=c.start_line,
            end_line=c.end_line,
            kind=c.kind,
            name=c.name,
            content_hash=c.content_hash,
            flags=c.flags,
            qualified_name=c.qualified_name,
            text=c.text,
            score=c.score,
        )
        for c in given_candidates
    ]


@given(candidates())
def test_no_two_hits_share_more_than_half_of_their_lines(found: list[Candidate]) -> None:
    hits = group(found, RANKING)
    assert not any(is_overlapping(one, other) for one, other in combinations(hits, 2))


@given(candidates())
def test_no_two_hits_have_the_same_text_and_every_text_is_there(found: list[Candidate]) -> None:
    hits = group(_copy(found), RANKING)
    texts = [h.content_hash for h in hits]
    assert len(texts) == len(set(texts))
    grouped = {c.id for h in hits for c in (h, *h.members)}
    assert {c.id for c in found} == grouped


@given(candidates(), st.randoms(use_true_random=False))
def test_the_order_of_what_was_found_does_not_matter(
    found: list[Candidate],
    random: object,
) -> None:
    shuffled = _copy(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = group(_copy(found), RANKING), group(shuffled, RANKING)
    assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in other]


@given(candidates())
def test_scores_fall_from_hit_to_hit(found: list[Candidate]) -> None:
    scores = [h.score for h in group(found, RANKING)]
    assert scores == sorted(scores, reverse=True)


@given(candidates(), candidates())
def test_a_batch_keeps_the_best_and_names_who_found_it(
    one: list[Candidate], other: list[Candidate]
) -> None:
    answers = {"one": group(one, RANKING), "other": group(other, RANKING)}
    best = max((h.score for hits in answers.values() for h in hits), default=None)
    merged = merge(answers, RANKING)
    assert not any(is_overlapping(a, b) for a, b in combinations(merged, 2))
    assert all(h.queries and set(h.queries) <= {"one", "other"} for h in merged)
    assert best is None or merged[0].score >= best
