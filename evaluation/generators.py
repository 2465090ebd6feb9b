"""Retrieval sets made from any repository: its doc comments, or its commit messages, as questions.

``python -m evaluation.generators docs REPOSITORY DESTINATION`` and ``... commits REPOSITORY
DESTINATION BASE`` make one from a shell.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tree_sitter

from codelake.classify import path_flags
from codelake.definitions import Definition
from codelake.errors import CodelakeError, UsageError
from codelake.parsing import parse_text
from evaluation.corpus import SourceText, read_text
from evaluation.diffs import changed_lines
from evaluation.retrieval_sets import GoldSpan, Question, RetrievalSet, write_set
from evaluation.snapshots import SourceFile, read_commit, write_archive
from resources.git import read_head, run_git
from resources.objects import empty_git_directory, object_format

_ABOUT: Final = "Make a retrieval set of any clone."
_KINDS: Final = {
    "docs": "doc comments, cut out of the code and asked",
    "commits": "commit messages; gold are the functions they changed",
}
_FUNCTIONS: Final = frozenset({"function", "method"})
_FEWEST_WORDS: Final = 4  # shorter texts ("see above") ask nothing
_MOST_GOLD: Final = 3  # a text that more functions share tells none of them
_MOST_FILES: Final = 3
_MOST_FUNCTIONS: Final = 4
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+")
_TRAILER: Final = re.compile(r"^[A-Z][\w-]+(-by)?: .*$", re.MULTILINE)
_NOISE: Final = re.compile(r"https?://\S+|\(?#\d+\)?|\(cherry picked from .*\)")


def docs_set(
    repository: Path, destination: Path, *, licence: str = "unknown", most: int = 100
) -> RetrievalSet:
    """Make a set whose questions are doc comments, cut out of the code that is searched.

    Tests stay in the corpus and give no questions.

    Args:
        repository: a clone; the commit that is checked out is read.
        destination: new folder.
        licence: of the repository, for the manifest.
        most: questions, spread evenly over the files.
    """
    head = read_head(repository / ".git" if (repository / ".git").exists() else repository)
    name = repository.resolve().name
    files: list[SourceFile] = []
    gold: dict[str, list[tuple[GoldSpan, str]]] = {}
    for file in read_commit(head.common_directory, head.commit):
        text = None if path_flags(file.path).is_test else read_text(file)
        stripped = _without_docs(text) if text is not None else None
        files.append(file if stripped is None else SourceFile(file.path, stripped.text))
        for question, span in stripped.questions if stripped else ():
            gold.setdefault(question, []).append((span, text.language if text else ""))
    corpus = "\n".join(file.content.decode("utf-8", "replace") for file in files)
    usable = [
        Question(f"doc/{name}/{number}", text, name, tuple(s for s, _ in found), "", found[0][1])
        for number, (text, found) in enumerate(gold.items())
        if len(found) <= _MOST_GOLD and text not in corpus
    ]
    kept = usable[:: max(1, -(-len(usable) // most))]
    if not kept:
        message = f"no doc comment of {name!r} at {head.commit} makes a question"
        raise UsageError(message)
    write_archive(destination / "repos" / f"{name}.tar.xz", files)
    return write_set(destination, kept, _manifest(destination, "doc comments", name, licence))


def commits_set(
    repository: Path, destination: Path, base: str, *, licence: str = "unknown"
) -> RetrievalSet:
    """Make a set whose questions are commit messages and whose gold are the functions they changed.

    Only commits count whose changed functions all stand word for word in ``base``, so that the
    gold is exact there although the commit came later.
    """
    head = read_head(repository / ".git" if (repository / ".git").exists() else repository)
    name = repository.resolve().name
    objects = head.common_directory / "objects"
    with empty_git_directory(objects, object_format(head.commit)) as environment:
        history = _History(environment, base, head.commit)
        files = read_commit(head.common_directory, history.base)
        functions = {file.path: _functions(file) for file in files}
        questions = []
        for commit, message in history.commits():
            spans = _changed_functions(history, commit, functions)
            if spans and len(message.split()) >= _FEWEST_WORDS:
                key = f"commit/{name}/{commit[:12]}"
                questions.append(Question(key, message, name, tuple(spans)))
    if not questions:
        message = (
            f"no commit after {history.base} changed functions that stand in it word for word; "
            "give a later commit"
        )
        raise UsageError(message)
    write_archive(destination / "repos" / f"{name}.tar.xz", files)
    manifest = _manifest(destination, f"commits after {history.base}", name, licence)
    return write_set(destination, questions, manifest)


@dataclass(frozen=True, slots=True)
class _Stripped:
    text: bytes
    questions: list[tuple[str, GoldSpan]]


@dataclass(frozen=True, slots=True)
class _Function:
    body: bytes
    start_line: int
    end_line: int


class _History:
    """The commits between two, read through an empty git directory."""

    def __init__(self, environment: Mapping[str, str], base: str, head: str) -> None:
        self._environment = environment
        self._head = head
        if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", base):
            message = f"the base {base!r} is no full commit name; git rev-parse gives it"
            raise UsageError(message)
        self.base = base

    def commits(self) -> Iterator[tuple[str, str]]:
        """Yield commit and cleaned message, the oldest first."""
        form = ["log", "--reverse", "--no-merges", "--format=%H%n%B%x00"]
        listing = self._git([*form, f"{self.base}..{self._head}", "--"])
        for record in listing.split("\0"):
            commit, _, message = record.strip().partition("\n")
            if commit:
                yield commit, _clean_message(message)

    def patch(self, commit: str) -> str:
        plain = ["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "-U0"]
        return self._git(
            ["diff-tree", "-p", *plain, "--end-of-options", f"{commit}^", commit, "--"]
        )

    def before(self, commit: str, path: str) -> SourceFile:
        content = run_git(["cat-file", "blob", f"{commit}^:{path}"], environment=self._environment)
        return SourceFile(path, content)

    def _git(self, arguments: Sequence[str]) -> str:
        return run_git(arguments, environment=self._environment).decode("utf-8", "replace")


def _changed_functions(
    history: _History, commit: str, functions: Mapping[str, Mapping[str, _Function]]
) -> list[GoldSpan]:
    """Return where in the base the functions are that a commit changed, or nothing."""
    changed: dict[str, list[GoldSpan]] = {}
    for span in changed_lines(history.patch(commit)):
        changed.setdefault(span.path, []).append(span)
    if not 0 < len(changed) <= _MOST_FILES:
        return []
    found: list[GoldSpan] = []
    for path, spans in changed.items():
        for name, function in _functions(history.before(commit, path)).items():
            inside = any(
                function.start_line <= s.end_line and s.start_line <= function.end_line
                for s in spans
            )
            if not inside:
                continue
            same = functions.get(path, {}).get(name)
            if same is None or same.body != function.body:
                return []
            found.append(GoldSpan(path, same.start_line, same.end_line))
    return found if len(found) <= _MOST_FUNCTIONS else []


def _functions(file: SourceFile) -> dict[str, _Function]:
    """Return the outermost functions of a file by qualified name, none of a test.

    A name that a file has twice is left out.
    """
    text = None if path_flags(file.path).is_test else read_text(file)
    if text is None:
        return {}
    found: dict[str, _Function] = {}
    twice: set[str] = set()
    end = 0
    for definition in parse_text(text.text, text.language).definitions:
        if definition.kind not in _FUNCTIONS or definition.start_byte < end:
            continue
        end = definition.end_byte
        name = definition.qualified_name
        if name in found:
            twice.add(name)
        body = text.text[definition.start_byte : end]
        first = text.text.count(b"\n", 0, definition.start_byte) + 1
        found[name] = _Function(body, first, first + body.count(b"\n"))
    return {name: function for name, function in found.items() if name not in twice}


def _without_docs(text: SourceText) -> _Stripped | None:
    """Cut the doc comments of functions out of a text, or return nothing if it has none."""
    parsed = parse_text(text.text, text.language)
    if parsed.tree is None:
        return None
    comments, docstrings = _comments(parsed.tree.root)
    cuts: list[tuple[int, int]] = []
    asked: list[tuple[str, Definition]] = []
    for definition in parsed.definitions:
        if definition.kind not in _FUNCTIONS or not definition.doc:
            continue
        own = [span for span in docstrings if _is_inside(span, definition)][:1]
        own = own or _above(comments, text.text, definition.start_byte)
        if own:
            cuts += [_whole_lines(text.text, *span) for span in own]
            question = _first_sentences(definition)
            asked += [(question, definition)] * bool(question)
    cuts = sorted(set(cuts))
    ends = [0, *(end for _, end in cuts)]
    starts = [*(start for start, _ in cuts), len(text.text)]
    kept = b"".join(text.text[a:b] for a, b in zip(ends, starts, strict=True))
    questions = []
    for question, definition in asked:
        start = _moved(definition.start_byte, cuts)
        last = _moved(definition.end_byte - 1, cuts)
        lines = kept.count(b"\n", 0, start) + 1, kept.count(b"\n", 0, last) + 1
        questions.append((question, GoldSpan(text.path, *lines)))
    return _Stripped(kept, questions) if cuts else None


def _comments(root: tree_sitter.Node) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the spans of comments, and of strings that open a block with more in it."""
    comments, docstrings = [], []
    todo = [root]
    while todo:
        node = todo.pop()
        if "comment" in node.type:
            comments.append((node.start_byte, node.end_byte))
            continue
        first = node.named_children[0] if node.type == "block" and node.named_children else None
        while first is not None and first.type == "expression_statement":
            first = first.named_children[0] if first.named_children else None
        # A body of nothing else would be empty without it.
        if first is not None and first.type == "string" and node.named_child_count > 1:
            docstrings.append((first.start_byte, first.end_byte))
        todo += reversed(node.children)
    return comments, docstrings


def _is_inside(span: tuple[int, int], definition: Definition) -> bool:
    return definition.start_byte < span[0] and span[1] <= definition.end_byte


def _above(comments: Sequence[tuple[int, int]], text: bytes, start: int) -> list[tuple[int, int]]:
    """Return the comments that lie right above ``start``, without a blank line or code between."""
    found = []
    for first, last in reversed(comments):
        between = text[last:start]
        if last <= start:
            # A line comment's node may hold its line end.
            breaks = between.count(b"\n") + text[first:last].endswith(b"\n")
            if between.strip() or breaks > 1:
                break
            found.append((first, last))
            start = first
    return found


def _whole_lines(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Widen a span to whole lines where nothing else stands on them."""
    line = text.rfind(b"\n", 0, start) + 1
    after = text.find(b"\n", end)
    after = len(text) if after < 0 else after + 1
    if text[start:end].endswith(b"\n"):
        after = end
    is_alone = not text[line:start].strip() and not text[end:after].strip()
    return (line, after) if is_alone else (start, end)


def _moved(place: int, cuts: Sequence[tuple[int, int]]) -> int:
    return place - sum(min(end, place) - start for start, end in cuts if start < place)


def _first_sentences(definition: Definition) -> str:
    """Return at most two sentences of the first paragraph, unless they name the function."""
    paragraph = " ".join(definition.doc.split("\n\n")[0].split())
    # Go's comments begin with the name: "Foo reads ..." asks "reads ...".
    paragraph = re.sub(rf"^{re.escape(definition.name)}\s+", "", paragraph)
    text = " ".join(_SENTENCES.split(paragraph)[:2])
    is_named = re.search(rf"\b{re.escape(definition.name)}\b", text) is not None
    return "" if is_named or len(text.split()) < _FEWEST_WORDS else text


def _clean_message(message: str) -> str:
    text = _NOISE.sub("", _TRAILER.sub("", message))
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _manifest(destination: Path, kind: str, repository: str, licence: str) -> dict[str, object]:
    own = [{"repo": repository, "license": licence}]
    return {"name": destination.name, "kind": kind, "repos": own}


def main(words: Sequence[str] | None = None) -> None:
    """Make the set that the words of the command line name."""
    parser = argparse.ArgumentParser("python -m evaluation.generators", description=_ABOUT)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind, meaning in _KINDS.items():
        command = kinds.add_parser(kind, help=meaning, description=meaning)
        command.add_argument("repository", type=Path, help="a clone")
        command.add_argument("destination", type=Path, help="a new folder")
        command.add_argument("--licence", default="unknown", help="of the clone, for results")
        if kind == "commits":
            command.add_argument("base", help="commit; those after it are asked for")
    given = parser.parse_args(words)
    try:
        if given.kind == "docs":
            made = docs_set(given.repository, given.destination, licence=given.licence)
        else:
            made = commits_set(
                given.repository, given.destination, given.base, licence=given.licence
            )
    except CodelakeError as error:
        parser.error(str(error))
    sys.stdout.write(f"{made.name}: {len(made.questions)} questions\n")


if __name__ == "__main__":
    main()
