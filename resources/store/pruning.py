"""Forget vectors that no row has had for some time; until then a text that comes back is free."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from resources.store.folder import StoreFolder
from resources.store.place import Content
from resources.store.rows import commit_replacement, joined_key
from resources.store.specs import IDENTITY, SEARCHED

FILE: Final = "unused.arrow"
"""Beside the tables: which vectors are unused, and since when."""

_TABLE: Final = "embeddings"
_SINCE: Final = pa.timestamp("s", "UTC")
_LOOKED: Final = b"looked"
_EVERY: Final = timedelta(days=1)  # reading every hash takes 0.3 CPU s a million rows


def prune(folder: StoreFolder, keep: timedelta, now: datetime | None = None) -> int:
    """Delete the vectors that nothing has referred to for ``keep``; return how many.

    Tables are looked at once a day. Where the file of the last look is gone, what is unused is
    unused since now.

    Args:
        folder: the store; the caller holds its lock.
        keep: time that an unused vector stays.
        now: the time; the clock's by default.
    """
    now = (now or datetime.now(UTC)).replace(microsecond=0)
    seen = folder.place.read(FILE)
    known = _read(seen)
    looked = (known.schema.metadata or {}).get(_LOOKED)
    if looked and now - datetime.fromisoformat(looked.decode()) < _EVERY:
        return 0
    unused = _unused(folder)
    places = pc.index_in(unused["key"], value_set=known["key"].combine_chunks())
    since = pc.fill_null(known["since"].take(places), pa.scalar(now, _SINCE))
    is_old = pc.less_equal(since, pa.scalar(now - keep, _SINCE))
    gone = unused["_rowaddr"].filter(is_old).to_numpy()
    deleted = commit_replacement(folder.dataset(_TABLE), gone, [])
    schema = _schema().with_metadata({_LOOKED: now.isoformat().encode()})
    left = pa.table([unused["key"], since], schema).filter(pc.invert(is_old))
    folder.place.exchange(FILE, _written(left), seen)
    return deleted


def _unused(folder: StoreFolder) -> pa.Table:
    """Return key and address of each kept vector whose text no row has, or whose model is past."""
    used = [folder.dataset(t).to_table(columns=["text_hash"])["text_hash"] for t in SEARCHED]
    hashes = pa.chunked_array([c for column in used for c in column.chunks], pa.string())
    kept = folder.dataset(_TABLE).to_table(columns=list(IDENTITY[_TABLE]), with_row_address=True)
    models = pa.array(folder.manifest().models, pa.string())
    is_used = pc.and_(
        pc.is_in(kept["text_hash"], value_set=pc.unique(hashes)),
        pc.is_in(kept["model_id"], value_set=models),
    )
    rest = kept.filter(pc.invert(is_used))
    keys = joined_key(rest, IDENTITY[_TABLE])
    return pa.table({"key": keys, "_rowaddr": rest["_rowaddr"]})


def _schema() -> pa.Schema:
    return pa.schema([("key", pa.string()), ("since", _SINCE)])


def _read(found: Content | None) -> pa.Table:
    try:
        if found is not None:
            kept = pa.ipc.open_file(found.data).read_all()
            if kept.schema.names == _schema().names:
                return kept
    except pa.ArrowException:
        pass  # damaged: a look more is all it costs
    return _schema().empty_table()


def _written(table: pa.Table) -> bytes:
    file = pa.BufferOutputStream()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return bytes(file.getvalue())
