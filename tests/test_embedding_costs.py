"""What embedding would cost, what it did cost, and one embedder for a whole run."""

import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from codelake.errors import UsageError
from codelake.search import search
from codelake.settings import Settings
from pipelines.instance import open_instance
from pipelines.opening import open_query_embedder
from pipelines.running import run_index
from pipelines.summary import Summary
from resources.embedders.providers import hosted_models
from resources.store import LanceStore
from tests.embedding_server import EmbeddingServer
from tests.nights import commit, configured, git, night, rows

CODE = {f"part_{i}.py": f"def function_{i}():\n    return {i}\n" for i in range(6)}
TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ456789"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test-0123456789")
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    commit(tmp_path / "shop", CODE)
    return tmp_path / "shop"


def remote(server: EmbeddingServer, **more: object) -> dict[str, object]:
    return {
        "embedding__embedder": "openai",
        "embedding__base_url": server.url,
        "embedding__dimensions": 256,
        **more,
    }


def test_a_dry_run_tells_what_each_provider_would_cost(tmp_path: Path, repository: Path) -> None:
    dry = night(tmp_path / "store", repository, is_dry=True)
    assert dry.estimate[0]["embedder"] == "hash"
    assert dry.estimate[0]["is_configured"]
    known = {(name, model) for name, models in hosted_models().items() for model in models}
    assert {(row["embedder"], row["model"]) for row in dry.estimate[1:]} == known
    assert all(float(str(row["cost_usd"])) > 0 for row in dry.estimate[1:])
    done = night(tmp_path / "store", repository)
    assert done.texts["embedded"] == dry.estimate[0]["texts"] == 12  # a chunk and a symbol each
    again = night(tmp_path / "store", repository, is_dry=True)
    assert {row["texts"] for row in again.estimate} == {0}


def test_a_dry_run_sends_nothing_and_needs_no_key(
    tmp_path: Path, repository: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    dry = night(tmp_path / "store", repository, is_dry=True, **remote(server))
    assert not server.seen
    first, *others = dry.estimate
    assert (first["embedder"], first["model"]) == ("openai", "text-embedding-3-small")
    assert (first["texts"], first["is_configured"]) == (12, True)
    assert len(others) == sum(map(len, hosted_models().values())) - 1


def test_an_estimate_above_the_limit_is_said(
    tmp_path: Path, repository: Path, server: EmbeddingServer
) -> None:
    dry = night(
        tmp_path / "store", repository, is_dry=True, **remote(server, embedding__max_cost=1e-9)
    )
    assert "ends at max_cost = $1e-09" in dry.notices[0]["reason"]


def test_the_estimate_is_near_what_the_run_records(
    tmp_path: Path, repository: Path, server: EmbeddingServer
) -> None:
    dry = night(tmp_path / "store", repository, is_dry=True, **remote(server))
    done = night(tmp_path / "store", repository, **remote(server))
    assert not done.failed
    tokens = sum(len(text) // 4 + 1 for text in server.sent())
    assert done.usage["tokens"] == tokens
    assert done.usage["cost_usd"] == pytest.approx(tokens * 0.02 / 1e6)
    assert tokens <= float(str(dry.estimate[0]["tokens"])) <= 2 * tokens


def test_a_run_that_reaches_the_limit_keeps_what_it_bought(
    tmp_path: Path, repository: Path, server: EmbeddingServer
) -> None:
    limit = 1.2e-6  # less than the one request for all twelve texts could cost
    stopped = night(tmp_path / "store", repository, **remote(server, embedding__max_cost=limit))
    assert "stopped before embedding.max_cost" in stopped.failed[0]["reason"]
    assert 0 < stopped.texts["embedded"] < 12
    assert stopped.usage["cost_usd"] <= limit
    bought = stopped.texts["embedded"]
    server.seen.clear()
    done = night(tmp_path / "store", repository, **remote(server))
    assert not done.failed
    assert done.texts["embedded"] == 12 - bought


def test_a_server_that_is_not_known_is_asked_for_its_dimension_once(
    tmp_path: Path, repository: Path, server: EmbeddingServer
) -> None:
    settings = {
        "embedding__embedder": "openai-compatible",
        "embedding__base_url": server.url,
        "embedding__model": "nomic",
    }
    assert not night(tmp_path / "store", repository, **settings).failed
    assert len(server.sent()) == 12 + 1
    assert not night(tmp_path / "store", repository, **settings).failed
    assert len(server.sent()) == 12 + 1


def test_two_runs_of_one_process_count_for_themselves(
    tmp_path: Path, repository: Path, server: EmbeddingServer
) -> None:
    configuration = configured(tmp_path / "store", repository, **remote(server))
    first = run_index(configuration)
    commit(repository, {"new.py": "def new():\n    return 0\n"})
    second = run_index(configuration)
    assert 0 < second.usage["tokens"] < first.usage["tokens"]


def hits(store: Path) -> set[str]:
    """Return the paths that a vector search finds with the model searches use now."""
    opened = LanceStore(store)
    settings = Settings(store=str(store))
    embedder = open_query_embedder(opened, settings, "vector")
    answer = search("function", tables=opened.search_tables(), embedder=embedder, mode="vector")
    return {hit.path for hit in answer.hits}


def test_another_model_fills_in_beside_the_old_one_which_answers_until_it_is_whole(
    tmp_path: Path, repository: Path, server: EmbeddingServer
) -> None:
    store = tmp_path / "store"
    night(store, repository)
    before = LanceStore(store).models().model_id
    broken = night(store, repository, **remote(server, embedding__max_cost=1.2e-6))
    assert broken.failed
    assert 0 < broken.texts["embedded"] < 12
    assert LanceStore(store).models().model_id == before
    assert hits(store) == set(CODE)
    server.seen.clear()
    done = night(store, repository, **remote(server))
    assert not done.failed
    assert done.texts["embedded"] == 12 - broken.texts["embedded"]
    assert LanceStore(store).models().model_id == "openai-text-embedding-3-small-256"
    server.seen.clear()
    back = night(store, repository)  # the vectors of the first model are still there
    assert back.texts["embedded"] == 0
    assert LanceStore(store).models().model_id == before
    assert not server.seen


def test_a_copy_a_rename_and_a_branch_cost_nothing(
    tmp_path: Path, repository: Path, server: EmbeddingServer
) -> None:
    store = tmp_path / "store"
    night(store, repository, **remote(server))
    paid = len(server.sent())
    git(repository, "mv", "part_0.py", "renamed.py")
    commit(repository)
    git(tmp_path, "clone", "-q", "shop", "fork")
    git(repository, "checkout", "-q", "-b", "other")
    done = night(store, repository, tmp_path / "fork", **remote(server))
    assert not done.failed
    # A symbol's text begins with its repository, a chunk's does not.
    assert len(server.sent()) - paid == len(CODE)
    assert {text.partition(":")[0] for text in server.sent()[paid:]} == {"fork"}


def test_no_secret_is_sent_stored_or_said(
    tmp_path: Path, server: EmbeddingServer, capfd: pytest.CaptureFixture[str]
) -> None:
    secrets = {"settings.py": f'API_TOKEN = "{TOKEN}"\n\n\ndef connect():\n    return API_TOKEN\n'}
    commit(tmp_path / "shop", secrets)
    store = tmp_path / "store"
    done = night(store, tmp_path / "shop", **remote(server))
    said = json.dumps([seen.body for seen in server.seen]) + json.dumps(done.to_dict())
    said += "".join(capfd.readouterr())
    with open_instance(store) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey("syntax"))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.metadata["secrets"].value == {"github-token": 1}
    assert "REDACTED" in said
    for secret in (TOKEN, "sk-secret-of-the-test"):
        assert secret not in said
        assert secret not in str(rows(store, "chunks"))
        found = [path for path in store.rglob("*") if path.is_file() and _holds(path, secret)]
        assert not found


def _holds(path: Path, secret: str) -> bool:
    return secret.encode() in path.read_bytes()


def test_local_only_refuses_before_anything_is_read(tmp_path: Path, repository: Path) -> None:
    with pytest.raises(UsageError, match="local_only"):
        night(
            tmp_path / "store",
            repository,
            embedding__embedder="openai-compatible",
            embedding__base_url="http://192.0.2.1/v1",
            embedding__model="m",
            embedding__local_only=True,
        )
    assert Summary().estimate == []
    assert not (tmp_path / "store").exists()
