"""The contents of the files that are to be parsed, read again when they are needed.

They are not kept between stages: a content may hold secrets, and those are masked before anything
is written.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from codelake.errors import SourceError
from codelake.repositories import Repository
from codelake.schemas import FILES
from codelake.selection import Entry
from codelake.settings import Settings
from resources.files import Reader, open_reader

_WANTED = pa.array(["added", "modified"])
_SAVED_SINCE: Final = "-"  # in place of a blob id, equal to none that a listing has


def read_contents(
    repositories: pa.Table, files: Iterable[pa.RecordBatch], settings: Settings
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of ``files`` that are to be parsed, with their content.

    A batch of ``files`` holds files of one repository. A file that cannot be read any more, alone
    or because its repository is gone, gets the skip reason ``unreadable``. One that was saved since
    it was listed has no blob id, so that the next run reads it again.
    """
    known = {row["repository"]: row for row in repositories.to_pylist()}
    name = ""
    reader: Reader | None = None
    with ExitStack() as stack:
        for batch in files:
            wanted = to_parse(batch)
            if not wanted.num_rows:
                continue
            here = wanted.column("repository")[0].as_py()
            if here != name:
                stack.pop_all().close()
                name = here
                reader = _opened(Repository.from_row(known[name]), settings, stack)
            yield _with_content(wanted, reader)


def _opened(repository: Repository, settings: Settings, stack: ExitStack) -> Reader | None:
    try:
        return cast("Reader", stack.enter_context(open_reader(repository, settings)))
    except SourceError:  # removed since its files were listed
        return None


def to_parse(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that are new or changed and not skipped."""
    is_new = pc.is_in(batch.column("status"), _WANTED)
    return batch.filter(pc.and_(is_new, pc.equal(batch.column("skip_reason"), "")))


def _with_content(batch: pa.RecordBatch, reader: Reader | None) -> pa.RecordBatch:
    paths, blobs = batch.column("path").to_pylist(), batch.column("blob_id").to_pylist()
    entries = [Entry(path, "100644", blob) for path, blob in zip(paths, blobs, strict=True)]
    contents = _read(reader, entries)
    ids = [
        entry.blob_id
        if content is None or reader is None or reader.is_same(entry, content)
        else _SAVED_SINCE
        for entry, content in zip(entries, contents, strict=True)
    ]
    reasons = ["" if content is not None else "unreadable" for content in contents]
    batch = _replaced(batch, "blob_id", ids)
    batch = _replaced(batch, "skip_reason", reasons)
    return _replaced(batch, "content", [content or b"" for content in contents])


def _read(reader: Reader | None, entries: Sequence[Entry]) -> list[bytes | None]:
    try:
        return list(reader.contents(entries)) if reader else [None] * len(entries)
    except SourceError:  # the mirror was replaced meanwhile, and its server gives no blobs now
        return [None] * len(entries)


def _replaced(batch: pa.RecordBatch, name: str, values: list[str] | list[bytes]) -> pa.RecordBatch:
    field = FILES.schema.field(name)
    place = FILES.schema.get_field_index(name)
    return batch.set_column(place, field, pa.array(values, field.type))
