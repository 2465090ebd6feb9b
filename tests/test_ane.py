"""Models for the Neural Engine: the same vectors as published, in a layout of our own."""

import json
import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from codelake.errors import UsageError
from codelake.settings import EmbeddingSettings
from pipelines.commands.ane import ane
from resources.ane.checking import describe, device_name, report
from resources.ane.folders import read_folder
from resources.ane.gemma import LONGEST, Gemma
from resources.ane.operations import NumpyOperations
from resources.ane.packages import (
    AnePackage,
    Manifest,
    Reference,
    Row,
    filled,
    load_tokenizer,
    write_manifest,
)
from resources.ane.palettes import palette_of
from resources.embedders import open_embedder
from resources.embedders.ane import AneEmbedder, Run
from resources.models.reference_gemma import (
    CONFIG,
    TOKENS,
    amplified,
    dense_weights,
    random_weights,
    samples,
)
from tests.ane_models import tiny_folder

REFERENCE = json.loads((Path(__file__).parent / "gemma_reference.json").read_text("utf-8"))
ROWS = [Row(ids, mask) for ids, mask in samples()]
LOUD = 3000.0  # numbers beyond float16's 65,504, as the published model has


def gemma(factor: float = 1.0) -> Gemma:
    weights = random_weights() if factor == 1 else amplified(random_weights(), factor)
    return Gemma(CONFIG, weights, TOKENS, tuple(dense_weights()))


def vectors(model: Gemma, operations: NumpyOperations) -> np.ndarray:
    return np.stack([model.run(operations, row.ids, row.mask).ravel() for row in ROWS])


def package(folder: Path, tokens: int = 16) -> tuple[AnePackage, Run]:
    """Return what a conversion leaves, and numpy in the place of Core ML."""
    source = read_folder(tiny_folder(folder / "published"))
    model = source.build(tokens)
    manifest = Manifest(
        "tiny", source.architecture, source.revision, tokens, 48, 16, 0, source.prompts, ()
    )

    def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return model.run(NumpyOperations(), ids, mask)

    texts = ["where are retries", "def return"]
    encodings = load_tokenizer(source.tokenizer, tokens).encode_batch(texts)
    rows = [filled(encoding.ids, manifest) for encoding in encodings]
    references = [
        Reference(text, tuple(run(row.ids, row.mask).ravel().tolist()))
        for text, row in zip(texts, rows, strict=True)
    ]
    converted = folder / "converted"
    converted.mkdir()
    (converted / "tokenizer.json").write_bytes(source.tokenizer.read_bytes())
    write_manifest(converted, replace(manifest, references=tuple(references)))
    return AnePackage(converted), run


def test_vectors_are_those_of_the_published_code() -> None:
    np.testing.assert_allclose(vectors(gemma(), NumpyOperations()), REFERENCE, atol=2e-5)


@pytest.mark.parametrize("factor", [1.0, LOUD])
def test_scaling_changes_no_vector_and_keeps_every_number_small(factor: float) -> None:
    model, before, after = gemma(factor), NumpyOperations(), NumpyOperations()
    vectors(model, before)
    assert (max(before.norms.values()) > 65_504) == (factor == LOUD)
    model.fit(ROWS)
    np.testing.assert_allclose(vectors(model, after), REFERENCE, atol=2e-5)
    assert max(after.norms.values()) <= LONGEST


def test_padding_changes_no_vector(tmp_path: Path) -> None:
    source = read_folder(tiny_folder(tmp_path))
    found = []
    for tokens in (8, 16):
        row = np.zeros((1, tokens), np.int32)
        row[0, :6] = [1, 5, 7, 9, 4, 2]
        mask = (np.arange(tokens) < 6).astype(np.int32)[None]
        found.append(source.build(tokens).run(NumpyOperations(), row, mask).ravel())
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_a_folder_is_read_as_it_is_published(tmp_path: Path) -> None:
    source = read_folder(tiny_folder(tmp_path / "tiny-gemma"))
    assert (source.name, source.architecture, source.dimension) == (
        "tiny-gemma",
        "gemma3_text",
        48,
    )
    assert source.prompts["query"] == "task: search result | query: "
    assert [layer.shape for layer in source.dense] == [(96, 48), (48, 96)]
    model = source.build(TOKENS)
    assert isinstance(model, Gemma)
    np.testing.assert_allclose(vectors(model, NumpyOperations()), REFERENCE, atol=2e-5)


def test_other_weights_are_another_revision(tmp_path: Path) -> None:
    first = read_folder(tiny_folder(tmp_path / "a")).revision
    assert first == read_folder(tiny_folder(tmp_path / "b")).revision
    path = tmp_path / "b" / "2_Dense" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert first != read_folder(tmp_path / "b").revision


def _change(name: str, **values: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_change("config.json", model_type="llama"), "a model of type 'llama' cannot be converted"),
        (_change("config.json", use_bidirectional_attention=False), "expected True"),
        (_change("config.json", hidden_activation="relu"), "expected 'gelu_pytorch_tanh'"),
        (
            _change("config.json", rope_parameters={"full_attention": {"rope_type": "yarn"}}),
            "expected 'default'",
        ),
        (_change("1_Pooling/config.json", pooling_mode_cls_token=True), "expected the mean alone"),
        (_change("2_Dense/config.json", bias=True), "without bias"),
        (lambda folder: (folder / "model.safetensors").unlink(), "expected model.safetensors"),
        (lambda folder: (folder / "modules.json").unlink(), "a sentence-transformers folder"),
        (lambda folder: (folder / "modules.json").write_text("{}"), "expected a JSON list"),
        (lambda folder: (folder / "config.json").write_text("no JSON"), "cannot be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_converted_is_told(
    change: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    change(tiny_folder(tmp_path))
    with pytest.raises(UsageError, match=message):
        read_folder(tmp_path)


def test_texts_longer_than_the_model_reads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reads 1 to 2048"):
        read_folder(tiny_folder(tmp_path)).build(4096)


def test_texts_become_vectors_behind_their_prompts(tmp_path: Path) -> None:
    converted, run = package(tmp_path)
    embedder = AneEmbedder(converted, run)
    document, query = (
        embed(["def where"]).vectors[0]
        for embed in (embedder.embed_documents, embedder.embed_queries)
    )
    assert np.linalg.norm(document) == pytest.approx(1, abs=1e-5)
    assert document @ query < 0.99
    (row,) = converted.tokenize(["title: none | def where"])
    np.testing.assert_allclose(document, run(row.ids, row.mask).ravel(), atol=1e-5)
    assert embedder.model_id.startswith("ane-tiny-")
    assert embedder.model_id.endswith("-16-16bit")


def test_what_is_cut_or_blank_is_said(tmp_path: Path) -> None:
    embedder = AneEmbedder(*package(tmp_path))
    answer = embedder.embed_documents(["def", "", "def " * 99, "where"])
    assert answer.truncated == (2,)
    assert list(answer.failures) == [1]
    assert embedder.usage.texts == 3
    assert embedder.usage.truncated == 1


def test_a_vector_that_overflowed_is_reported(tmp_path: Path) -> None:
    converted, _ = package(tmp_path)
    broken = AneEmbedder(converted, lambda ids, _: np.full((1, 48), np.nan, np.float32) * ids.max())
    assert "not finite" in broken.embed_documents(["def"]).failures[0]


def test_a_report_compares_with_the_reference(tmp_path: Path) -> None:
    converted, run = package(tmp_path)
    seconds = iter(range(100))
    devices = ["NeuralEngine"] * 3 + ["CPU"]
    found = report(converted, run, devices, lambda: float(next(seconds)))
    assert found.mean_cosine == pytest.approx(1, abs=1e-4)
    assert (found.neural_engine_share, found.milliseconds, found.texts) == (0.75, 1000.0, 2)
    assert "75.0% (wanted 99.6%)" in "\n".join(describe(found))


class MLNeuralEngineComputeDevice:
    """Named as Core ML's."""


def test_a_device_is_called_by_its_kind() -> None:
    assert device_name(MLNeuralEngineComputeDevice()) == "NeuralEngine"


@pytest.mark.skipif(platform.system() == "Darwin", reason="there it may be chosen")
def test_elsewhere_than_on_a_mac_the_alternatives_are_named(tmp_path: Path) -> None:
    for alternative in ("minilm", "static", "openai-compatible"):
        with pytest.raises(UsageError, match=alternative):
            open_embedder(EmbeddingSettings(embedder="ane", model="x"))
    converted, _ = package(tmp_path)
    answer = CliRunner().invoke(ane, ["check", str(converted.folder)])
    assert isinstance(answer.exception, UsageError)
    assert "macOS" in str(answer.exception)


@pytest.mark.parametrize("text", ["{}", "no JSON", '{"version": 1, "references": [1]}', "[]"])
def test_a_folder_that_was_not_converted_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(UsageError, match="make one with `codelake ane convert`"):
        AnePackage(tmp_path)


def test_a_package_of_another_version_is_told(tmp_path: Path) -> None:
    converted, _ = package(tmp_path)
    _change("manifest.json", version=9)(converted.folder)
    with pytest.raises(UsageError, match="is of version 9, expected 1"):
        AnePackage(converted.folder)


@pytest.mark.parametrize(("bits", "most"), [(8, 0.01), (4, 0.13)])
def test_a_palette_keeps_what_matters(bits: int, most: float) -> None:
    noise = np.random.default_rng(1)
    weights = (noise.standard_normal((96, 64)) * 0.05).astype(np.float16)
    weights[0, 0] = 1.0  # a few weights of a model are far larger than the others
    values, places = palette_of(bits)(weights)
    assert len(values) == 2**bits
    packed = values[places].reshape(weights.shape).astype(np.float32)
    error = np.linalg.norm(packed - weights) / np.linalg.norm(weights)
    assert error < most
    assert packed[0, 0] == pytest.approx(1.0, abs=0.05)
