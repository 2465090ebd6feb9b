"""Measures of a text: what is counted, and how far a budget reaches."""

from hypothesis import given
from hypothesis import strategies as st

from codelake.measure import Measure

# Characters of one to four bytes, white space among them.
TEXTS = st.text(alphabet="ab \t\n\x1cé\x85€\u2003\u3000😀", max_size=60)


def _reached(text: str, budget: int) -> int:
    """Return the characters of the longest head of ``text`` with at most ``budget`` nws."""
    heads = range(len(text) + 1)
    return max(n for n in heads if sum(not c.isspace() for c in text[:n]) <= budget)


@given(TEXTS, TEXTS, TEXTS)
def test_nws_counts_what_is_no_white_space(before: str, text: str, after: str) -> None:
    measure = Measure((before + text + after).encode())
    start = len(before.encode())
    found = measure.nws(start, start + len(text.encode()))
    assert sum(not character.isspace() for character in text) == found


@given(TEXTS, TEXTS, st.integers(0, 70))
def test_reach_ends_in_front_of_the_character_that_is_too_much(
    before: str, text: str, budget: int
) -> None:
    measure = Measure((before + text).encode())
    end = len((before + text[: _reached(text, budget)]).encode())
    assert end == measure.reach(len(before.encode()), budget)
