"""Retrieval sets from the public formats a researcher has at hand.

Each importer reads the original files, writes a set in our own layout and returns it, so that
everything after it (hash, licence, loader, benchmark) is one path. ``python -m
evaluation.importers FORMAT SOURCE DESTINATION`` does it from a shell.
"""

import argparse
import csv
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from codelake.errors import CodelakeError, UsageError
from evaluation.diffs import changed_lines
from evaluation.retrieval_sets import (
    GoldSpan,
    Question,
    RetrievalSet,
    load_set,
    read_records,
    write_set,
)
from evaluation.snapshots import SourceFile, read_commit, write_archive, write_bundle
from resources.git import read_head

_UNSAFE: Final = re.compile(r"[^\w.+-]+")


def import_repoeval(source: Path, destination: Path, *, licence: str = "unknown") -> RetrievalSet:
    """Import RepoEval or CodeRAG-Bench tasks: ``*.jsonl`` beside a folder a repository.

    A task's prompt is the question; the gold is its context in its own file, up to the first line
    of the body, as CodeRAG-Bench scores it.
    """
    questions, repositories = [], set()
    for task in _records(source, "*.jsonl"):
        facts = task["metadata"]
        parts = facts["fpath_tuple"]
        repository, path = parts[0], "/".join(parts[1:])
        first, last = facts["context_start_lineno"] + 1, facts["line_no"] + 1
        gold = (GoldSpan(path, first, last),)
        questions.append(Question(facts["task_id"], task["prompt"], repository, gold, "", "python"))
        repositories.add(repository)
    for repository in repositories:
        folder = _existing(source / repository)
        write_archive(destination / "repos" / f"{repository}.tar.xz", _folder_files(folder))
    manifest = _manifest(destination, "RepoEval tasks", dict.fromkeys(repositories, licence))
    return write_set(destination, questions, {**manifest, "include": ["*.py"]})


def import_beir(source: Path, destination: Path, *, licence: str = "unknown") -> RetrievalSet:
    """Import a BEIR folder: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/test.tsv``.

    Each document becomes a file, and the gold of a question is every line of its documents.
    """
    repository = _UNSAFE.sub("_", source.name)
    names, lines, files = {}, {}, []
    for number, document in enumerate(_json_lines(_existing(source / "corpus.jsonl"))):
        text = "\n".join(part for part in (document.get("title"), document["text"]) if part)
        # A running number keeps names apart that differ in refused characters only.
        name = f"{number:06}-{_UNSAFE.sub('_', document['_id'])[:80]}.txt"
        names[document["_id"]], lines[name] = name, text.count("\n") + 1
        files.append(SourceFile(name, text.encode()))
    texts = {q["_id"]: q["text"] for q in _json_lines(_existing(source / "queries.jsonl"))}
    gold: dict[str, list[str]] = {}
    with _existing(source / "qrels" / "test.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0 and row["corpus-id"] in names:
                gold.setdefault(row["query-id"], []).append(names[row["corpus-id"]])
    questions = [
        Question(key, texts[key], repository, tuple(GoldSpan(n, 1, lines[n]) for n in found))
        for key, found in gold.items()
    ]
    write_archive(destination / "repos" / f"{repository}.tar.xz", files)
    return write_set(destination, questions, _manifest(destination, "BEIR", {repository: licence}))


def import_codesearchnet(
    source: Path, destination: Path, *, licence: str = "unknown"
) -> RetrievalSet:
    """Import CodeSearchNet-style ``*.jsonl``: functions with ``code`` and ``docstring``.

    Each function becomes a file, the doc string is the question and is cut out of the code. A
    doc string that several functions share has all of them as gold.
    """
    files: dict[str, list[SourceFile]] = {}
    gold: dict[tuple[str, str], list[GoldSpan]] = {}
    languages: dict[tuple[str, str], str] = {}
    for function in _records(source, "*.jsonl"):
        repository = _UNSAFE.sub("_", function.get("repo") or source.name)
        question, code = function["docstring"].strip(), function["code"]
        own = files.setdefault(repository, [])
        text = code.replace(function["docstring"], "")
        suffix = Path(function.get("path") or ".txt").suffix or ".txt"
        name = f"{len(own):06}-{_UNSAFE.sub('_', function.get('func_name', 'function'))}{suffix}"
        own.append(SourceFile(name, text.encode()))
        if question:
            key = (repository, question)
            gold.setdefault(key, []).append(GoldSpan(name, 1, text.count("\n") + 1))
            languages[key] = function.get("language", "")
    for repository, own in files.items():
        write_archive(destination / "repos" / f"{repository}.tar.xz", own)
    questions = [
        Question(f"{repo}/{number}", text, repo, tuple(spans), "", languages[repo, text])
        for number, ((repo, text), spans) in enumerate(gold.items())
    ]
    manifest = _manifest(destination, "CodeSearchNet functions", dict.fromkeys(files, licence))
    return write_set(destination, questions, manifest)


def import_swebench(source: Path, destination: Path, *, licence: str = "unknown") -> RetrievalSet:
    """Import SWE-bench ``*.jsonl`` beside clones named ``<owner>__<name>``.

    The issue is the question, the gold are the lines that the patch changes at the base commit.
    Each instance has a snapshot of its own: a tag in a bundle of its repository.
    """
    questions: list[Question] = []
    commits: dict[str, dict[str, str]] = {}
    for instance in _records(source, "*.jsonl"):
        key, repository = instance["instance_id"], instance["repo"]
        spans = changed_lines(instance["patch"])
        if spans:
            text = instance["problem_statement"]
            questions.append(Question(key, text, repository, spans, key))
            commits.setdefault(repository, {})[key] = instance["base_commit"]
    for repository, own in commits.items():
        stem = repository.replace("/", "__")
        clone = _existing(source / stem)
        common = read_head(clone / ".git" if (clone / ".git").exists() else clone).common_directory
        write_bundle(destination / "repos" / f"{stem}.bundle", common, own)
    manifest = _manifest(destination, "SWE-bench instances", dict.fromkeys(commits, licence))
    return write_set(destination, questions, manifest)


IMPORTERS: Final[dict[str, Callable[..., RetrievalSet]]] = {
    "repoeval": import_repoeval,
    "beir": import_beir,
    "codesearchnet": import_codesearchnet,
    "swebench": import_swebench,
}


def import_set(
    name: str, source: Path, destination: Path, *, licence: str = "unknown"
) -> RetrievalSet:
    """Import ``source`` in the format ``name`` into the new folder ``destination``.

    Raises:
        UsageError: an unknown format, a missing file, or a destination that has something in it.
    """
    if name not in IMPORTERS:
        message = f"unknown format {name!r}; choose from {', '.join(IMPORTERS)}"
        raise UsageError(message)
    if destination.exists() and any(destination.iterdir()):
        message = f"{str(destination)!r} is not empty; give a new folder"
        raise UsageError(message)
    try:
        return _import_whole(name, source, destination, licence)
    except KeyError as error:
        message = f"{str(source)!r} is not in the format {name!r}: {error} is missing"
        raise UsageError(message) from error
    except (AttributeError, TypeError, ValueError) as error:
        message = f"{str(source)!r} is not in the format {name!r}: {error}"
        raise UsageError(message) from error


def _import_whole(name: str, source: Path, destination: Path, licence: str) -> RetrievalSet:
    """Import beside the destination and move it there at the end: there is no half of a set."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".import-", dir=destination.parent) as folder:
        made = Path(folder) / destination.name
        IMPORTERS[name](source, made, licence=licence)
        made.replace(destination)
    return load_set(destination)


def _records(source: Path, pattern: str) -> Iterator[dict[str, Any]]:
    paths = sorted(source.glob(pattern))
    if not paths:
        message = f"no {pattern} in {str(source)!r}"
        raise UsageError(message)
    for path in paths:
        yield from _json_lines(path)


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    return (record for _, record in read_records(path))


def _existing(path: Path) -> Path:
    if not path.exists():
        message = f"{str(path)!r} is missing"
        raise UsageError(message)
    return path


def _folder_files(folder: Path) -> Iterable[SourceFile]:
    if (folder / ".git").exists():
        head = read_head(folder / ".git")
        yield from read_commit(head.common_directory, head.commit)
        return
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield SourceFile(path.relative_to(folder).as_posix(), path.read_bytes())


def _manifest(destination: Path, kind: str, licences: Mapping[str, str]) -> dict[str, object]:
    repositories = [{"repo": name, "license": licences[name]} for name in sorted(licences)]
    return {"name": destination.name, "kind": kind, "repos": repositories}


def main(words: Sequence[str] | None = None) -> None:
    """Import the set that the words of the command line name."""
    parser = argparse.ArgumentParser(
        "python -m evaluation.importers", description="Import a retrieval set of a public format."
    )
    parser.add_argument("format", choices=sorted(IMPORTERS))
    parser.add_argument("source", type=Path, help="folder of the original files")
    parser.add_argument("destination", type=Path, help="a new folder")
    parser.add_argument("--licence", default="unknown", help="of what is imported, for results")
    given = parser.parse_args(words)
    try:
        imported = import_set(given.format, given.source, given.destination, licence=given.licence)
    except CodelakeError as error:
        parser.error(str(error))
    sys.stdout.write(f"{imported.name}: {len(imported.questions)} questions\n")


if __name__ == "__main__":
    main()
