"""A sentence-transformers model in a folder, run by that package on the CPU or a GPU."""

import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from codelake.embedding import Embedded, Part, Usage, gather, unit_vectors
from codelake.errors import EmbeddingError, UsageError
from codelake.settings import EmbeddingSettings
from resources.embedders.opening import refuse_settings, require_package

_PART_TEXTS: Final = 64  # texts that are answered together
# No vocabulary needs more characters a token on average; a longer text is cut before it is read.
_CHARACTERS_PER_TOKEN: Final = 64
_WEIGHTS: Final = ("*.safetensors", "*.bin", "*.json", "*.txt", "*.model")


class FolderEmbedder:
    """Embed with a model of one's own.

    Args:
        folder: the model, as sentence-transformers saves one.
        max_tokens: tokens of a text that are read; 0 for what the model says.
        dimension: numbers of a vector, for models that can be cut short; 0 for all.
        threads: threads of the CPU; 0 leaves it to torch.
    """

    is_remote: bool = False

    def __init__(
        self, folder: Path, *, max_tokens: int = 0, dimension: int = 0, threads: int = 0
    ) -> None:
        """Load the model; nothing is downloaded and no code of the folder is run.

        Raises:
            EmbeddingError: the package is missing, or the model cannot be loaded.
        """
        package = require_package("sentence_transformers", "folder")
        if threads:
            require_package("torch", "folder").set_num_threads(threads)
        try:
            self._model: Any = package.SentenceTransformer(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                truncate_dim=dimension or None,
            )
        except Exception as error:  # the package raises what it likes
            message = f"the model in {folder} cannot be loaded: {error}"
            raise EmbeddingError(message) from error
        if max_tokens:
            self._model.max_seq_length = min(max_tokens, self._model.max_seq_length or max_tokens)
        self.max_tokens: int = self._model.max_seq_length or 0
        self.dimension: int = dimension or int(self._model.get_embedding_dimension())
        self.model_id = f"folder-{folder.resolve().name}-{_revision(folder)}-{self.dimension}"
        self.model_id += f"-t{max_tokens}" if max_tokens else ""
        self.usage = Usage()
        # The package is not made to be asked by several threads at once.
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched."""
        return gather(texts, self.embed_parts, self.dimension)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for."""
        encode = self._model.encode_query
        return gather(texts, lambda stream: self._parts(stream, encode), self.dimension)

    def embed_parts(self, texts: Iterable[str]) -> Iterator[Part]:
        """Embed documents as they come."""
        return self._parts(texts, self._model.encode_document)

    def _parts(self, texts: Iterable[str], encode: Any) -> Iterator[Part]:  # noqa: ANN401 # theirs
        stream, start = iter(texts), 0
        while batch := list(islice(stream, _PART_TEXTS)):
            counts = self._count(batch)
            with self._lock:
                found = encode(batch, convert_to_numpy=True, show_progress_bar=False)
            answer = unit_vectors(list(np.asarray(found, np.float32)), self.dimension)
            most = self.max_tokens or max(counts)
            cut = tuple(row for row, count in enumerate(counts) if count > most)
            self.usage.texts += len(batch)
            self.usage.tokens += sum(min(count, most) for count in counts)
            self.usage.requests += 1
            self.usage.truncated += len(cut)
            positions = range(start, start + len(batch))
            yield Part(positions, Embedded(answer.vectors, answer.failures, cut))
            start += len(batch)

    def _count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, uncut."""
        longest = (self.max_tokens or 1 << 16) * _CHARACTERS_PER_TOKEN
        shortened = [text[:longest] for text in texts]
        return [len(ids) for ids in self._model.tokenizer(shortened, truncation=False).input_ids]


def open_folder(settings: EmbeddingSettings) -> FolderEmbedder:
    """Return the model in the folder ``embedding.model``.

    Raises:
        UsageError: there is no such folder.
        EmbeddingError: the package is missing, or the model cannot be loaded.
    """
    refuse_settings(settings, ["base_url", "output_type"])
    folder = Path(settings.model).expanduser()
    if not settings.model or not (folder / "modules.json").is_file():
        message = (
            f"embedding.model = {settings.model!r}: the embedder 'folder' needs a folder with a "
            "modules.json, as sentence-transformers saves a model"
        )
        raise UsageError(message)
    return FolderEmbedder(
        folder,
        max_tokens=settings.max_tokens,
        dimension=settings.dimensions,
        threads=settings.threads,
    )


def _revision(folder: Path) -> str:
    """Hash every file that may change a vector: 1 GB takes a second."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _WEIGHTS for path in folder.rglob(pattern)}):
        digest.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
