"""Our cAST beside the published one, on files without its known faults."""

from pathlib import Path

import pytest
import tree_sitter

from codelake.chunking import Source
from codelake.chunking.cast import CastCutter
from codelake.languages import grammar
from codelake.measure import trim
from codelake.parsing import parse_text

pytestmark = pytest.mark.peer
_FILES = sorted((Path(__file__).parents[1] / "codelake" / "chunking").glob("*.py"))


def _published(text: bytes, budget: int) -> list[tuple[int, int]]:
    builders = pytest.importorskip("astchunk.astchunk_builder", exc_type=ImportError)
    builder = builders.ASTChunkBuilder.__new__(builders.ASTChunkBuilder)
    builder.max_chunk_size = budget
    root = tree_sitter.Parser(grammar("python")).parse(text).root_node
    windows = builder.assign_tree_to_windows(text.decode(), root)
    spans = [trim(text, w[0].node.start_byte, w[-1].node.end_byte) for w in windows]
    return [(start, end) for start, end in spans if start < end]


@pytest.mark.parametrize("budget", [500, 1200])
@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.name)
def test_chunks_cover_the_nodes_the_published_algorithm_groups(path: Path, budget: int) -> None:
    text = path.read_bytes()
    expected = _published(text, budget)
    sizes = [len(b"".join(text[start:end].split())) for start, end in expected]
    if sum(sizes) != len(b"".join(text.split())) or max(sizes) > budget:
        pytest.skip("the published algorithm loses a leaf of this file")
    source = Source(text, "python", parse_text(text, "python").tree)
    spans = CastCutter(source, budget, is_gluing=False).cut()
    assert [trim(text, span.start, span.end) for span in spans] == expected
