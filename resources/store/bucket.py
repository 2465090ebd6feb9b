"""A store in a bucket of Amazon S3 or a service that speaks its protocol."""

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from codelake.bucket_settings import BUCKET_URL, S3Settings
from codelake.errors import StoreError
from resources.store.errors import without_keys
from resources.store.lease import Lease
from resources.store.lock import Latch
from resources.store.place import ChangedError, Content

if TYPE_CHECKING:
    from obstore.store import S3Store

_REGION: Final = "us-east-1"  # what services without regions call themselves
_NO_BUCKET: Final = "NoSuchBucket"  # how a service names it; the client takes it for a lost object
_TRIES: Final = 5
_TRY_SECONDS: Final = 30  # of all tries of a request together

# One of these groups of variables has to be set; who else may have keys is asked by no request.
_KEYS: Final = (
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
)


class BucketPlace:
    """A store below a prefix of a bucket. Keys are read from the environment, by Lance too.

    Args:
        url: s3://BUCKET/PREFIX.
        settings: how the bucket is reached.

    Raises:
        StoreError: obstore is not installed, or the environment has no keys.
    """

    def __init__(self, url: str, settings: S3Settings) -> None:
        """Send nothing yet."""
        found = BUCKET_URL.fullmatch(url)
        if found is None:
            message = f"{url!r} is no place in a bucket: expected s3://BUCKET/PREFIX"
            raise StoreError(message)
        self._url = url.rstrip("/")
        self._settings = settings
        self.options = _options(settings)
        self._objects = _open(found["bucket"], found["prefix"].strip("/"), self.options, self._url)

    def __str__(self) -> str:
        """Return the URL."""
        return self._url

    def prepare(self) -> None:
        """Nothing has to be made: a prefix is there with its first object."""

    def table(self, name: str) -> str:
        """Return where Lance finds a table."""
        return f"{self._url}/{name}.lance"

    def has(self, name: str) -> bool:
        """Tell whether there is an object of that name."""
        return self.read(name) is not None

    def read(self, name: str) -> Content | None:
        """Return what an object holds, or None where there is none."""
        try:
            with _told():
                found = self._objects.get(name)
                return Content(bytes(found.bytes()), found.meta["e_tag"] or "")
        except FileNotFoundError:
            return None

    def exchange(self, name: str, data: bytes, seen: Content | None) -> Content:
        """Put an object in place of the one that was ``seen``, on condition that it is still it."""
        with _told():
            put = self._objects.put(
                name, data, mode="create" if seen is None else {"e_tag": seen.tag}
            )
            return Content(data, put["e_tag"] or "")

    def age(self, name: str) -> float:
        """Return the seconds since an object was written, by the clock of the service alone."""
        with _told():
            asked = f"{name}.clock"
            self._objects.put(asked, json.dumps(secrets.token_hex(8)).encode())
            now = self._objects.head(asked)["last_modified"]
            return (now - self._objects.head(name)["last_modified"]).total_seconds()

    def missing(self, table: str, paths: Iterable[str]) -> list[str]:
        """Return those of the objects below a table that are not there, sorted."""
        root = f"{table}.lance/"
        return sorted(set(paths).difference(path.removeprefix(root) for path in self._below(root)))

    def remove(self, table: str) -> None:
        """Remove all objects of a table."""
        paths = self._below(f"{table}.lance/")
        with _told():
            self._objects.delete(paths)

    def latch(self) -> Latch:
        """Return a lock that ends some time after its holder."""
        return Lease(self, self._settings.lease_seconds)

    def _below(self, root: str) -> list[str]:
        with _told():
            return [item["path"] for part in self._objects.list(root) for item in part]


def _options(settings: S3Settings) -> dict[str, str]:
    region = settings.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    given = {
        "region": region or _REGION,
        "endpoint": settings.endpoint,
        "allow_http": "true" if settings.allow_http else "",
        "virtual_hosted_style_request": "true" if settings.virtual_hosted else "",
        "client_max_retries": str(_TRIES),
        "client_retry_timeout": str(_TRY_SECONDS),
    }
    return {name: value for name, value in given.items() if value}


def _open(bucket: str, prefix: str, options: dict[str, str], url: str) -> "S3Store":
    try:
        from obstore.store import S3Store  # noqa: PLC0415 - an optional package
    except ImportError as error:
        message = f"the store {url} needs obstore: pip install 'codelake[s3]'"
        raise StoreError(message) from error
    if not any(all(os.environ.get(name) for name in group) for group in _KEYS):
        message = f"no keys for {url}: set {' and '.join(_KEYS[0])} in the environment"
        raise StoreError(message)
    return S3Store(
        bucket,
        prefix=prefix or None,
        endpoint=options.get("endpoint"),
        region=options["region"],
        virtual_hosted_style_request="virtual_hosted_style_request" in options,
        client_options={"allow_http": "allow_http" in options},
        retry_config={"max_retries": _TRIES, "retry_timeout": timedelta(seconds=_TRY_SECONDS)},
    )


@contextmanager
def _told() -> Iterator[None]:
    """Turn what the client raises into an ``OSError`` without keys, and without its insides."""
    from obstore import exceptions  # noqa: PLC0415 - an optional package

    try:
        yield
    except (FileNotFoundError, exceptions.BaseError) as error:
        text = without_keys(str(error).partition("\n\nDebug source")[0])
        kind: type[OSError] = OSError
        if _NO_BUCKET in text:
            pass
        elif isinstance(error, FileNotFoundError):
            kind = FileNotFoundError
        elif isinstance(error, exceptions.AlreadyExistsError | exceptions.PreconditionError):
            kind = ChangedError
        raise kind(text) from None
