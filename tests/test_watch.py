"""Live mode: real repositories, real events of the file system, waited for and never slept for."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from embedding_server import EmbeddingServer
from nights import commit, configured, git, night, rows
from watching import Lines, Watch, watching

from codelake.errors import UsageError
from codelake.repositories import Repository
from codelake.search import Filters
from codelake.settings import Settings, build_settings
from pipelines.commands.watch import _write_line
from pipelines.live import _Follower, follow
from pipelines.outstanding import Outstanding
from resources.configuration import Configuration
from resources.moves import Moves, gather
from resources.repositories import discover
from resources.store import LanceStore

pytest.importorskip("watchfiles", reason="the extra codelake[watch] is not installed")

_ROOT = Path(__file__).parents[1]
_ONE = "def one():\n    return 1\n"
_IGNORE = {".gitignore": "build/\n*.log\n"}


@pytest.fixture(scope="module")
def organisation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("organisation")
    for name in ("app", "lib", "many", "shop"):
        commit(folder / name, {"a.py": _ONE, **_IGNORE})
    return folder


@pytest.fixture(scope="module")
def store(organisation: Path) -> Path:
    # Inside what is watched, as it is by default: what we write there must wake nobody.
    return organisation / ".codelake"


@pytest.fixture(scope="module")
def watch(organisation: Path, store: Path) -> Iterator[Watch]:
    with watching(store, str(organisation)) as running:
        yield running
        assert running.end(signal.SIGINT) == 0
        running.event("stopped")


def _names(store: Path, path: str) -> list[str]:
    tables = LanceStore(store).search_tables()
    found = tables.equal("symbols", "path", [path], k=9, filters=Filters(), columns=["name"])
    return sorted(found["name"].to_pylist())


def test_what_is_saved_is_found_and_what_is_ignored_wakes_nobody(
    organisation: Path, store: Path, watch: Watch
) -> None:
    (organisation / "lib" / "build").mkdir()
    (organisation / "lib" / "build" / "made.py").write_text(_ONE)
    (organisation / "lib" / "run.log").write_text("noise\n")
    git(organisation / "lib", "status")  # git refreshes its index
    (organisation / "app" / "new.py").write_text("def fresh():\n    return 2\n")
    event = watch.event("updated")
    assert event["repositories"] == ["app"]
    assert event["symbols"]["added"] == 1
    assert event["failed"] == []
    assert _names(store, "new.py") == ["fresh"]


def test_a_switch_of_many_files_is_one_update(
    organisation: Path, store: Path, watch: Watch
) -> None:
    place = organisation / "many"
    git(place, "checkout", "-q", "-b", "other")
    watch.event("updated")
    commit(place, {f"f{n}.txt": f"text {n}\n" for n in range(200)})
    watch.event("updated")
    git(place, "checkout", "-q", "main")
    event = watch.event("updated")
    assert event["repositories"] == ["many"]
    assert event["chunks"]["deleted"] == 200
    assert LanceStore(store).read("files", repositories=["many"]).num_rows == 2


def test_repositories_that_come_and_go_are_followed(
    organisation: Path, store: Path, watch: Watch
) -> None:
    commit(organisation / "team" / "young", {"y.py": "def young():\n    return 3\n"})
    assert watch.event("updated")["repositories"] == ["team/young"]
    assert _names(store, "y.py") == ["young"]
    shutil.rmtree(organisation / "team")
    assert watch.event("updated")["repositories"] == ["team/young"]
    assert _names(store, "y.py") == []


def test_a_broken_repository_is_told_and_the_others_go_on(
    organisation: Path, store: Path, watch: Watch
) -> None:
    (organisation / "shop" / ".git" / "HEAD").write_text("no head\n")
    (failure,) = watch.event("updated")["failed"]
    assert failure["repository"] == "shop"
    (organisation / "app" / "later.py").write_text("def later():\n    return 4\n")
    assert watch.event("updated")["repositories"] == ["app"]
    assert _names(store, "later.py") == ["later"]
    (organisation / "shop" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert watch.event("updated")["failed"] == []


def test_a_night_and_an_update_wait_for_each_other(
    organisation: Path, store: Path, watch: Watch
) -> None:
    with LanceStore(store).writing():  # as a night does
        (organisation / "app" / "meanwhile.py").write_text("def meanwhile():\n    return 5\n")
        assert f"process {os.getpid()} on" in watch.event("waiting")["reason"]
    assert watch.event("updated")["repositories"] == ["app"]
    assert _names(store, "meanwhile.py") == ["meanwhile"]


def test_the_rows_are_those_of_a_fresh_run(
    organisation: Path, store: Path, watch: Watch, tmp_path: Path
) -> None:
    del watch  # only that it has done all of the above
    night(tmp_path / "fresh", organisation, sources__untracked=True)
    for table in ("chunks", "symbols", "files", "repositories"):
        assert rows(store, table) == rows(tmp_path / "fresh", table)
    names = [state.name for state in LanceStore(store).models().published]
    assert names == ["live"], "updates must not push the states of nights out"


@pytest.fixture
def background() -> Iterator[None]:
    """Start processes as a script does with ``&``: they ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("background")
def test_commits_alone_are_followed_until_a_service_manager_ends_it(tmp_path: Path) -> None:
    commit(tmp_path / "app", {"a.py": _ONE})
    with watching(tmp_path / "store", str(tmp_path / "app"), "--committed") as watch:
        (tmp_path / "app" / "b.py").write_text("def saved():\n    return 1\n")
        commit(tmp_path / "app", {"c.py": "def committed():\n    return 1\n"})
        assert watch.event("updated")["symbols"]["added"] == 2
        assert watch.end(signal.SIGTERM) == 0
        watch.event("stopped")


def test_an_update_that_failed_is_tried_again_without_an_event(tmp_path: Path) -> None:
    commit(tmp_path / "app", {"a.py": _ONE})
    store = tmp_path / "store"
    with watching(store, str(tmp_path / "app")) as watch:
        record = (store / "codelake.json").read_bytes()
        (store / "codelake.json").write_text("damaged")
        (tmp_path / "app" / "b.py").write_text("def later():\n    return 1\n")
        failed = watch.event("failed")
        assert (failed["retry_seconds"], "codelake.json" in failed["reason"]) == (2, True)
        (store / "codelake.json").write_bytes(record)
        while (event := watch.next())["event"] == "failed":
            pass
        assert (event["event"], event["repositories"]) == ("updated", ["app"])
        assert "retry_seconds" not in event
        assert event["delay"] >= 2
    assert _names(store, "b.py") == ["later"]


@pytest.mark.parametrize("is_moved", [False, True], ids=["removed", "moved"])
@pytest.mark.parametrize("place", ["clones", "clones/app"], ids=["folder", "repository"])
def test_a_source_that_goes_keeps_its_rows_and_is_watched_again(
    tmp_path: Path, place: str, *, is_moved: bool
) -> None:
    commit(tmp_path / "clones" / "app", {"a.py": _ONE})
    source, store, away = tmp_path / place, tmp_path / "store", tmp_path / "away"
    shutil.copytree(source, away)
    with watching(store, str(source), quiet_seconds=1.0) as watch:
        if is_moved:
            source.rename(tmp_path / "moved")
        else:
            shutil.rmtree(source)
        assert f"cannot read {source}: " in str(watch.event("updated")["failed"])
        assert _names(store, "a.py") == ["one"]
        away.rename(source)
        assert watch.event("watching")["folders"] == [str(source)]
        assert watch.event("updated")["failed"] == []
        (tmp_path / "clones" / "app" / "b.py").write_text("def later():\n    return 1\n")
        assert watch.event("updated")["repositories"] == ["app"]
    assert (_names(store, "a.py"), _names(store, "b.py")) == (["one"], ["later"])


@pytest.mark.parametrize(
    ("limit", "script", "reason", "is_tried_again"),
    [
        (1e-9, [], "the embedder stopped: stopped before embedding.max_cost", False),
        (1.0, ["ok", "ok", "401"], "the embedder stopped: openai refuses every request", True),
        (0.0, ["ok", "429:1000", "ok"], "has no vector: HTTP 429: ", True),
        (0.0, ["ok", "400", "ok"], "has no vector: refused: HTTP 400", False),
    ],
    ids=["limit", "embedder", "request", "text"],
)
def test_what_time_may_heal_is_tried_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: float,
    script: list[str],
    reason: str,
    *,
    is_tried_again: bool,
) -> None:
    """And neither what an update has no more money for, nor a text that is refused."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test-0123456789")
    commit(tmp_path / "app", {"a.py": _ONE})
    told: list[dict[str, object]] = []
    with EmbeddingServer(script=script, most_texts=1) as server:
        configuration = configured(
            tmp_path / "store",
            tmp_path / "app",
            embedding__embedder="openai",
            embedding__base_url=server.url,
            embedding__dimensions=256,
            embedding__max_cost=limit,
        )
        outstanding = Outstanding(_Clock())
        moves = Moves(configuration.load())
        follower = _Follower(configuration, moves, outstanding, told.append)
        follower.update(frozenset(), 0.0)
    (updated,) = told
    assert reason in str(updated["failed"])
    assert (updated.get("retry_seconds"), outstanding.merge(frozenset("/b"), 0.0)[0]) == (
        (2, frozenset()) if is_tried_again else (None, frozenset("/b"))
    )


def test_the_mcp_server_keeps_its_index_current(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the optional package mcp is not installed")
    from mcp import Client  # noqa: PLC0415 - optional
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - optional

    commit(tmp_path / "app", {"a.py": _ONE})
    night(tmp_path / "store", tmp_path / "app")
    config = tmp_path / "codelake.toml"
    config.write_text(
        f'store = "{tmp_path / "store"}"\n[sources]\npaths = ["{tmp_path / "app"}"]\n'
        '[embedding]\nembedder = "hash"\n[watch]\nquiet_seconds = 0.1\n'
    )
    words = ["-c", "from pipelines.command_line import main; main()", "mcp", "--watch"]
    server = StdioServerParameters(
        command=sys.executable,
        args=[*words, "--config", str(config)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(_ROOT)},
    )
    read, write = os.pipe()

    async def ask() -> list[str]:
        with os.fdopen(write, "w") as log, os.fdopen(read, "rb") as told:
            async with Client(stdio_client(server, errlog=log)) as client:
                lines = Lines(told)
                while not (await asyncio.to_thread(lines.next)).startswith("updated"):
                    pass
                (tmp_path / "app" / "b.py").write_text("def quokka():\n    return 2\n")
                while "app" not in await asyncio.to_thread(lines.next):
                    pass
                found = await client.call_tool("code_search", {"queries": ["quokka"]})
        return [hit["path"] for hit in (found.structured_content or {})["hits"]]

    assert asyncio.run(ask())[0] == "b.py"


def test_names_and_reasons_send_nothing_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts = dict.fromkeys(("added", "modified", "deleted"), 0)
    failed = [{"repository": "app", "path": "a\x1b[2J.py", "reason": "b\x1b]0;c\x07"}]
    updated = {"event": "updated", "repositories": ["a\x1b[2Jpp"], "delay": 0.0, "failed": failed}
    _write_line({**updated, "chunks": counts, "symbols": counts})
    _write_line({"event": "waiting", "reason": "process 1 on \x1b[2J"})
    _write_line({"event": "watching", "folders": ["/a\x1b[2J"]})
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert r"updated a\x1b[2Jpp: nothing changed" in said
    assert r"failed app/a\x1b[2J.py: b<U+001B>]0;c<U+0007>" in said


def test_what_lies_elsewhere_cannot_be_watched(tmp_path: Path) -> None:
    for path, reason in (
        ("https://git.example.invalid/app.git", "nothing to watch"),
        (str(tmp_path / "nowhere"), "no such folder"),
    ):
        changes = f'{{"sources.paths": ["{path}"], "embedding.embedder": "hash"}}'
        with pytest.raises(UsageError, match=reason):
            follow(Configuration(store=str(tmp_path / "store"), changes=changes), print)


class _Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def _gathered(
    batches: list[tuple[float, str]], *, busy_until: float = 0.0, due_from: float = 1e9
) -> list[str]:
    """Return what is yielded of paths that come at a time, as ``time: paths``."""
    clock, found = _Clock(), list[str]()

    def ticking() -> Iterator[frozenset[str]]:
        for now, paths in batches:
            clock.now = now
            yield frozenset(paths.split())

    for paths, began in gather(
        ticking(),
        clock=clock,
        quiet_seconds=2.0,
        is_busy=lambda _: clock.now < busy_until,
        is_due=lambda: clock.now >= due_from,
    ):
        found.append(f"{began:g}-{clock.now:g}: {' '.join(sorted(paths))}".strip())
    return found


def test_paths_are_gathered_until_it_is_quiet() -> None:
    ticks = [(0.5 * n, "") for n in range(20)]
    assert _gathered([(0, "a"), (1, "b c"), (2, "a"), (3, ""), (4, ""), (5, "d")]) == ["0-4: a b c"]
    assert _gathered([(0, "a"), *ticks], busy_until=7) == ["0-7: a"]
    assert _gathered(ticks) == []


def test_what_is_due_needs_no_event_and_what_moves_comes_first() -> None:
    assert _gathered([(0, ""), (1, "a"), (2, ""), (3, ""), (4, "")], due_from=2) == [
        "1-3: a",
        "4-4:",
    ]


def test_what_failed_is_tried_again_after_growing_pauses_with_what_moved() -> None:
    clock = _Clock()
    outstanding = Outstanding(clock)
    app, shop = frozenset(["/app"]), frozenset(["/shop"])
    assert not outstanding.is_due()
    assert outstanding.merge(app, 5.0) == (app, 5.0)
    assert [outstanding.fail(app, 1.0) for _ in range(8)] == [2, 4, 8, 16, 32, 60, 60, 60]
    assert not outstanding.is_due()
    clock.now = 60.0
    assert outstanding.is_due()
    assert outstanding.merge(frozenset(), 60.0) == (app, 1.0)
    assert outstanding.merge(shop, 7.0) == (app | shop, 1.0)
    outstanding.fail(frozenset(), 2.0)
    assert outstanding.merge(shop, 7.0) == (frozenset(), 2.0), "all of them"
    outstanding.clear()
    assert not outstanding.is_due()
    assert outstanding.fail(shop, 3.0) == 2


def test_endless_noise_does_not_put_it_off_for_ever() -> None:
    assert _gathered([(n, f"p{n % 2}") for n in range(40)]) == ["0-30: p0 p1"]


def _live(store: Path, *sources: Path, untracked: bool = True) -> Settings:
    paths = [str(source) for source in sources]
    sources_ = {"paths": paths, "untracked": untracked}
    return build_settings({"store": str(store), "sources": sources_})


def _moves(settings: Settings) -> Moves:
    moves = Moves(settings)
    moves.follow(discover(settings.sources.paths, settings))
    return moves


@pytest.mark.parametrize(
    ("path", "saved", "committed"),
    [
        ("app/a.py", True, False),
        ("app/.git/HEAD", True, True),
        ("app/.git/refs/heads/main", True, True),
        ("app/.git/refs/heads/main.lock", False, False),
        ("app/.git/reftable/tables.list", True, True),
        ("app/.git/refs/remotes/origin/main", False, False),
        ("app/.git/index", False, False),
        ("app/.git/objects/aa/bb", False, False),
        ("app/inner/.git/HEAD", False, False),
        ("app/store/chunks.lance/x", False, False),
        ("other/.git/HEAD", True, True),
    ],
)
def test_what_may_concern_a_repository(
    tmp_path: Path, path: str, *, saved: bool, committed: bool
) -> None:
    commit(tmp_path / "app", {"a.py": _ONE})
    for untracked, wanted in ((True, saved), (False, committed)):
        settings = _live(tmp_path / "app" / "store", tmp_path, untracked=untracked)
        assert _moves(settings).counts(str(tmp_path / path)) is wanted


def test_files_that_git_lists_or_listed_move_a_repository(tmp_path: Path) -> None:
    commit(tmp_path / "app", {"a.py": _ONE, **_IGNORE})
    moves = _moves(_live(tmp_path / "store", tmp_path))
    place = str(tmp_path / "app")

    def moved(*names: str) -> bool:
        return bool(moves.places(frozenset(f"{place}/{name}" for name in names)))

    (tmp_path / "app" / "x.log").write_text("")
    assert not moved("x.log")
    assert not moves.counts(f"{place}/x.log"), "git is not asked twice"
    assert moved("a.py")
    (tmp_path / "app" / "deep").mkdir()
    (tmp_path / "app" / "deep" / "b.py").write_text("")
    assert moved("deep"), "of a new folder there may be no event for what is in it"
    shutil.rmtree(tmp_path / "app" / "deep")
    assert moved("deep/b.py"), "it was listed"
    assert not moved("deep/b.py"), "and is no more"
    (tmp_path / "app" / ".gitignore").write_text("")
    assert moved(".gitignore")
    assert moves.counts(f"{place}/x.log"), "the rules are others"


def test_a_second_checkout_is_followed_where_git_keeps_its_head(tmp_path: Path) -> None:
    commit(tmp_path / "main", {"a.py": _ONE})
    git(tmp_path / "main", "worktree", "add", "-q", "-b", "side", str(tmp_path / "work" / "side"))
    moves = _moves(_live(tmp_path / "store", tmp_path / "work", untracked=False))
    own = tmp_path / "main" / ".git"
    assert moves.watched() == [str(tmp_path / "work"), str(own)]
    head = str(own / "worktrees" / "side" / "HEAD")
    assert moves.counts(head)
    assert moves.places(frozenset([head])) == {str(tmp_path / "work" / "side")}


def test_nothing_is_updated_while_git_is_at_work(tmp_path: Path) -> None:
    commit(tmp_path / "app", {"a.py": _ONE})
    moves = _moves(_live(tmp_path / "store", tmp_path))
    paths = frozenset([str(tmp_path / "app" / "a.py")])
    assert not moves.is_busy(paths)
    (tmp_path / "app" / ".git" / "index.lock").touch()
    assert moves.is_busy(paths)


def test_a_repository_left_out_wakes_nobody(tmp_path: Path) -> None:
    commit(tmp_path / "app", {"a.py": _ONE})
    moves = Moves(_live(tmp_path / "store", tmp_path))
    moves.follow([Repository("app", str(tmp_path / "app"), status="skipped", reason="rules")])
    assert not moves.counts(str(tmp_path / "app" / "a.py"))
