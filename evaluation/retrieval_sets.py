"""Retrieval sets: questions with the lines that answer them, over snapshots of repositories.

A set is a folder, see docs/evaluation.md: ``queries.jsonl``, ``manifest.json`` and in ``repos/`` a
``.tar.xz`` a repository, or a git bundle where each question has a snapshot of its own.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from codelake.errors import UsageError
from codelake.languages import detect_language

_HASH_BYTES: Final = 16
_QUERIES: Final = "queries.jsonl"
_MANIFEST: Final = "manifest.json"
_UNKNOWN_LICENCE: Final = "unknown"


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """Lines that answer a question, 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its answer.

    Args:
        question_id: unique in its set.
        text: what is asked, given to the retriever whole.
        repository: whose snapshot is searched.
        ref: which snapshot, where the repository has several; else empty.
        gold: the lines that answer it, never empty.
        language: language of the answer.
    """

    question_id: str
    text: str
    repository: str
    gold: tuple[GoldSpan, ...]
    ref: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """A set as it was loaded.

    Args:
        name: what was asked for, with the key of the gold if it is not ``gold``.
        folder: where its files are.
        questions: in file order.
        content_hash: of every byte of the set; stands in each result.
        licences: by repository.
        include: globs of the files that are searched; empty means every file.
    """

    name: str
    folder: Path
    questions: tuple[Question, ...]
    content_hash: str
    licences: Mapping[str, str]
    include: tuple[str, ...] = ()

    @property
    def snapshots(self) -> dict[tuple[str, str], list[Question]]:
        """Return the questions by repository and ref, in file order."""
        found: dict[tuple[str, str], list[Question]] = {}
        for question in self.questions:
            found.setdefault((question.repository, question.ref), []).append(question)
        return found


def load_set(folder: Path, *, gold: str = "gold", sample: int = 0) -> RetrievalSet:
    """Load the set in ``folder``.

    Args:
        folder: has ``queries.jsonl`` and ``repos/``.
        gold: key of the spans that count as the answer.
        sample: questions a repository that are kept, evenly spread; 0 keeps all.

    Raises:
        UsageError: no such set, no question in it, two of one id, or a line that is none; the
            message says which.
    """
    queries = folder / _QUERIES
    if not queries.is_file():
        message = f"no retrieval set in {str(folder)!r}: {_QUERIES} is missing"
        raise UsageError(message)
    traits = set_traits(folder)
    only = traits.get("only")
    questions = [
        _question(where, record, gold)
        for where, record in read_records(queries)
        if not only or record.get(str(only))
    ]
    _check(queries, questions)
    name = folder.name if gold == "gold" else f"{folder.name}:{gold}"
    return RetrievalSet(
        name=name if not sample else f"{name}@{sample}",
        folder=folder,
        questions=tuple(_spread(questions, sample) if sample else questions),
        content_hash=hash_folder(folder),
        licences=_licences(folder),
        include=tuple(str(glob) for glob in traits.get("include", ())),
    )


def find_sets(root: Path) -> list[str]:
    """Return the names of the sets below ``root``, sorted."""
    return sorted(path.parent.name for path in root.glob(f"*/{_QUERIES}"))


def open_set(root: Path, specification: str) -> RetrievalSet:
    """Load ``name``, ``name:gold_key``, ``name@sample`` or ``name:gold_key@sample``.

    Raises:
        UsageError: no such set below ``root`` and no such folder, or a bad sample size.
    """
    place, _, sample = specification.partition("@")
    name, _, gold = place.partition(":")
    if sample and not (sample.isdecimal() and int(sample)):
        message = f"the sample of {specification!r} is {sample!r}; give a number above 0"
        raise UsageError(message)
    folder = root / name if (root / name).is_dir() else Path(name)
    if not folder.is_dir():
        known = ", ".join(find_sets(root)) or "none"
        message = f"unknown retrieval set {name!r}; below {str(root)!r} there are: {known}"
        raise UsageError(message)
    return load_set(folder, gold=gold or "gold", sample=int(sample or 0))


def set_traits(folder: Path) -> dict[str, Any]:
    """Return what sets.toml, and above it the manifest, say about reading the set."""
    known = tomllib.loads(resources.files(__package__).joinpath("sets.toml").read_text("utf-8"))
    manifest = _manifest(folder)
    own = {key: manifest[key] for key in ("include", "only") if key in manifest}
    return {**known.get(folder.name, {}), **own}


def hash_folder(folder: Path) -> str:
    """Return 32 hex digits over name and bytes of every file of a set."""
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(hashlib.blake2b(path.read_bytes()).digest())
    return digest.hexdigest()


def write_set(
    folder: Path, questions: Iterable[Question], manifest: Mapping[str, object]
) -> RetrievalSet:
    """Write queries and manifest into ``folder``, whose ``repos/`` is there, and load the set."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(_as_record(q), ensure_ascii=False) + "\n" for q in questions)
    (folder / _QUERIES).write_text(text, "utf-8")
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", "utf-8")
    return load_set(folder)


def _as_record(question: Question) -> dict[str, object]:
    gold = [
        {"path": span.path, "start_line": span.start_line, "end_line": span.end_line}
        for span in question.gold
    ]
    record: dict[str, object] = {
        "query_id": question.question_id,
        "query": question.text,
        "repo": question.repository,
        "gold": gold,
        "language": question.language,
    }
    return {**record, "ref": question.ref} if question.ref else record


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, each with words that say where it is.

    Raises:
        UsageError: a line is no JSON object.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            where = f"{path}, line {number}"
            if line.strip():
                yield where, _object(where, line)


def _object(where: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{where}: not JSON: {error}"
        raise UsageError(message) from error
    if not isinstance(found, dict):
        message = f"{where}: an object was expected"
        raise UsageError(message)
    return found


def _question(where: str, record: dict[str, Any], key: str) -> Question:
    missing = [name for name in ("query_id", "query", "repo", key) if not record.get(name)]
    if missing:
        message = f"{where}: {', '.join(missing)} missing or empty"
        raise UsageError(message)
    gold = tuple(_span(where, span) for span in record[key])
    return Question(
        question_id=str(record["query_id"]),
        text=str(record["query"]),
        repository=str(record["repo"]),
        gold=gold,
        ref=record.get("ref", ""),
        language=record.get("language") or detect_language(gold[0].path),
    )


def _span(where: str, value: object) -> GoldSpan:
    match value:
        case {"path": str(path), "start_line": int(first), "end_line": int(last)} if first > 0:
            return GoldSpan(path, first, last)
    message = f"{where}: the gold {value!r} needs path, start_line and end_line, counted from 1"
    raise UsageError(message)


def _check(queries: Path, questions: Sequence[Question]) -> None:
    if not questions:
        message = f"{str(queries)!r} has no question"
        raise UsageError(message)
    seen: set[str] = set()
    for question in questions:
        if question.question_id in seen:
            message = f"{str(queries)!r} has two questions with the id {question.question_id!r}"
            raise UsageError(message)
        seen.add(question.question_id)


def _spread(questions: list[Question], sample: int) -> list[Question]:
    """Keep ``sample`` questions of each repository at even distances, in file order."""
    places: dict[str, list[int]] = {}
    for index, question in enumerate(questions):
        places.setdefault(question.repository, []).append(index)
    kept: set[int] = set()
    for own in places.values():
        count = min(sample, len(own))
        kept.update(own[i * len(own) // count] for i in range(count))
    return [questions[index] for index in sorted(kept)]


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    return _object(str(path), path.read_text("utf-8")) if path.is_file() else {}


def _licences(folder: Path) -> dict[str, str]:
    repositories = _manifest(folder).get("repos", [])
    return {str(r["repo"]): str(r.get("license", _UNKNOWN_LICENCE)) for r in repositories}
