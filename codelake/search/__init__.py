"""Search by meaning, by words, by symbol and by walks from hit to hit."""

from codelake.search.answers import Answer, Hit, Place
from codelake.search.searching import MODES, search
from codelake.search.showing import Outline, Shown, show
from codelake.search.similar import find_similar
from codelake.search.tables import Filters, SearchTables

__all__ = [
    "MODES",
    "Answer",
    "Filters",
    "Hit",
    "Outline",
    "Place",
    "SearchTables",
    "Shown",
    "find_similar",
    "search",
    "show",
]
