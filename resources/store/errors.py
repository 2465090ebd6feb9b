"""What the storage library raises, told as errors a person can act on."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from codelake.errors import StoreError

NO_INDEX: Final = "no index yet in {place}: run `codelake index SOURCE...`"

_REPAIR: Final = (
    "`codelake store verify` names it, `codelake store rebuild` and the next `codelake index` "
    "restore the table"
)

_SOURCE_PLACE: Final = re.compile(r",? *\S+\.rs:\d+:\d+")  # where Lance's own code raised it
_NO_FOLDER: Final = frozenset({errno.EEXIST, errno.ENOTDIR, errno.ENOENT, errno.ENAMETOOLONG})

# What a service may repeat of a request that it refuses.
_KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")

_CAUSES: Final = (
    (
        ("nosuchbucket", "bucket does not exist"),
        "there is no such bucket: make it first, or mend the name",
    ),
    (
        ("accessdenied", "access denied", "invalidaccesskeyid", "signaturedoesnotmatch"),
        f"the keys do not open it: check {_KEYS[0]}, {_KEYS[1]} and their rights",
    ),
    (
        ("error sending request", "error trying to connect", "dns error"),
        "the service cannot be reached: check s3.endpoint and the network",
    ),
    (("no space left", "storage full", "disk quota"), "the disk is full: free some space"),
    (("permission denied", "read-only file"), "the folder cannot be written: check its rights"),
    (
        ("not found", "no such file"),
        "a file of the table is missing: " + _REPAIR,
    ),
    (
        (
            "corrupt",
            "invalid magic",
            "failed to decode",
            "unexpected eof",
            "fill whole buffer",
            "for object of size",
        ),
        "a file of the table is damaged: " + _REPAIR,
    ),
)


@contextmanager
def store_errors(place: object, doing: str) -> Iterator[None]:
    """Turn what Lance raises into :class:`StoreError`, saying what was tried and what to do.

    Args:
        place: the store, as a message names it.
        doing: what is tried, for the message, e.g. ``"write to table 'chunks'"``.
    """
    try:
        yield
    except (OSError, ValueError, RuntimeError, pa.ArrowException) as error:
        message = f"cannot {doing} in {place}: {explain(error)}"
        # Who records an error records what it came of, too.
        raise StoreError(message) from (error if without_keys(str(error)) == str(error) else None)


def explain(error: Exception) -> str:
    """Return one line that says what went wrong and what to do about it."""
    text = _SOURCE_PLACE.sub("", " ".join(without_keys(str(error)).split()))
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        text = f"No space left on device: {text}"
    if isinstance(error, OSError) and error.errno in _NO_FOLDER:  # Lance's errors have no number
        return f"no folder can be made there: name another one with --store ({text})"
    lowered = text.lower()
    for signs, advice in _CAUSES:
        if any(sign in lowered for sign in signs):
            return f"{advice} ({text})"
    return text


def without_keys(text: str) -> str:
    """Return ``text`` without the keys of a bucket."""
    for value in filter(None, map(os.environ.get, _KEYS)):
        text = text.replace(value, "***")
    return text
