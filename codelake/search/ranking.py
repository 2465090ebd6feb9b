"""What a candidate's score is made of."""

import re
from collections.abc import Sequence
from typing import Final

from codelake.search.candidates import Candidate
from codelake.search.questions import Question
from codelake.settings import RankingSettings, SearchSettings

# Shares of the exact bonus. A name as written beats the same words in another style, and a
# definition beats a mere use; where nothing defines the name, its uses are what there is.
_SAME_NAME: Final = 1.0
_SAME_QUALIFIED_NAME: Final = 1.25
_SAME_WORDS: Final = 0.6
_USED: Final = 0.1

# Share of these where a long question mentions a name among other things.
_MENTIONED: Final = 0.15

# Factor of everything that is no test when tests are what the question is about.
_NO_TEST: Final = 0.6


def score_candidates(
    candidates: Sequence[Candidate], question: Question, settings: SearchSettings
) -> None:
    """Set each candidate's score from its signals and the question."""
    defined = [_defines(candidate, question) for candidate in candidates]
    is_defined = max(defined, default=0.0) >= _SAME_NAME
    use = _USED if is_defined or not question.is_about_names else _SAME_NAME
    best = max((candidate.signals.get("rerank", 0.0) for candidate in candidates), default=0.0)
    weight = settings.multihop.rerank_weight
    reads_text = bool(question.names or question.files or question.pieces)
    for candidate, defines in zip(candidates, defined, strict=True):
        signals = candidate.signals
        if defines or reads_text:
            signals |= _exact_signals(candidate, question, defines, use)
        base = _fused(signals, settings.dense_weight)
        if best > 0:
            # A factor, not a share of the sum: what is near the question in no other way stays low.
            base *= 1 - weight * (1 - signals["rerank"] / best)
        bonus = settings.ranking.exact_bonus * signals.get("exact", 0.0)
        bonus += settings.ranking.literal_bonus * signals.get("literal", 0.0)
        factor = _weight(candidate, question, settings.ranking)
        if factor != 1.0:
            signals["weight"] = factor
        candidate.score = (base + bonus) * factor


def _fused(signals: dict[str, float], dense_weight: float) -> float:
    dense, words = signals.get("dense", 0.0), signals.get("words", 0.0)
    return dense_weight * dense + (1 - dense_weight) * words


def _exact_signals(
    candidate: Candidate, question: Question, defines: float, use: float
) -> dict[str, float]:
    exact = max(defines, use if _uses(candidate, question) else 0.0)
    exact *= 1.0 if question.is_about_names else _MENTIONED
    literal = _literal(candidate.text, question.pieces)
    return {k: v for k, v in (("exact", exact), ("literal", literal)) if v}


def _defines(candidate: Candidate, question: Question) -> float:
    if candidate.table != "symbols":
        return 0.0
    if candidate.name in question.names:
        name = f".{candidate.qualified_name}"
        is_qualified = any("." in q and name.endswith(f".{q}") for q in question.qualified)
        return _SAME_QUALIFIED_NAME if is_qualified else _SAME_NAME
    return _SAME_WORDS if candidate.natural_name in question.natural else 0.0


def _uses(candidate: Candidate, question: Question) -> bool:
    if any(f"/{candidate.path}".endswith(f"/{file}") for file in question.files):
        return True
    text = candidate.text
    return any(
        name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        for name in question.names
    )


def _literal(text: str, pieces: Sequence[str]) -> float:
    """Return the share of ``pieces``, by length, that stand in ``text``."""
    if not pieces:
        return 0.0
    lowered = text.lower()
    return sum(len(p) for p in pieces if p in lowered) / sum(map(len, pieces))


def _weight(candidate: Candidate, question: Question, ranking: RankingSettings) -> float:
    weight = 1.0
    if unwanted := candidate.flags - question.wants:
        weight = min(getattr(ranking, f"{flag}_weight") for flag in unwanted)
    if question.tests_first and "test" not in candidate.flags:
        weight *= _NO_TEST
    return weight
