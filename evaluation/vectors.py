"""Vectors on disk by model and text hash: no text is embedded twice, whatever arm it stands in.

A model that reads the first tokens only is asked once for all texts that begin with the same ones:
a chunk of a larger budget begins where a smaller one does.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from codelake.embedding import (
    CuttingEmbedder,
    Embedder,
    EmbeddingSlice,
    WeighedEmbedder,
    embed_texts,
)
from codelake.hashing import content_hash

Vectors = NDArray[np.float32]
_QUERY = "query\n"  # models may embed questions differently from documents


class VectorCache:
    """The vectors of one model; new ones are appended slice by slice, so a stopped run resumes."""

    def __init__(
        self, folder: Path, embedder: Embedder, *, progress: Callable[[int], None] | None = None
    ) -> None:
        """Open the vectors of ``embedder`` below ``folder``; ``progress`` counts new texts."""
        name = hashlib.blake2b(embedder.model_id.encode(), digest_size=8).hexdigest()
        self._folder = folder / name
        self._embedder = embedder
        self._progress = progress
        self._rows: dict[str, NDArray[np.float16]] = {}
        self._keys: dict[str, str] = {}
        for path in sorted(self._folder.glob("*.arrow")):
            with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
                self._keep(reader.read_all())

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self._rows)

    @property
    def model_id(self) -> str:
        """Name the model, its revision and its settings."""
        return self._embedder.model_id

    @property
    def dense_weight(self) -> float | None:
        """Return what the vectors are worth beside words, if the embedder says so."""
        own = self._embedder
        return own.dense_weight if isinstance(own, WeighedEmbedder) else None

    def documents(self, hashes: Sequence[str], texts: Sequence[str]) -> Vectors:
        """Return a unit row a text; zeros where the model could not embed it."""
        keys = self._read(hashes, texts)
        missing = {key: t for key, t in zip(keys, texts, strict=True) if key not in self._rows}
        for part in embed_texts(missing.items(), self._embedder, progress=self._progress):
            self._store(part)
        return self._matrix(keys)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Return a unit row a question."""
        keys = [content_hash(_QUERY + text) for text in texts]
        missing = [i for i, key in enumerate(keys) if key not in self._rows]
        if missing:
            embedded = self._embedder.embed_queries([texts[i] for i in missing])
            for i, vector in zip(missing, embedded.vectors, strict=True):
                self._rows[keys[i]] = vector.astype(np.float16)
        return self._matrix(keys)

    def _read(self, hashes: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
        """Return the key of each text: its hash, or that of what the model reads of it."""
        if not isinstance(self._embedder, CuttingEmbedder):
            return hashes
        unread = {h: t for h, t in zip(hashes, texts, strict=True) if h not in self._keys}
        found = self._embedder.reading_hashes(list(unread.values()))
        self._keys.update(zip(unread, found, strict=True))
        return [self._keys[text_hash] for text_hash in hashes]

    def _matrix(self, keys: Iterable[str]) -> Vectors:
        nothing = np.zeros(self._embedder.dimension, np.float16)
        rows = [self._rows.get(key, nothing) for key in keys]
        return np.array(rows, np.float32).reshape(-1, self._embedder.dimension)

    def _keep(self, table: pa.Table) -> None:
        hashes = table.column("text_hash").to_pylist()
        flat = table.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        if len(hashes):
            matrix = flat.reshape(len(hashes), -1).astype(np.float16)
            self._rows.update(zip(hashes, matrix, strict=True))

    def _store(self, part: EmbeddingSlice) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        hashes = "".join(part.table.column("text_hash").to_pylist())
        path = self._folder / f"{content_hash(hashes)}.arrow"
        partial = path.with_suffix(".partial")
        schema = part.table.schema
        with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            writer.write_table(part.table)
        partial.replace(path)
        self._keep(part.table)
