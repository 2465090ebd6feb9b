"""The settings of ``codelake.toml``: their names, defaults, meaning and checks.

Secrets are never settings; embedders read keys from environment variables.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from typing import Final, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from codelake.bucket_settings import BUCKET_URL, S3Settings
from codelake.errors import UsageError
from codelake.settings_problems import explain_problem
from codelake.source_settings import Section, SourceSettings

# Kinds of files that are left out if nothing else is said.
SKIPPED: Final = ("lock-file", "minified")
Kind = Literal["lock-file", "minified", "generated", "vendored", "documentation", "test"]


class FileSettings(Section):
    """Which files are read."""

    max_bytes: int = Field(2_000_000, gt=0, description="larger files are skipped, in bytes")
    include: tuple[str, ...] = Field((), description="path globs; empty means every file")
    exclude: tuple[str, ...] = Field((), description="path globs, gitignore syntax, left out")
    skip: tuple[Kind, ...] = Field(
        SKIPPED,
        description="kinds of files that are left out: lock-file, minified, generated, vendored, "
        "documentation, test; the others are flagged",
    )
    languages: dict[str, str] = Field(
        default_factory=dict,
        description="language by suffix or file name, e.g. {'.sls' = 'python'}",
    )


class ChunkSettings(Section):
    """How files are cut."""

    chunker: str = Field("cast", description="cast, ast, fixed or symbol")
    budget: int = Field(1200, ge=16, description="most non-whitespace characters of a chunk")
    overlap: int = Field(0, ge=0, description="characters repeated by the fixed chunker")
    parse_seconds: float = Field(
        20.0, gt=0, description="a file that parses longer falls back to lines, in seconds"
    )
    header: Literal["none", "scope", "path"] = Field(
        "scope",
        description="context line in front of the embedded body; with 'path' identical code "
        "in two places is embedded twice",
    )


class EmbeddingSettings(Section):
    """What turns texts into vectors."""

    embedder: str = Field("minilm", description="name of a registered embedder")
    model: str = Field(
        "", description="model name at a service, or the folder of a local one; empty: the default"
    )
    base_url: str = Field("", description="server of an OpenAI-compatible embedder")
    dimensions: int = Field(0, ge=0, description="shorter vectors where a model allows; 0: full")
    max_tokens: int = Field(0, ge=0, description="tokens of a text that are read; 0: default")
    output_type: Literal["float", "int8", "binary"] = Field(
        "float", description="form in which VoyageAI sends numbers; int8 travels in a quarter"
    )
    threads: int = Field(0, ge=0, description="threads of a local model; 0: every core")
    local_only: bool = Field(
        default=False, description="refuse every embedder that sends text to another machine"
    )
    max_cost: float = Field(0.0, ge=0, description="stop before this many US dollars; 0: no limit")


class SecretSettings(Section):
    """What happens to credentials found in code."""

    redact: bool = Field(default=True, description="mask secrets before storing or sending")


class RankingSettings(Section):
    """What ranks below what, and how many places a file may take."""

    test_weight: float = Field(
        0.6, ge=0, le=1, description="factor of the score of tests, unless tests are asked for"
    )
    generated_weight: float = Field(
        0.5, ge=0, le=1, description="factor of the score of generated code, unless asked for"
    )
    vendored_weight: float = Field(
        0.6, ge=0, le=1, description="factor of the score of vendored code, unless asked for"
    )
    documentation_weight: float = Field(
        0.8, ge=0, le=1, description="factor of the score of documentation, unless asked for"
    )
    exact_bonus: float = Field(
        1.0, ge=0, description="added where a name asked for is defined; a top score is about 1"
    )
    literal_bonus: float = Field(
        0.5, ge=0, description="added where a quoted text or error message stands word for word"
    )
    agreement_weight: float = Field(
        0.1, ge=0, description="share of the other scores added where several finds are one hit"
    )
    file_weight: float = Field(
        0.1, ge=0, description="added to a file's best hit by what its best three add up to"
    )
    hits_per_file: int = Field(
        4, gt=0, description="places a file takes before other files come first"
    )


class MultiHopSettings(Section):
    """How a search walks from hit to hit; it needs a reranker."""

    when: Literal["auto", "never"] = Field(
        "auto", description="auto: hybrid becomes multi-hop where a reranker is configured"
    )
    factor: int = Field(3, gt=0, description="first candidates per wanted result")
    first_candidates: int = Field(100, gt=0, description="most candidates of the first search")
    seeds: int = Field(5, gt=0, description="best results whose neighbours a round looks for")
    neighbours: int = Field(10, gt=0, description="neighbours looked for per seed")
    score_drop: float = Field(
        0.15, gt=0, description="end when a top score falls by this much between rounds"
    )
    seconds: float = Field(5.0, gt=0, description="end after this time, inside a round too")
    candidates: int = Field(500, gt=0, description="end at this many candidates")
    fewest: int = Field(
        5, gt=0, description="end when fewer high-scoring candidates are left to expand"
    )
    high_score: float = Field(0.3, ge=0, description="a reranking score from here on is high")
    rerank_weight: float = Field(
        0.2,
        ge=0,
        le=1,
        description="share of its hybrid score that a hit loses if its reranking score is 0; the "
        "best one loses nothing",
    )
    batch: int = Field(
        64, gt=0, description="texts reranked at once; the clock is read between batches"
    )


class RerankingSettings(Section):
    """What the chosen reranker needs to know."""

    model: str = Field(
        "", description="model name at a service, or the folder of a local ONNX cross-encoder"
    )
    base_url: str = Field("", description="server of the reranker, the address before /rerank")
    raw_scores: bool = Field(
        default=False, description="the server's scores are not between 0 and 1: llama.cpp"
    )


class SearchSettings(Section):
    """How questions are answered."""

    mode: Literal["hybrid", "vector", "text", "symbol", "regex", "multihop"] = Field(
        "hybrid", description="default search mode"
    )
    reranker: str = Field(
        "none",
        description="maxsim (local, no key), onnx, voyage, cohere, tei or none; with one, hybrid "
        "becomes multi-hop by itself",
    )
    reranking: RerankingSettings = RerankingSettings()
    results: int = Field(10, gt=0, le=1000, description="hits of an answer")
    dense_weight: float = Field(
        0.5,
        ge=0,
        le=1,
        description="share of the vector score in hybrid; the rest is words; `static` takes 0.45 "
        "where this is not set",
    )
    depth: int = Field(50, gt=0, description="rows taken from each ranking before they are fused")
    ranking: RankingSettings = RankingSettings()
    multihop: MultiHopSettings = MultiHopSettings()


class RunSettings(Section):
    """How a run uses the machine."""

    engine: Literal["local", "ray"] = Field(
        "local",
        description="where files are parsed and cut and texts embedded: local, or ray for the "
        "cluster that RAY_ADDRESS names (docs/cluster.md)",
    )
    workers: int = Field(0, ge=0, description="parser processes; 0: one a core")
    batch_files: int = Field(256, gt=0, description="files that travel together between stages")
    retries: int = Field(
        2, ge=0, description="times the sources are looked at again if no remote one can be read"
    )
    retry_seconds: float = Field(
        30.0, ge=0, description="wait before that, in seconds; doubled each time"
    )


class WatchSettings(Section):
    """How ``codelake watch`` follows what is saved."""

    quiet_seconds: float = Field(
        2.0, gt=0, description="what moved is indexed once nothing has moved for this long"
    )


class UpkeepSettings(Section):
    """What a store keeps of the past."""

    versions_hours: float = Field(
        1.0, ge=0, description="age up to which old versions of a table stay readable, in hours"
    )
    states: int = Field(
        7, gt=0, description="published states that are kept, whatever their age, to go back to"
    )
    vectors_days: float = Field(30.0, ge=0, description="days an unused vector is kept")
    mirrors_days: float = Field(
        30.0, ge=0, description="days a mirror is kept whose repository is in no source any more"
    )


class Settings(Section):
    """Everything ``codelake.toml`` may say; each section has a default."""

    store: str = Field(
        ".codelake", min_length=1, description="folder of the tables, or s3://BUCKET/PREFIX"
    )
    s3: S3Settings = S3Settings()
    sources: SourceSettings = SourceSettings()
    files: FileSettings = FileSettings()
    chunking: ChunkSettings = ChunkSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    secrets: SecretSettings = SecretSettings()
    search: SearchSettings = SearchSettings()
    run: RunSettings = RunSettings()
    watch: WatchSettings = WatchSettings()
    upkeep: UpkeepSettings = UpkeepSettings()

    @field_validator("store")
    @classmethod
    def _check_store(cls, store: str) -> str:
        if "://" in store and not BUCKET_URL.fullmatch(store):
            message = f"{store!r} is no place of a store: give a folder, or s3://BUCKET/PREFIX"
            raise ValueError(message)
        return store.rstrip("/") if store.startswith("s3://") else store


def parse_settings(text: str, *, origin: str = "codelake.toml") -> Settings:
    """Read settings from the text of a TOML file.

    Raises:
        UsageError: not TOML, an unknown key (the nearest known one is named) or a bad value.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{origin} is not valid TOML: {error}"
        raise UsageError(message) from error
    return build_settings(values, origin=origin)


def build_settings(values: Mapping[str, object], *, origin: str = "settings") -> Settings:
    """Check ``values`` and return them as settings.

    Raises:
        UsageError: an unknown key or a bad value; the message names every one.
    """
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        known = [*settings_keys(), *Settings.model_fields]
        problems = error.errors(include_url=False)
        lines = [explain_problem(dict(problem), known) for problem in problems]
        message = f"{origin}: " + "; ".join(lines)
        raise UsageError(message) from error


def merge_settings(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Return ``settings`` with dotted keys replaced, e.g. ``{"chunking.budget": 800}``.

    What was not set stays so, which some defaults go by.
    """
    values = settings.model_dump(exclude_unset=True)
    for dotted, value in changes.items():
        *parents, last = dotted.split(".")
        place = values
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return build_settings(values)


def settings_keys() -> dict[str, str]:
    """Return every dotted key with its description, in file order."""
    return dict(_walk(Settings, ""))


def _walk(section: type[BaseModel], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found += _walk(inner, f"{prefix}{name}.")
        else:
            found.append((prefix + name, field.description or ""))
    return found


_HASH_BYTES: Final = 8  # 64 bits: settings differ in a handful of ways, not in billions


def fingerprint(settings: Settings, versions: Mapping[str, str]) -> str:
    """Hash every setting and code version that decides rows, as 16 hex digits.

    The embedder is not among them: a new model changes vectors, not rows.
    """
    decisive = {
        "files": settings.files.model_dump(),
        "chunking": settings.chunking.model_dump(exclude={"parse_seconds"}),
        "secrets": settings.secrets.model_dump(),
        "versions": dict(versions),
    }
    text = json.dumps(decisive, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=_HASH_BYTES).hexdigest()
