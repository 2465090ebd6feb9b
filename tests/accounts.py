"""An account on a server that speaks the APIs of GitHub and GitLab, listed as the product does."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from forge import Forge, Handler, Step

from codelake.errors import SourceError
from codelake.repositories import Repository
from codelake.settings import Settings, build_settings
from codelake.source_settings import RepositoryRules
from resources.repositories import discover
from resources.sources import list_account
from resources.sources.accounts import parse_account
from resources.sources.asking import Asker

KINDS = ("github", "gitlab")
NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)
TOKEN = "t0ken-of-the-robot"  # noqa: S105 # a made-up one


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge(tmp_path / "served") as started:
        yield started


@pytest.fixture
def token(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the server want a token, and have it."""
    forge.token = TOKEN
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    return TOKEN


def account_settings(
    forge: Forge, tmp_path: Path, kind: str = "github", **sources: object
) -> Settings:
    """Return settings that reach the server."""
    tokens = {forge.host: "FORGE_TOKEN"}
    more = forge.sources(kind, tokens=tokens, **sources)
    return build_settings({"store": str(tmp_path / "store"), "sources": more})


def found_in(forge: Forge, settings: Settings, kind: str = "github") -> list[Repository]:
    """Return the repositories of the account ``acme``."""
    return discover([f"{kind}://{forge.host}/acme"], settings)


class Listing:
    """Lists an account as the product does, with a clock that stands and no waiting."""

    def __init__(self, forge: Forge, folder: Path, kind: str = "github") -> None:
        sources = build_settings(
            {"sources": forge.sources(kind, tokens={forge.host: "FORGE_TOKEN"})}
        ).sources
        self.account = parse_account(f"{kind}://{forge.host}/acme", sources)
        self.folder = folder / "listings"
        self.waits: list[float] = []

    def names(self, **rules: object) -> list[str]:
        asker = Asker(self.account, pause=self.waits.append, now=lambda: NOW)
        found = list_account(self.account, RepositoryRules(**rules), self.folder, asker)
        return [address.name for address, _ in found]

    def reason(self) -> str:
        with pytest.raises(SourceError) as refused:
            self.names()
        return str(refused.value)


def answer(code: int, message: str = "", **headers: str) -> Step:
    """Answer with a status."""
    return lambda handler: handler.reply({"message": message}, code, **headers)


def raw(body: bytes, **headers: str) -> Step:
    """Answer with bytes."""
    return lambda handler: handler.send(body, **headers)


def cut_off(handler: Handler) -> None:
    """Break off in the middle of an answer."""
    handler.send(b'[{"full_name": "acme/a"', length=5000)


def redirect(place: str) -> Step:
    """Send whoever asks elsewhere."""

    def step(handler: Handler) -> None:
        handler.reply({}, 301, Location=place.format(host=handler.forge.host))

    return step
