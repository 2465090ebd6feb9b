"""Case 25: what a service may do wrong, and what is stored all the same."""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codelake.embedding import embed_texts
from codelake.errors import EmbeddingError
from resources.embedders.pacing import ATTEMPTS
from resources.embedders.providers import Answer, Kind, Limits, ProviderError
from resources.embedders.remote import RemoteEmbedder
from resources.embedders.sending import Clock, Service

CASE = Path(__file__).parents[2] / "shared" / "cases" / "25-provider-faults"

if not CASE.is_dir():
    pytest.skip("the shared cases are not beside this checkout", allow_module_level=True)

sys.path.insert(0, str(CASE))
import faulty_provider  # noqa: E402 # the case is a folder beside the checkout

sys.path.remove(str(CASE))
CHECKS = json.loads((CASE / "expected.md").read_text("utf-8").split("```json")[1].split("```")[0])
TEXTS = [f"t{i} " + "x" * 297 for i in range(10)]


class CaseProvider:
    """The case's service behind the project's interface."""

    name = "case 25"
    # Its limits in characters, at two bytes a token.
    limits = Limits(text_tokens=750, batch_tokens=2000, batch_texts=4)

    def __init__(self, script: Sequence[str]) -> None:
        self.faulty = faulty_provider.FaultyProvider(script)

    def request(self, texts: Sequence[str], kind: Kind) -> Answer:
        assert kind == "document"
        try:
            items = self.faulty.embed(list(texts))
        except faulty_provider.HttpError as error:
            raise ProviderError(
                str(error), status=error.status, retry_after=error.retry_after
            ) from None
        except TimeoutError as error:
            raise ProviderError(str(error)) from None
        return Answer([(i["index"], np.array(i["embedding"], dtype=np.float32)) for i in items])

    def close(self) -> None:
        """Nothing is open."""


class Run:
    """One run of the pipeline's loop: embed what is not stored, keep what comes."""

    def __init__(self, script: Sequence[str], texts: Sequence[str] = TEXTS) -> None:
        self.provider = CaseProvider(script)
        self.texts = list(texts)
        self.stored: dict[str, list[float]] = {}
        self.failures: dict[str, str] = {}
        self.truncated: list[str] = []
        self.slept: list[float] = []
        self.error = ""
        self.time = 0.0

    def go(self) -> "Run":
        for _ in self.slices():
            pass
        return self

    def slices(self) -> Iterator[int]:
        self.failures, self.error = {}, ""
        clock = Clock(lambda: self.time, self._sleep)
        noise = random.Random(25)  # noqa: S311 # the same waits every time
        service = Service(self.provider, width=1, clock=clock, noise=noise)
        embedder = RemoteEmbedder(service, "case-8", is_remote=True, known_dimension=8)
        pending = [(text, text) for text in self.texts if text not in self.stored]
        try:
            for part in embed_texts(pending, embedder):
                rows = part.table.to_pylist()
                self.stored |= {row["text_hash"]: row["vector"] for row in rows}
                self.failures |= part.failures
                self.truncated += part.truncated
                yield len(rows)
        except EmbeddingError as error:
            self.error = str(error)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    @property
    def requests(self) -> list[list[str]]:
        return self.provider.faulty.requests

    def sent(self) -> Counter[str]:
        return Counter(text for request in self.requests for text in request)

    def check_stored(self, texts: Sequence[str]) -> None:
        """Assert that exactly ``texts`` have vectors and that they are their own."""
        assert sorted(self.stored) == sorted(texts)
        for text in texts:
            wanted = faulty_provider.FaultyProvider.vector(text)
            np.testing.assert_allclose(self.stored[text], wanted, atol=1e-3)


def test_the_table_has_the_rows_that_are_tested_here() -> None:
    scripts: list[Any] = CHECKS["scripts"]
    assert [s[0] for s in scripts] == [
        *("ok", "429", "429", "401", "500", "ok", "ok"),
        *("shuffle", "short", "wrongdim", "nan", "ok", "ok"),
    ]
    assert CHECKS["invariants"] == ["G9"]


def test_row_1_all_goes_well() -> None:
    run = Run(CHECKS["scripts"][0]).go()
    run.check_stored(TEXTS)
    assert max(map(len, run.requests)) <= 4
    assert not run.failures


def test_row_2_a_rate_limit_is_waited_for() -> None:
    run = Run(CHECKS["scripts"][1]).go()
    assert sum(run.slept) >= 7
    run.check_stored(TEXTS)
    assert run.sent() == Counter(TEXTS) + Counter(TEXTS[:4])


def test_row_3_a_service_that_is_always_full_ends_the_run_and_the_next_sends_the_rest() -> None:
    script: list[str] = CHECKS["scripts"][2]
    run = Run(["ok", *script]).go()
    run.check_stored(TEXTS[:4])
    assert max(run.sent().values()) == ATTEMPTS
    assert sorted(run.failures) == sorted(TEXTS[4:])
    run.provider = CaseProvider(["ok"])
    run.go().check_stored(TEXTS)
    assert run.sent() == Counter(TEXTS[4:])


def test_row_3_three_requests_lost_in_a_row_end_the_run() -> None:
    run = Run(CHECKS["scripts"][2]).go()
    assert not run.stored
    assert "case 25 does not answer: HTTP 429" in run.error
    assert len(run.requests) == 3 * ATTEMPTS


def test_row_4_a_wrong_key_is_not_tried_again() -> None:
    run = Run(CHECKS["scripts"][3]).go()
    assert len(run.requests) == 1
    assert "case 25 refuses every request: HTTP 401" in run.error
    assert not run.stored


def test_row_5_waits_grow_until_it_goes_well() -> None:
    run = Run(CHECKS["scripts"][4], TEXTS[:4]).go()
    run.check_stored(TEXTS[:4])
    assert len(run.slept) == 2
    assert run.slept[0] < run.slept[1]


def test_row_6_a_text_over_the_limit_is_cut_and_marked() -> None:
    long = "t5 " + "y" * 4997
    texts = [*TEXTS[:5], long, *TEXTS[6:]]
    run = Run(CHECKS["scripts"][5], texts).go()
    assert sorted(run.stored) == sorted(texts)
    assert run.truncated == [long]
    assert max(len(text) for text in run.sent()) <= 1500
    assert len(run.requests) == len({tuple(request) for request in run.requests})


def test_row_7_requests_are_limited_by_size_too() -> None:
    texts = [f"t{i} " + "z" * 1397 for i in range(10)]
    run = Run(CHECKS["scripts"][6], texts).go()
    run.check_stored(texts)
    assert run.sent() == Counter(texts)  # none refused, none sent again


def test_row_8_vectors_are_matched_by_index() -> None:
    Run(CHECKS["scripts"][7]).go().check_stored(TEXTS)


def test_row_9_a_missing_vector_shifts_nothing() -> None:
    run = Run(CHECKS["scripts"][8]).go()
    run.check_stored(TEXTS)
    assert run.sent()[TEXTS[3]] == 2


def test_row_10_a_wrong_dimension_is_reported_not_stored() -> None:
    run = Run(CHECKS["scripts"][9]).go()
    run.check_stored(TEXTS[1:])
    assert run.failures == {TEXTS[0]: "wrong dimension: 7 numbers instead of 8"}


def test_row_11_nan_and_zero_are_asked_again() -> None:
    run = Run(CHECKS["scripts"][10]).go()
    run.check_stored(TEXTS)


def test_row_11_and_reported_when_they_stay() -> None:
    run = Run(["nan", "nan", "nan", "zero", "zero", "zero"], TEXTS[:1]).go()
    assert "not finite" in run.failures[TEXTS[0]]
    assert not run.stored
    run.go()
    assert "all zero" in run.failures[TEXTS[0]]
    assert not run.stored
    run.go().check_stored(TEXTS[:1])


def test_row_12_blank_texts_are_never_sent() -> None:
    run = Run(CHECKS["scripts"][11], [*TEXTS, "", "  \n"]).go()
    run.check_stored(TEXTS)
    assert sorted(run.failures) == ["", "  \n"]
    assert run.sent() == Counter(TEXTS)


def test_row_13_a_killed_run_repeats_nothing_it_stored() -> None:
    run = Run(CHECKS["scripts"][12])
    slices = run.slices()
    assert [next(slices), next(slices)] == [4, 4]
    slices.close()  # type: ignore[attr-defined] # the generator of Run.slices
    run.provider = CaseProvider(["ok"])
    run.go().check_stored(TEXTS)
    assert run.sent() == Counter(TEXTS[8:])


@pytest.mark.parametrize("script", CHECKS["scripts"], ids=lambda s: "-".join(s[:3]))
def test_requested_is_stored_and_missing_together(script: list[str]) -> None:
    run = Run(script).go()
    missing = set(TEXTS) - set(run.stored)
    assert set(run.failures) <= missing
    if not run.error:
        assert set(run.failures) == missing
