"""What a search gives back."""

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file, 1-based and inclusive."""

    repository: str
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer to a question: where it is, what it is and why it was found.

    Args:
        id: id of the chunk or symbol, for ``codelake show``.
        kind: kind of the definition or chunk.
        text: the body as stored; a symbol's is capped, see docs/tables.md.
        matched_queries: the questions of the batch that found it.
        also_at: other places that hold the same text.
        hop: 0 for what the question found, 1 for its neighbours, and so on.
        seed: id of the hit whose neighbour it is; empty at hop 0.
        scores: what the score is made of, by name.
        lines: lines a regular expression matched.
    """

    id: str
    repository: str
    path: str
    start_line: int
    end_line: int
    kind: str
    name: str
    qualified_name: str
    language: str
    score: float
    text: str
    matched_queries: tuple[str, ...] = ()
    also_at: tuple[Place, ...] = ()
    hop: int = 0
    seed: str = ""
    table: str = "chunks"
    signature: str = ""
    doc: str = ""
    is_test: bool = False
    is_generated: bool = False
    is_vendored: bool = False
    is_documentation: bool = False
    scores: dict[str, float] = field(default_factory=dict)
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of one call, best first.

    Args:
        mode: the mode that answered, which may differ from the one asked for; ``notices`` say so.
        stopped: why a multi-hop search ended, from ``STOP_REASONS``; None in other modes.
        notices: what a person should know about the answer, one sentence each.
    """

    mode: str
    hits: tuple[Hit, ...]
    stopped: str | None = None
    notices: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the answer as plain dictionaries and lists, the shape of ``--json``."""
        return asdict(self)
