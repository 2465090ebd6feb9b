"""Search by meaning, by words, by symbol and by walks from hit to hit."""

from codelake.search.answers import Answer, Hit, Place
from codelake.search.searching import MODES, search
from codelake.search.tables import Filters, SearchTables

__all__ = ["MODES", "Answer", "Filters", "Hit", "Place", "SearchTables", "search"]
