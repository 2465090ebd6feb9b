"""Turn a sentence model's folder into a package for the Neural Engine."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

from codelake.errors import UsageError
from resources.ane.folders import read_folder
from resources.ane.gemma import Gemma
from resources.ane.operations import NumpyOperations
from resources.ane.packages import (
    MODEL,
    TOKENIZER,
    AnePackage,
    Manifest,
    Reference,
    filled,
    load_tokenizer,
    write_manifest,
)
from resources.embedders.opening import require_package

TOKENS: Final = 512
BITS: Final = (16, 8, 4)

# What a package is compared on: questions, code in several languages, prose, short and long.
TEXTS: Final = (
    ("query", "where are retries handled"),
    ("query", "how is a date parsed from a log line"),
    ("document", "def add(a, b):\n    return a + b"),
    ("document", "# Stack.pop\nfn pop(&mut self) -> Option<T> { self.items.pop() }"),
    ("document", "demo: JSONResponseParser json response parser Parse a JSON answer into records."),
    ("document", "Gibt die Größe einer Datei in Bytes zurück (naïve Zählung, ±1)."),
    ("document", "SELECT name, count(*) FROM visits GROUP BY name HAVING count(*) > 10;"),
    ("document", "for item in queue:\n    process(item, retries=3, timeout=item.timeout)\n" * 40),
)


def convert(
    folder: Path, output: Path, *, tokens: int = TOKENS, bits: int = BITS[0], name: str = ""
) -> AnePackage:
    """Convert the model in ``folder`` and write it to ``output``, a folder that is not there.

    Args:
        folder: as sentence-transformers publishes a model.
        output: where the package goes.
        tokens: tokens of every text.
        bits: bits of a weight, one of ``BITS``.
        name: what the model is called; empty for the folder's name.

    Raises:
        UsageError: a model that cannot be converted, or an ``output`` that is there.
        EmbeddingError: coremltools is not installed.
    """
    if output.exists():
        message = f"{output} is there already: name a folder that is not"
        raise UsageError(message)
    require_package("coremltools", "ane")
    from resources.ane.program import write_program  # noqa: PLC0415 # needs coremltools

    source = read_folder(folder)
    model = source.build(tokens)
    manifest = Manifest(
        name=name or source.name,
        architecture=source.architecture,
        revision=source.revision,
        tokens=tokens,
        dimension=source.dimension,
        bits=bits,
        pad_id=int(source.config.get("pad_token_id") or 0),
        prompts=source.prompts,
        references=(),
    )
    tokenizer = load_tokenizer(source.tokenizer, tokens)
    texts = [source.prompts[kind] + text for kind, text in TEXTS]
    samples = [filled(encoding.ids, manifest) for encoding in tokenizer.encode_batch(texts)]
    if isinstance(model, Gemma):
        model.fit(samples)
    vectors = [model.run(NumpyOperations(), one.ids, one.mask).ravel() for one in samples]
    output.mkdir(parents=True)
    write_program(model, manifest, output / MODEL)
    shutil.copy(source.tokenizer, output / TOKENIZER)
    references = [
        Reference(text, tuple(map(float, vector)))
        for text, vector in zip(texts, vectors, strict=True)
    ]
    write_manifest(output, replace(manifest, references=tuple(references)))
    return AnePackage(output)
