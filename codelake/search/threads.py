"""Rankings that do not need each other, made at the same time."""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Made = TypeVar("_Made")

# A question makes four rankings, which compute outside of Python's lock: three here, one by who
# asks. Threads start with the first question.
_POOL: Final = ThreadPoolExecutor(3, thread_name_prefix="search")


def side_by_side(make: Callable[[_Key], _Made], keys: Sequence[_Key]) -> dict[_Key, _Made]:
    """Return what ``make`` gives for each key; the last is made by this thread.

    ``make`` must not call this function: with all threads waiting, nobody would work.
    """
    others = {key: _POOL.submit(make, key) for key in keys[:-1]}
    own = {key: make(key) for key in keys[-1:]}
    return {key: future.result() for key, future in others.items()} | own
