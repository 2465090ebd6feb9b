"""Merge the answers of several questions into one."""

from collections.abc import Mapping, Sequence

from codelake.search.candidates import Candidate
from codelake.search.grouping import fold_same, lift, share_files
from codelake.settings import RankingSettings


def merge(answers: Mapping[str, Sequence[Candidate]], ranking: RankingSettings) -> list[Candidate]:
    """Merge ranked candidates, keyed by the text of the question that found them.

    A place found by several questions is one candidate that names them all. Its score is the best
    one, lifted by ``agreement_weight`` of what each other question gave it.
    """
    for query, candidates in answers.items():
        for candidate in candidates:
            candidate.queries = (query,)
    if len(answers) == 1:
        return list(next(iter(answers.values())))
    merged = fold_same(c for candidates in answers.values() for c in candidates)
    for candidate in merged:
        best: dict[str, float] = {}
        for member in (candidate, *candidate.members):
            for query in member.queries:
                best[query] = max(best.get(query, 0.0), member.score)
        candidate.queries = tuple(query for query in answers if query in best)
        others = sum(best.values()) - best[max(best, key=lambda query: best[query])]
        lift(candidate, ranking.agreement_weight * others)
    return share_files(merged, ranking.hits_per_file)
