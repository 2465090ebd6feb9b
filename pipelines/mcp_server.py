"""Let agents search: the tools of ``codelake mcp``, over standard input and output or HTTP.

Code is what other people wrote. It is handed over in fields of a structured answer, which no text
inside it can close, with hidden characters made visible and with a warning beside it.
"""

import functools
import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, ParamSpec, TypeVar

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from codelake import __version__
from codelake.embedding import Embedder
from codelake.errors import CodelakeError
from codelake.reranking import Reranker
from codelake.search import Filters, find_similar, search, show
from codelake.search.snippets import make_visible
from codelake.settings import SearchSettings
from pipelines.mcp_answers import (
    UNTRUSTED,
    IndexedRepository,
    IndexStatus,
    RepositoryList,
    SearchResult,
    ShownSymbol,
    found_code,
    outline_entry,
)
from pipelines.opening import LOCAL_RERANKER, check_filters
from resources.rerankers import open_reranker
from resources.store import LanceStore, LanceTables

_INSTRUCTIONS: Final = (
    "Search an index of source code. code_search takes several questions at once, in words or as "
    "identifiers, and returns places with code; show_symbol reads one result whole. " + UNTRUSTED
)
_READ_ONLY: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_UNAUTHORIZED: Final = 401

P = ParamSpec("P")
R = TypeVar("R")

Mode = Literal["hybrid", "vector", "text", "symbol", "regex", "multihop"]
Count = Annotated[int, Field(ge=1, le=100, description="most results")]
Names = Annotated[list[str], Field(description="exact names; empty means any")]
Owners = Annotated[
    list[str], Field(description="'acme' means the repositories acme/...; empty means any")
]
AsOf = Annotated[
    str,
    Field(description="an older state: its name, a date or time (UTC), or an indexed commit"),
]
Globs = Annotated[
    list[str],
    Field(description="'src/' is all below that folder, '*' stays in a folder, '**' does not"),
]


@dataclass(slots=True)
class Lake:
    """What the tools search: a store, as its last run left it at each call.

    Args:
        reranker: what scores the walks of multi-hop.
        repositories: the only ones that may be seen; empty means all.
        walks_if_asked: the reranker is only for who asks for multi-hop.
    """

    store: LanceStore
    embedder: Embedder | None
    settings: SearchSettings
    reranker: Reranker | None = None
    repositories: tuple[str, ...] = ()
    walks_if_asked: bool = False
    _kept: LanceTables | None = None

    def tables(self) -> LanceTables:
        """Return the tables as they are now; unchanged ones are kept, with what they hold."""
        now, kept = self.store.search_tables(), self._kept
        if kept and (kept.versions, kept.model_id) == (now.versions, now.model_id):
            return kept
        self._kept = now
        return now

    def _reranker(self, mode: str | None) -> Reranker | None:
        """Return what scores a walk: none where plain hybrid is asked for."""
        if mode == "multihop" and self.reranker is None:
            self.reranker, self.walks_if_asked = open_reranker(LOCAL_RERANKER), True
        is_refused = mode == "hybrid" or (self.walks_if_asked and mode != "multihop")
        return None if is_refused else self.reranker

    def allowed(self, asked: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the repositories to search.

        Raises:
            ToolError: one was asked for that isn't allowed.
        """
        refused = [name for name in asked if self.repositories and name not in self.repositories]
        if refused:
            message = f"not open to this server: {', '.join(refused)}; see list_repositories"
            raise ToolError(message)
        return tuple(asked) or self.repositories

    def code_search(  # noqa: PLR0913 - one parameter a filter, all of them optional
        self,
        queries: Annotated[list[str], Field(min_length=1, max_length=20)],
        *,
        mode: Mode | None = None,
        k: Count = 10,
        repositories: Names = [],  # noqa: B006 - never changed; JSON schema wants a list
        owners: Owners = [],  # noqa: B006 - as above
        languages: Names = [],  # noqa: B006 - as above
        paths: Globs = [],  # noqa: B006 - as above
        kinds: Names = [],  # noqa: B006 - as above
        is_test: Annotated[bool | None, Field(description="only tests, or none of them")] = None,
        as_of: AsOf = "",
    ) -> SearchResult:
        """Find code by meaning, words or names; several questions are answered together.

        Identifiers and quoted error messages find where they stand first.
        """
        asked = Filters(
            self.allowed(repositories),
            *(tuple(languages), tuple(paths), tuple(kinds)),
            is_test,
            tuple(owners),
        )
        found = self.store.find_state(as_of) if as_of else None
        tables = self.store.search_tables(state=found.state) if found else self.tables()
        filters = check_filters(asked, self.store, tables, found)
        wanted = mode or self.settings.mode
        answer = search(
            queries,
            tables=tables,
            embedder=self.embedder,
            reranker=self._reranker(mode),
            mode=wanted,
            k=k,
            filters=filters,
            settings=self.settings,
            clock=time.monotonic,
        )
        return SearchResult(
            mode=answer.mode,
            notices=list(answer.notices),
            stopped=answer.stopped,
            hits=[found_code(hit) for hit in answer.hits],
        )

    def find_similar(self, repository: str, path: str, line: int, k: Count = 10) -> SearchResult:
        """Find code that is like the code at a line of an indexed file."""
        (name,) = self.allowed([repository])
        filters = Filters(self.allowed())
        answer = find_similar(
            path,
            line,
            repository=name,
            tables=self.tables(),
            k=k,
            filters=filters,
            settings=self.settings,
        )
        hits = [found_code(hit) for hit in answer.hits]
        return SearchResult(mode=answer.mode, notices=[], stopped=None, hits=hits)

    def show_symbol(self, symbol_id: str) -> ShownSymbol:
        """Read one result whole, with its class, its neighbours and the outline of its file."""
        filters = Filters(self.allowed())
        shown = show(symbol_id, tables=self.tables(), filters=filters)
        return ShownSymbol(
            hit=found_code(shown.hit),
            enclosing=[outline_entry(o) for o in shown.enclosing],
            before=outline_entry(shown.before) if shown.before else None,
            after=outline_entry(shown.after) if shown.after else None,
            file=[outline_entry(o) for o in shown.file],
        )

    def list_repositories(self) -> RepositoryList:
        """List the indexed repositories with branch, commit and state."""
        rows = self.store.read("repositories").to_pylist()
        names = list(IndexedRepository.model_fields)
        return RepositoryList(
            repositories=[
                IndexedRepository.model_validate({name: row[name] for name in names})
                for row in sorted(rows, key=lambda row: row["repository"])
                if not self.repositories or row["repository"] in self.repositories
            ]
        )

    def index_status(self) -> IndexStatus:
        """Tell how much is indexed and how many rows have a vector."""
        counts = self.store.summary()
        tables = self.tables()
        models = [tables.coverage(table) for table in ("chunks", "symbols")]
        return IndexStatus(
            repositories=counts["repositories"],
            files=counts["files"],
            chunks=counts["chunks"],
            symbols=counts["symbols"],
            model_id=tables.model_id,
            with_vector=sum(count.get(tables.model_id, 0) for count in models)
            if tables.model_id
            else 0,
        )


def build_server(lake: Lake) -> MCPServer:
    """Return a server with the tools over ``lake``."""
    server = MCPServer(
        "codelake", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    for tool in (
        lake.code_search,
        lake.find_similar,
        lake.show_symbol,
        lake.list_repositories,
        lake.index_status,
    ):
        server.add_tool(_told(tool), annotations=_READ_ONLY)
    return server


def serve_http(server: MCPServer, *, port: int, token: str) -> None:
    """Serve on the loopback interface, to those who know ``token``, until interrupted."""
    uvicorn.run(build_app(server, token), host="127.0.0.1", port=port, log_level="warning")


def build_app(server: MCPServer, token: str) -> ASGIApp:
    """Return the HTTP application; requests without the token are refused.

    The SDK refuses foreign ``Host`` and ``Origin`` headers, so no web page can reach it.
    """
    return _TokenCheck(server.streamable_http_app(host="127.0.0.1"), token)


class _TokenCheck:
    """Let HTTP requests through that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                refusal = PlainTextResponse("the token is missing or wrong", _UNAUTHORIZED)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _told(tool: Callable[P, R]) -> Callable[P, R]:
    """Return ``tool`` with our errors as answers that the agent can read."""

    @functools.wraps(tool)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return tool(*args, **kwargs)
        except CodelakeError as error:
            raise ToolError(make_visible(str(error))) from error

    return call
