"""Children are found by offset, in what grammars hide too."""

from bisect import bisect_right
from pathlib import Path

import pytest
import tree_sitter

from codelake.chunking.siblings import Siblings
from codelake.languages import LANGUAGES, detect_language
from codelake.parsing import Tree, parse_tree

_SAMPLES = sorted(path for path in (Path(__file__).parent / "samples").iterdir() if path.is_file())


def _opened(root: tree_sitter.Node) -> list[tree_sitter.Node]:
    found = [root]
    for node in found:
        found += [child for child in node.children if child.child_count]
    return found


@pytest.mark.parametrize("path", _SAMPLES, ids=lambda path: str(path.name))
def test_child_at_an_offset_is_the_first_that_ends_behind_it(path: Path) -> None:
    text = path.read_bytes()
    language = detect_language(path.name, text)
    root = parse_tree(text, language) if language in LANGUAGES else None
    if root is None:
        pytest.skip("no grammar")
    for node in _opened(root):
        children = [(child.start_byte, child.end_byte, child.id) for child in node.children]
        ends = [end for _, end, _ in children]
        for offset in range(node.start_byte, node.end_byte + 1):
            siblings = Siblings(node, Tree(root, language), text, is_gluing=True)
            found = siblings.at(offset)
            at = bisect_right(ends, offset)
            expected = children[at] if at < len(children) else None
            assert expected == (found and (found.start_byte, found.end_byte, found.id))
