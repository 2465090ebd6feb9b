"""Chunkers that are compared only: the baseline of the paper, and other rules for cAST."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

import tree_sitter

from codelake.chunking import CHUNKERS, Chunker, Options, Source, Span
from codelake.chunking.cast import CastCutter
from codelake.chunking.split import split_text


def _cut_lines(source: Source, options: Options) -> list[Span]:
    return CHUNKERS["fixed"](source, Options(0, options.overlap, lines=options.budget))


def _cut_plain(source: Source, options: Options) -> list[Span]:
    return CastCutter(source, options.budget, is_gluing=False).cut()


def _cut_unmerged(source: Source, options: Options) -> list[Span]:
    """Open what is over the budget and merge nothing: a span for each node that fits.

    Names and other leaves stay with what stands before them, comments excepted.
    """
    text, measure = source.text, source.measure
    starts = {0, len(text)}
    if source.tree is not None:
        starts.update(_starts(source.tree.root, source, options.budget))
    spans = []
    for start, end in pairwise(sorted(starts)):
        stops = split_text(measure, start, end, options.budget)
        pieces = zip([start, *stops], stops, strict=False)
        spans += [Span(a, a, b, nws) for a, b in pieces if (nws := measure.nws(a, b))]
    return spans


def _starts(root: tree_sitter.Node, source: Source, budget: int) -> Iterator[int]:
    """Yield where the children of each node begin that is over ``budget``."""
    opened = [root]
    while opened:
        node = opened.pop()
        if source.measure.nws(node.start_byte, node.end_byte) > budget:
            children = [child for child in node.children if child.child_count or child.is_extra]
            yield from (child.start_byte for child in children)
            opened += children


def _cut_across(source: Source, options: Options) -> list[Span]:
    """Merge all neighbours that fit together, be they of one parent or not."""
    merged: list[Span] = []
    for span in CastCutter(source, options.budget).cut():
        last = merged[-1] if merged else None
        if last is not None and last.nws + span.nws <= options.budget:
            merged[-1] = replace(
                last, end=span.end, nws=last.nws + span.nws, parts=last.parts | span.parts
            )
        else:
            merged.append(span)
    return merged


VARIANTS: Final[dict[str, Chunker]] = {
    **CHUNKERS,
    "lines": _cut_lines,
    "cast-plain": _cut_plain,
    "cast-unmerged": _cut_unmerged,
    "cast-across": _cut_across,
}
"""Every registered chunker; blocks of whole lines; cAST to the letter of the paper, where comments
and decorators may part from what follows them; without merging; and merging across parents."""
