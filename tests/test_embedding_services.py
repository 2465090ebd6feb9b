"""Services are chosen by settings: keys, addresses, prices, and errors that say what is right."""

import sys
from pathlib import Path

import pytest

from codelake.errors import EmbeddingError, UsageError
from codelake.settings import EmbeddingSettings
from resources.embedders import open_embedder
from resources.embedders.estimates import estimate_usage
from resources.embedders.openai import open_openai
from resources.embedders.voyage import open_voyage

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize("name", ["openai", "voyage"])
def test_a_missing_key_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    opener = {"openai": open_openai, "voyage": open_voyage}[name]
    with pytest.raises(EmbeddingError, match=f"{name.upper()}_API_KEY"):
        opener(EmbeddingSettings(embedder=name), {})


@pytest.mark.parametrize("name", ["openai", "voyage"])
def test_a_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"openai": "openai", "voyage": "voyageai"}[name]
    monkeypatch.setitem(sys.modules, package, None)
    opener = {"openai": open_openai, "voyage": open_voyage}[name]
    with pytest.raises(EmbeddingError, match=rf"install codelake\[{name}\]"):
        opener(EmbeddingSettings(embedder=name), {f"{name.upper()}_API_KEY": KEY})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embedder": "openai", "model": "ada"}, "choose from text-embedding-3-small"),
        ({"embedder": "voyage", "model": "code"}, "choose from voyage-code-3"),
        ({"embedder": "voyage", "dimensions": 100}, "voyage-code-3 offers 1024, 2048"),
        ({"embedder": "openai-compatible", "model": "m"}, "needs embedding.base_url"),
        ({"embedder": "openai-compatible", "base_url": "http://h/v1"}, "needs embedding.model"),
        (
            {"embedder": "openai-compatible", "base_url": "h:80", "model": "m"},
            "expected http://HOST",
        ),
        (
            {"embedder": "openai-compatible", "base_url": "http://h", "model": "m", "max_cost": 1},
            "its price is not known",
        ),
    ],
    ids=["openai model", "voyage model", "dimension", "no url", "no model", "bad url", "cost"],
)
def test_a_wrong_setting_says_what_is_right(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_embedder(EmbeddingSettings.model_validate(settings))


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    settings = EmbeddingSettings(
        embedder="openai-compatible", base_url="http://me:hidden@host/v1", model="m"
    )
    with pytest.raises(UsageError, match="CODELAKE_EMBEDDING_KEY") as caught:
        open_embedder(settings)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "is_remote"),
    [
        ("http://127.0.0.1:11434/v1", False),
        ("http://[::1]:8080/v1", False),
        ("http://localhost:8080", False),
        ("http://localhost.example.com/v1", True),
        ("http://127.0.0.1.example.com/v1", True),
        ("http://192.168.0.7/v1", True),
        ("http://0.0.0.0:8080/v1", True),
    ],
)
def test_local_only_lets_this_machine_alone_have_the_texts(url: str, *, is_remote: bool) -> None:
    settings = EmbeddingSettings(embedder="openai-compatible", base_url=url, model="m")
    assert open_embedder(settings).is_remote == is_remote
    strict = settings.model_copy(update={"local_only": True})
    if is_remote:
        with pytest.raises(UsageError, match="local_only"):
            open_embedder(strict)
    else:
        assert not open_embedder(strict).is_remote


def test_the_name_of_a_space_holds_all_that_changes_a_vector() -> None:
    base = EmbeddingSettings(embedder="voyage")
    variants = [
        base,
        base.model_copy(update={"model": "voyage-4"}),
        base.model_copy(update={"dimensions": 512}),
        base.model_copy(update={"max_tokens": 500}),
        base.model_copy(update={"output_type": "int8"}),
        base.model_copy(update={"output_type": "binary"}),
    ]
    names = [open_voyage(settings, {"VOYAGE_API_KEY": KEY}).model_id for settings in variants]
    assert len(set(names)) == len(names)
    assert names[0] == "voyage-voyage-code-3-1024"


def test_no_backend_is_imported_before_it_is_asked_for() -> None:
    source = (Path(__file__).parents[1] / "resources" / "embedders" / "openai.py").read_text()
    assert "\nimport openai" not in source


def test_an_estimate_needs_no_key_and_names_the_price() -> None:
    usage = estimate_usage(EmbeddingSettings(embedder="openai"), [3000] * 5000)
    assert (usage.texts, usage.tokens) == (5000, 5_000_000)
    assert usage.cost == pytest.approx(0.10)
    assert usage.requests == 26  # 1,501 tokens a text at two bytes each, 300,000 a request


def test_an_estimate_counts_what_would_be_cut() -> None:
    settings = EmbeddingSettings(embedder="voyage", max_tokens=100)
    usage = estimate_usage(settings, [60, 6000])
    assert (usage.tokens, usage.truncated, usage.requests) == (120, 1, 1)


@pytest.mark.parametrize("name", ["minilm", "openai-compatible"])
def test_what_has_no_price_is_estimated_without_one(name: str) -> None:
    usage = estimate_usage(EmbeddingSettings(embedder=name), [30, 30])
    assert (usage.texts, usage.tokens, usage.cost) == (2, 20, 0.0)
