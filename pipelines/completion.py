"""What a shell offers while an option of the search is typed: names the index knows."""

from collections.abc import Callable, Iterable, Sequence

import click
from click.shell_completion import CompletionItem

from codelake.errors import CodelakeError
from codelake.languages import LANGUAGES
from pipelines.commands.options import read_settings
from pipelines.opening import owners_of, require_store
from resources.store import LanceStore

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _stored(names: Callable[[LanceStore], Iterable[str]]) -> Completer:
    def complete(
        context: click.Context,
        parameter: click.Parameter,  # noqa: ARG001 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            settings = read_settings(context.params["config_file"], context.params["store"])
            known = list(names(require_store(settings)))
        except CodelakeError:  # there is no index yet: nothing to offer, and no place to say so
            return []
        return _starting(known, incomplete)

    return complete


def _starting(names: Sequence[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _repositories(store: LanceStore) -> list[str]:
    return [row["repository"] for row in store.repositories()]


def complete_languages(
    context: click.Context,  # noqa: ARG001 - click's signature
    parameter: click.Parameter,  # noqa: ARG001 - as above
    incomplete: str,
) -> list[CompletionItem]:
    """Offer the languages codelake tells apart."""
    return _starting(sorted(LANGUAGES), incomplete)


complete_repositories: Completer = _stored(_repositories)
complete_owners: Completer = _stored(lambda store: owners_of(_repositories(store)))
complete_kinds: Completer = _stored(lambda store: store.search_tables().values("kind"))
complete_states: Completer = _stored(lambda store: [s.name for s in store.models().published])
