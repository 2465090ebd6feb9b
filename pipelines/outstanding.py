"""What an update could not do and is tried again, after growing pauses."""

from collections.abc import Callable
from typing import Final

from resources.moves import Paths

_PAUSE: Final = 2.0  # seconds before the second try, doubled before each after it
_LONGEST: Final = 60.0  # pause, in seconds
_DOUBLED: Final = 5  # times, until that is reached


class Outstanding:
    """The repositories of updates that failed, and when the next try is due.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Know of nothing."""
        self._clock = clock
        self._places: Paths | None = None
        self._began = self._due = 0.0
        self._tries = 0

    def is_due(self) -> bool:
        """Say whether something is outstanding and its pause is over."""
        return self._places is not None and self._clock() >= self._due

    def merge(self, places: Paths, began: float) -> tuple[Paths, float]:
        """Return ``places`` with what is outstanding, and when the first of it moved.

        Args:
            places: where repositories moved; empty for all, or for a try without an event.
            began: when the first of them did.
        """
        if self._places is None:
            return places, began
        everything = not self._places
        return (frozenset() if everything else self._places | places), min(self._began, began)

    def fail(self, places: Paths, began: float) -> float:
        """Keep ``places``, empty for all, and return the seconds until they are tried again."""
        pause: float = min(_PAUSE * 2.0 ** min(self._tries, _DOUBLED), _LONGEST)
        self._places, self._began = places, began
        self._due = self._clock() + pause
        self._tries += 1
        return pause

    def clear(self) -> None:
        """Forget what is outstanding: it is done."""
        self._places, self._tries = None, 0
