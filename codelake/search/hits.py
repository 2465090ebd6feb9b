"""Make hits of ranked candidates, with every place that holds the same text."""

from collections.abc import Sequence
from typing import Final

from codelake.search.answers import Hit, Place
from codelake.search.candidates import Candidate
from codelake.search.tables import ID_COLUMNS, Filters, SearchTables

# Places read for the copies of one answer's hits; a licence header can have thousands.
_MOST_COPIES: Final = 2000

_PLACE: Final = ("repository", "path", "start_line", "end_line")


def build_hits(
    candidates: Sequence[Candidate], tables: SearchTables, filters: Filters
) -> tuple[Hit, ...]:
    """Return the hits of ``candidates`` in their order."""
    copies = _copies(candidates, tables, filters)
    return tuple(_hit(candidate, copies) for candidate in candidates)


def _copies(
    candidates: Sequence[Candidate], tables: SearchTables, filters: Filters
) -> dict[tuple[str, str], set[Place]]:
    found: dict[tuple[str, str], set[Place]] = {}
    for table in ID_COLUMNS:
        hashes = sorted({c.content_hash for c in candidates if c.table == table})
        if not hashes:
            continue
        rows = tables.equal(
            table,
            "content_hash",
            hashes,
            k=_MOST_COPIES,
            filters=filters,
            columns=("content_hash", *_PLACE),
        )
        for row in rows.to_pylist():
            place = Place(*(row[name] for name in _PLACE))
            found.setdefault((table, row["content_hash"]), set()).add(place)
    return found


def _hit(candidate: Candidate, copies: dict[tuple[str, str], set[Place]]) -> Hit:
    c = candidate
    here = Place(c.repository, c.path, c.start_line, c.end_line)
    others = copies.get((c.table, c.content_hash), set()) - {here}
    return Hit(
        id=c.id,
        repository=c.repository,
        path=c.path,
        start_line=c.start_line,
        end_line=c.end_line,
        kind=c.kind,
        name=c.name,
        qualified_name=c.qualified_name,
        language=c.language,
        score=round(c.score, 6),
        text=c.text,
        matched_queries=c.queries,
        also_at=tuple(
            sorted(others, key=lambda p: (p.repository, p.path, p.start_line, p.end_line))
        ),
        hop=c.hop,
        seed=c.seed,
        table=c.table,
        signature=c.signature,
        doc=c.doc,
        is_test="test" in c.flags,
        is_generated="generated" in c.flags,
        is_vendored="vendored" in c.flags,
        is_documentation="documentation" in c.flags,
        scores={name: round(value, 6) for name, value in c.signals.items()},
        lines=c.lines,
    )
