"""From scored candidates to places: one hit per place and per text, files sharing the answer."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from codelake.search.candidates import Candidate
from codelake.settings import RankingSettings

# Share of the lines a chunk and a symbol have in common to be two views of one definition: the
# chunk may have a comment more, or the decorators less.
_SAME_SPAN: Final = 0.9

# Hits of a file that tell how much the whole of it is about the question.
_EVIDENCE: Final = 3


@dataclass(slots=True)
class _Kept:
    """What has been chosen so far, by file and by text."""

    all: list[Candidate] = field(default_factory=list)
    by_file: dict[tuple[str, str], list[Candidate]] = field(default_factory=dict)
    by_text: dict[str, Candidate] = field(default_factory=dict)

    def same(self, candidate: Candidate) -> Candidate | None:
        """Return the chosen candidate of the same text or, by more than half, the same lines."""
        twin = self.by_text.get(candidate.content_hash)
        if twin is not None:
            return twin
        file = self.by_file.get((candidate.repository, candidate.path), ())
        return next((kept for kept in file if _shares_lines(kept, candidate)), None)

    def add(self, candidate: Candidate) -> None:
        self.all.append(candidate)
        self.by_file.setdefault((candidate.repository, candidate.path), []).append(candidate)
        self.by_text[candidate.content_hash] = candidate

    def fold(self, candidate: Candidate, into: Candidate) -> None:
        """Fold a candidate into a chosen one; further copies of its text will follow it."""
        into.members.append(candidate)
        self.by_text.setdefault(candidate.content_hash, into)


def is_overlapping(one: Candidate, other: Candidate) -> bool:
    """Tell whether more than half of the lines of either lie in the other, in one file."""
    is_same_file = one.path == other.path and one.repository == other.repository
    return is_same_file and _shares_lines(one, other)


def _shares_lines(one: Candidate, other: Candidate) -> bool:
    shared = min(one.end_line, other.end_line) - max(one.start_line, other.start_line) + 1
    shortest = min(one.end_line - one.start_line, other.end_line - other.start_line) + 1
    return 2 * shared > shortest


def group(candidates: Iterable[Candidate], ranking: RankingSettings) -> list[Candidate]:
    """Fold candidates of one place or one text into the best of them and order the rest.

    Rows of the same place that agree lift their hit by ``agreement_weight``. Copies elsewhere do
    not: being copied is no merit. A file with several finds lifts the best of them.
    """
    chosen = fold_same(candidates)
    for candidate in chosen:
        rivals = (m.score for m in candidate.members if _is_other_view(m, candidate))
        lift(candidate, ranking.agreement_weight * max(rivals, default=0.0))
    _lift_files(chosen, ranking.file_weight)
    return share_files(chosen, ranking.hits_per_file)


def _lift_files(chosen: Iterable[Candidate], weight: float) -> None:
    """Raise the best hit of each file by what the file's best hits add up to."""
    if weight <= 0:
        return
    files: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in sorted(chosen, key=lambda c: c.order):
        files.setdefault((candidate.repository, candidate.path), []).append(candidate)
    sums = {file: sum(c.score for c in hits[:_EVIDENCE]) for file, hits in files.items()}
    most = max(sums.values(), default=0.0)
    for file, hits in files.items():
        if most > 0:
            hits[0].signals["file"] = weight * sums[file] / most
            hits[0].score += hits[0].signals["file"]


def fold_same(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the best candidate of each place and text, with the others as its members."""
    kept = _Kept()
    for candidate in sorted(candidates, key=lambda c: c.order):
        same = kept.same(candidate)
        if same is None:
            kept.add(candidate)
        else:
            kept.fold(candidate, same)
    return [_named(candidate) for candidate in kept.all]


def _named(candidate: Candidate) -> Candidate:
    """Return the symbol of the same lines instead of a chunk: it has name, signature and doc."""
    if candidate.table != "chunks":
        return candidate
    twin = next((m for m in candidate.members if _is_same_span(m, candidate)), None)
    if twin is None:
        return candidate
    rest = [m for m in candidate.members if m is not twin]
    return replace(
        twin,
        score=candidate.score,
        signals=candidate.signals,
        hop=candidate.hop,
        seed=candidate.seed,
        queries=candidate.queries,
        members=[replace(candidate, members=[]), *rest],
    )


def _is_same_span(one: Candidate, other: Candidate) -> bool:
    if one.table == other.table or not is_overlapping(one, other):
        return False
    first = max(one.start_line, other.start_line)
    last = min(one.end_line, other.end_line)
    outer = max(one.end_line, other.end_line) - min(one.start_line, other.start_line) + 1
    return last - first + 1 >= _SAME_SPAN * outer


def lift(candidate: Candidate, by: float) -> None:
    """Raise a score because several finds agree."""
    if by > 0:
        candidate.signals["agreement"] = candidate.signals.get("agreement", 0.0) + by
        candidate.score += by


def _is_other_view(member: Candidate, candidate: Candidate) -> bool:
    return member.table != candidate.table and is_overlapping(member, candidate)


def share_files(candidates: Iterable[Candidate], most: int) -> list[Candidate]:
    """Sort, and move what a file has beyond its share behind the first hits of the others."""
    taken: Counter[tuple[str, str]] = Counter()
    first: list[Candidate] = []
    later: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: c.order):
        file = (candidate.repository, candidate.path)
        taken[file] += 1
        (first if taken[file] <= most else later).append(candidate)
    for candidate in later:
        candidate.score = min(candidate.score, first[-1].score)
    return first + later
