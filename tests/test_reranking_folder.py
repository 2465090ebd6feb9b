"""A cross-encoder in a folder: scores of its pairs, whatever the company, or what is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from codelake.errors import EmbeddingError, UsageError
from codelake.settings import RerankingSettings
from resources.rerankers import open_reranker
from tests.onnx_files import write_token_adder

UNKNOWN = "[UNK]"
WORDS = ["[PAD]", UNKNOWN, "[SEP]", "retry", "sort", "stack", "what"]
WEIGHTS = np.array([[0], [0], [0], [2], [-1], [0.5], [0.25]])
TEXTS = ["sort", "retry sort", "", "retry retry retry", "stack"]


def sigmoid(score: float) -> float:
    return float(1 / (1 + np.exp(-score)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder as an export leaves it; its model adds up the weights of words."""
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Whitespace()  # type: ignore[assignment] # as the package documents
    tokenizer.post_processor = TemplateProcessing(  # type: ignore[assignment] # as above
        single="$A", pair="$A [SEP] $B", special_tokens=[("[SEP]", 2)]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    write_token_adder(tmp_path / "model.onnx", WEIGHTS)
    return tmp_path


def rerank(folder: Path, texts: list[str], query: str = "what") -> np.ndarray:
    reranker = open_reranker("onnx", RerankingSettings(model=str(folder)), local_only=True)
    return reranker.rerank(query, texts)


def test_scores_are_those_of_the_pairs(folder: Path) -> None:
    wanted = [sigmoid(-0.75), sigmoid(1.25), 0.0, sigmoid(6.25), sigmoid(0.75)]
    np.testing.assert_allclose(rerank(folder, TEXTS), wanted, atol=1e-6)


def test_a_score_does_not_depend_on_the_other_texts(folder: Path) -> None:
    texts = [" ".join(WORDS[3 + i % 3 :] * (i + 1)) for i in range(40)]
    alone = [rerank(folder, [text])[0] for text in texts]
    np.testing.assert_allclose(rerank(folder, texts), alone, atol=1e-6)


def test_of_two_classes_the_second_is_the_score(folder: Path) -> None:
    write_token_adder(folder / "model.onnx", np.hstack([np.zeros_like(WEIGHTS), WEIGHTS]))
    assert rerank(folder, ["retry"])[0] == pytest.approx(sigmoid(2.25))


def test_a_pair_is_cut_to_what_the_model_reads(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 4}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    assert rerank(folder, ["retry " * 99])[0] == pytest.approx(sigmoid(0.25 + 2 * 2))


def test_a_blank_question_scores_nothing(folder: Path) -> None:
    assert not rerank(folder, TEXTS, query=" ").any()


def test_the_name_tells_one_model_from_another(folder: Path) -> None:
    first = open_reranker("onnx", RerankingSettings(model=str(folder))).model_id
    write_token_adder(folder / "model.onnx", WEIGHTS * 2)
    second = open_reranker("onnx", RerankingSettings(model=str(folder))).model_id
    assert first != second
    assert first.startswith(f"onnx-{folder.name}-")


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a folder with tokenizer\.json"):
        rerank(tmp_path, TEXTS)


def test_a_file_that_is_no_model_is_told(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        rerank(folder, TEXTS)


def test_a_model_with_other_inputs_is_told(folder: Path) -> None:
    write_token_adder(folder / "model.onnx", WEIGHTS, ["input_ids", "pixel_values"])
    with pytest.raises(EmbeddingError, match="wants pixel_values"):
        rerank(folder, TEXTS)


def test_a_model_with_another_answer_is_told(folder: Path) -> None:
    write_token_adder(folder / "model.onnx", np.hstack([WEIGHTS] * 3))
    with pytest.raises(EmbeddingError, match="expected one score a pair"):
        rerank(folder, TEXTS)


def test_a_score_that_is_no_number_is_told(folder: Path) -> None:
    write_token_adder(folder / "model.onnx", np.full_like(WEIGHTS, np.nan))
    with pytest.raises(EmbeddingError, match="no number"):
        rerank(folder, TEXTS)
