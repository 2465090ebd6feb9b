"""A converted model on disk: the Core ML package, its tokenizer, and what both have to know."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from codelake.errors import UsageError

INPUT_IDS: Final = "input_ids"  # names of the program's inputs and of its output
MASK: Final = "attention_mask"
OUTPUT: Final = "embedding"
MODEL: Final = "model.mlpackage"
TOKENIZER: Final = "tokenizer.json"
MANIFEST: Final = "manifest.json"
_VERSION: Final = 1
_DIGITS: Final = 5  # of the reference vectors
# No vocabulary needs more characters a token on average; a longer text is cut before it is read.
_CHARACTERS_PER_TOKEN: Final = 64


@dataclass(frozen=True, slots=True)
class Reference:
    """A text and its vector in float32, to compare with."""

    text: str
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What stands beside the package.

    Args:
        name: the model's name.
        architecture: the kind of encoder.
        revision: tells weights from other weights.
        tokens: tokens of every text.
        dimension: numbers of a vector.
        bits: bits of a weight.
        pad_id: the token texts are filled up with.
        prompts: what stands in front of a ``query`` and of a ``document``.
        references: texts with their vectors.
    """

    name: str
    architecture: str
    revision: str
    tokens: int
    dimension: int
    bits: int
    pad_id: int
    prompts: Mapping[str, str]
    references: tuple[Reference, ...]

    @property
    def model_id(self) -> str:
        """Name the space: everything that changes a vector."""
        return f"ane-{self.name}-{self.revision}-{self.tokens}-{self.bits}bit"


@dataclass(frozen=True, slots=True)
class Row:
    """One text as the model takes it.

    Args:
        ids: its tokens, (1, tokens).
        mask: 1 for those that are real.
        is_cut: whether it was longer.
    """

    ids: NDArray[np.int32]
    mask: NDArray[np.int32]
    is_cut: bool = False


class AnePackage:
    """A folder that ``codelake ane convert`` wrote."""

    def __init__(self, folder: Path) -> None:
        """Read the manifest.

        Raises:
            UsageError: it is no such folder, or of another version.
        """
        self.folder = folder
        try:
            values: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
            version = values.pop("version")
            references = [
                Reference(one["text"], tuple(one["vector"])) for one in values.pop("references")
            ]
            self.manifest = Manifest(**values, references=tuple(references))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            message = (
                f"{str(folder)!r} holds no converted model ({type(error).__name__}: {error}); "
                "make one with `codelake ane convert`"
            )
            raise UsageError(message) from None
        if version != _VERSION:
            message = f"{folder} is of version {version}, expected {_VERSION}: convert it again"
            raise UsageError(message)
        self._tokenizer: Tokenizer | None = None

    @property
    def model(self) -> Path:
        """The Core ML package."""
        return self.folder / MODEL

    def tokenize(self, texts: Sequence[str]) -> list[Row]:
        """Return each text as the model takes it."""
        longest = self.manifest.tokens * _CHARACTERS_PER_TOKEN
        found = self._load().encode_batch([text[:longest] for text in texts])
        return [
            filled(e.ids, self.manifest, is_cut=bool(e.overflowing) or len(text) > longest)
            for e, text in zip(found, texts, strict=True)
        ]

    def _load(self) -> Tokenizer:
        if self._tokenizer is None:
            self._tokenizer = load_tokenizer(self.folder / TOKENIZER, self.manifest.tokens)
        return self._tokenizer


def load_tokenizer(path: Path, tokens: int) -> Tokenizer:
    """Return a tokenizer that cuts at ``tokens`` and does not fill up."""
    tokenizer: Tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(tokens)
    return tokenizer


def filled(ids: Sequence[int], manifest: Manifest, *, is_cut: bool = False) -> Row:
    """Return ids filled up to the model's length, and the mask that says which are real."""
    row = np.full((1, manifest.tokens), manifest.pad_id, dtype=np.int32)
    row[0, : len(ids)] = ids
    mask = (np.arange(manifest.tokens) < len(ids)).astype(np.int32)[None]
    return Row(row, mask, is_cut)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write what :class:`AnePackage` reads."""
    values = {"version": _VERSION, **asdict(manifest)}
    values["references"] = [
        {"text": one.text, "vector": [round(number, _DIGITS) for number in one.vector]}
        for one in manifest.references
    ]
    text = json.dumps(values, ensure_ascii=False, indent=1)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
