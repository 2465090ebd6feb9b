"""The Neural Engine of a Mac: a model that ``codelake ane convert`` wrote, run by Core ML."""

import platform
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codelake.embedding import Embedded, Part, Usage, gather, unit_vectors
from codelake.errors import EmbeddingError, UsageError
from codelake.settings import EmbeddingSettings
from resources.ane.packages import INPUT_IDS, MASK, OUTPUT, AnePackage
from resources.embedders.opening import refuse_settings, require_package

_PART_TEXTS: Final = 32  # texts that are answered together, a second of work or less

# What runs one text: ids and mask, each (1, tokens), to its vector.
Run = Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.float32]]


class AneEmbedder:
    """Embed with a converted model.

    Args:
        package: the model.
        run: what runs it; Core ML if nothing else is given, loaded at the first text.
    """

    is_remote: bool = False

    def __init__(self, package: AnePackage, run: Run | None = None) -> None:
        """Take the model; nothing is loaded yet."""
        self.model_id = package.manifest.model_id
        self.dimension = package.manifest.dimension
        self.max_tokens = package.manifest.tokens
        self.usage = Usage()
        self._package = package
        self._given = run

    def embed_documents(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched."""
        return gather(texts, self.embed_parts, self.dimension)

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed texts that are searched for."""
        return gather(texts, lambda stream: self._parts(stream, "query"), self.dimension)

    def embed_parts(self, texts: Iterable[str]) -> Iterator[Part]:
        """Embed documents as they come."""
        return self._parts(texts, "document")

    def _parts(self, texts: Iterable[str], kind: str) -> Iterator[Part]:
        prompt = self._package.manifest.prompts[kind]
        stream, start = iter(texts), 0
        while batch := list(islice(stream, _PART_TEXTS)):
            run = self._given or load_model(self._package.model)
            rows = self._package.tokenize([prompt + text for text in batch])
            vectors = [run(row.ids, row.mask).reshape(-1) for row in rows]
            answer = unit_vectors(vectors, self.dimension)
            cut = tuple(place for place, row in enumerate(rows) if row.is_cut)
            self.usage.texts += len(batch)
            self.usage.tokens += sum(int(row.mask.sum()) for row in rows)
            self.usage.requests += len(batch)
            self.usage.truncated += len(cut)
            positions = range(start, start + len(batch))
            yield Part(positions, Embedded(answer.vectors, answer.failures, cut))
            start += len(batch)


def open_ane(settings: EmbeddingSettings) -> AneEmbedder:
    """Return the converted model in the folder ``embedding.model``.

    Raises:
        UsageError: this is no Mac with a Neural Engine, or there is no such folder.
        EmbeddingError: coremltools is not installed.
    """
    require_neural_engine("the embedder 'ane'")
    refuse_settings(settings, ["base_url", "dimensions", "max_tokens", "output_type"])
    if not settings.model:
        message = (
            "the embedder 'ane' needs embedding.model, a folder that `codelake ane convert` wrote"
        )
        raise UsageError(message)
    package = AnePackage(Path(settings.model).expanduser())
    require_package("coremltools", "ane")
    return AneEmbedder(package)


def require_neural_engine(name: str) -> None:
    """Refuse to go on where there is no Neural Engine.

    Raises:
        UsageError: naming what runs here instead.
    """
    if (platform.system(), platform.machine()) != ("Darwin", "arm64"):
        message = (
            f"{name} runs on macOS with an Apple chip alone, and this is {platform.system()} on "
            f"{platform.machine()}; choose minilm or static (local), folder (a model of your own) "
            "or openai-compatible (a server by its address)"
        )
        raise UsageError(message)


# Two threads that ask at once would otherwise load the model twice.
_LOADING: Final = threading.Lock()


def load_model(package: Path) -> Run:
    """Return a compiled model, loaded once in a process.

    Raises:
        EmbeddingError: Core ML cannot compile or load it.
    """
    with _LOADING:
        return _load_model(package)


@lru_cache(maxsize=2)
def _load_model(package: Path) -> Run:
    coremltools = require_package("coremltools", "ane")
    try:
        compiled = compiled_model(package)
        model = coremltools.models.CompiledMLModel(
            str(compiled), compute_units=coremltools.ComputeUnit.CPU_AND_NE
        )
    except Exception as error:  # coremltools raises what it likes
        message = f"Core ML cannot load {package}: {error}"
        raise EmbeddingError(message) from error

    def run(ids: NDArray[np.int32], mask: NDArray[np.int32]) -> NDArray[np.float32]:
        answer: dict[str, Any] = model.predict({INPUT_IDS: ids, MASK: mask})
        return np.asarray(answer[OUTPUT], dtype=np.float32)

    return run


def compiled_model(package: Path) -> Path:
    """Return the model compiled for this macOS, beside the package; compiling takes a minute."""
    place = package.with_name(f"model-{platform.mac_ver()[0]}.mlmodelc")
    if not place.exists():
        coremltools = require_package("coremltools", "ane")
        unfinished = place.with_name(f"unfinished-{place.name}")
        coremltools.utils.compile_model(str(package), str(unfinished))
        unfinished.rename(place)
    return place
