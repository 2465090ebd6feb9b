"""Lists of repositories, page by page; a page that has not changed is not sent again."""

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from codelake.errors import SourceError
from codelake.paths import display_path
from resources.sources.asking import Asker, RefusalError

_MOST_PAGES: Final = 5000  # 500,000 repositories; a list that goes on after these has no end
_PART: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")


class Listed(BaseModel):
    """A repository as an API lists it; what the list does not say is ``None``."""

    model_config = ConfigDict(frozen=True)

    name: str  # with all groups, e.g. team/tools/app
    ssh_url: str = ""
    topics: tuple[str, ...] | None = None
    language: str | None = None
    megabytes: float | None = None
    is_archived: bool = False
    is_fork: bool = False
    key: int = 0  # by which the server knows it, where more has to be asked


class _Page(BaseModel):
    tag: str
    following: str
    repositories: tuple[Listed, ...]


class _Kept(BaseModel):
    form: Literal[1] = 1  # other forms are not read
    pages: dict[str, _Page] = {}


Parse = Callable[[bytes], tuple[Listed, ...]]


@dataclass(slots=True)
class Pages:
    """Reads the lists of one account and keeps each in a file of ``folder``, with its tags."""

    asker: Asker
    folder: Path

    def read(self, url: str, parse: Parse) -> list[Listed]:
        """Return every repository of the list that begins at ``url``.

        Raises:
            RefusalError: the server does not give it.
            SourceError: it cannot be had, or is no such list.
        """
        mark = hashlib.blake2b(url.encode(), digest_size=16).hexdigest()
        place = self.folder / f"{mark}.json"
        pages = dict(self._pages(url, _load(place), parse))
        _save(place, _Kept(pages=pages))
        found = {item.name: item for page in pages.values() for item in page.repositories}
        for name in found:
            self._check_name(name)
        return list(found.values())

    def read_first(self, urls: Iterable[str], parse: Parse, kinds: str) -> list[Listed]:
        """Return the first of the lists that there is; ``kinds`` says what was looked for.

        Raises:
            SourceError: there is none of them, or the first that there is cannot be had.
        """
        for url in urls:
            try:
                return self.read(url, parse)
            except RefusalError as refusal:
                if refusal.status != HTTPStatus.NOT_FOUND:
                    raise
        account = self.asker.account
        message = f"no {kinds} {account.owner!r} on {account.host}; {account.hint}"
        raise SourceError(message)

    def _pages(
        self, url: str, kept: Mapping[str, _Page], parse: Parse
    ) -> Iterator[tuple[str, _Page]]:
        seen: set[str] = set()
        while url:
            if url in seen or len(seen) >= _MOST_PAGES:
                message = f"the list of {self.asker.account.shown} has no end: "
                message += f"{len(seen):,} pages so far"
                raise SourceError(message)
            seen.add(url)
            page = self._page(url, kept.get(url), parse)
            yield url, page
            url = page.following

    def _page(self, url: str, kept: _Page | None, parse: Parse) -> _Page:
        answer, items = self.asker.ask(url, parse, kept.tag if kept else "")
        if kept is not None and answer.status == HTTPStatus.NOT_MODIFIED:
            return kept
        return _Page(tag=answer.tag, following=answer.following, repositories=items or ())

    def _check_name(self, name: str) -> None:
        """Refuse a name that could lead elsewhere, or that is not the account's."""
        account = self.asker.account
        parts = name.split("/")
        is_sound = all(_PART.fullmatch(part) for part in parts) and {".", ".."}.isdisjoint(parts)
        if not is_sound or not name.casefold().startswith(f"{account.owner.casefold()}/"):
            message = f"{account.api} lists {display_path(name)!r}, which is not below "
            message += f"{account.owner!r}; if that was renamed, name it as it is called now"
            raise SourceError(message)


def _load(place: Path) -> dict[str, _Page]:
    try:
        return _Kept.model_validate_json(place.read_bytes()).pages
    except (OSError, ValidationError):  # the first time, or damaged: every page is asked for
        return {}


def _save(place: Path, kept: _Kept) -> None:
    """Write the file as a whole or not at all; without it the next night costs more, no worse."""
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(kept.model_dump_json().encode())
        os.replace(file.name, place)  # noqa: PTH105 # both are text here
