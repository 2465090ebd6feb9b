"""What the sensor does: start a night when a repository came or went."""

import hashlib

import dagster as dg

from codelake.settings import Settings
from resources.repositories import list_places


def look_at_sources(settings: Settings, cursor: str | None) -> dg.SensorResult | dg.SkipReason:
    """List the sources, reading no repository, and compare with the last look.

    The first look only remembers. A source that cannot be listed now removes nothing.

    Args:
        settings: which sources there are.
        cursor: hash of what the last look saw.
    """
    places = list_places(settings)
    if places is None:
        return dg.SkipReason("a source cannot be listed now; it is looked at again")
    listing = hashlib.blake2b("\0".join(sorted(places)).encode(), digest_size=16).hexdigest()
    is_news = cursor is not None and cursor != listing
    runs = [dg.RunRequest()] if is_news else []
    return dg.SensorResult(run_requests=runs, cursor=listing)
