"""A sentence-transformers model in a folder: its vectors, and errors that say what is missing."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from codelake.errors import EmbeddingError, UsageError
from codelake.settings import EmbeddingSettings
from resources.ane.folders import read_folder
from resources.ane.operations import NumpyOperations
from resources.ane.packages import load_tokenizer
from resources.embedders import open_embedder
from resources.embedders.folder import FolderEmbedder, open_folder
from tests.ane_models import tiny_folder

installed = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None,
    reason="needs codelake[folder], which brings torch",
)


def opened(folder: Path, **more: object) -> FolderEmbedder:
    settings = {"embedder": "folder", "model": str(folder), **more}
    return open_folder(EmbeddingSettings.model_validate(settings))


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    for model in ("", str(tmp_path)):
        with pytest.raises(UsageError, match=r"needs a folder with a modules\.json"):
            open_embedder(EmbeddingSettings(embedder="folder", model=model))


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbeddingError, match=r"install codelake\[folder\]"):
        opened(tiny_folder(tmp_path / "tiny"))


@installed
def test_vectors_are_the_models_own_behind_its_prompts(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "tiny")
    embedder = opened(folder)
    source = read_folder(folder)
    text = source.prompts["document"] + "def where"
    ids = load_tokenizer(source.tokenizer, 64).encode(text).ids
    row = np.array([ids], np.int32)
    wanted = source.build(len(ids)).run(NumpyOperations(), row, np.ones_like(row)).ravel()
    (found,) = embedder.embed_documents(["def where"]).vectors
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    (question,) = embedder.embed_queries(["def where"]).vectors
    assert question @ found < 0.99


@installed
def test_what_is_cut_or_blank_is_said(tmp_path: Path) -> None:
    embedder = opened(tiny_folder(tmp_path / "tiny"), max_tokens=16)
    answer = embedder.embed_documents(["def", " ", "def " * 99])
    assert answer.truncated == (2,)
    assert list(answer.failures) == [1]
    assert embedder.usage.texts == 2
    assert embedder.max_tokens == 16


@installed
def test_the_name_of_a_space_holds_all_that_changes_a_vector(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "tiny")
    names = {opened(folder).model_id, opened(folder, max_tokens=16).model_id}
    names.add(opened(folder, dimensions=8).model_id)
    weights = folder / "3_Dense" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")
    names.add(opened(folder).model_id)
    assert len(names) == 4
    assert all(name.startswith("folder-tiny-") for name in names)


@installed
def test_a_model_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "tiny")
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        opened(folder)
