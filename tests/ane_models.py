"""A tiny EmbeddingGemma with a tokenizer, in a folder as it is published."""

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from resources.models.reference_gemma import CONFIG, random_weights, write_folder

WORDS = ["task", "search", "result", "query", "title", "none", "def", "return", "retries", "where"]
UNKNOWN = "[UNK]"


def tokenizer_text() -> str:
    """Return a tokenizer that knows a few words and puts a mark in front and behind."""
    marks = ["[PAD]", "[BOS]", "[EOS]", UNKNOWN]
    names = {word: i for i, word in enumerate([*marks, *WORDS])}
    tokenizer = Tokenizer(WordLevel(names, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Whitespace()  # type: ignore[assignment] # as the package documents
    tokenizer.post_processor = TemplateProcessing(  # type: ignore[assignment] # as above
        single="[BOS] $A [EOS]", special_tokens=[("[BOS]", 1), ("[EOS]", 2)]
    )
    return str(tokenizer.to_str())


def tiny_folder(folder: Path) -> Path:
    """Write the model as it is published and return its folder."""
    assert CONFIG["vocab_size"] > len(WORDS) + 4
    write_folder(folder, random_weights(), tokenizer_text())
    return folder
