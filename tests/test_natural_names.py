import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.natural_names import natural_name


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("JSONResponseParser", "json response parser"),
        ("parseURLs", "parse urls"),
        ("XMLHttpRequest", "xml http request"),
        ("utf8Decode", "utf8 decode"),
        ("Base64URL", "base64 url"),
        ("SHA256Hash", "sha256 hash"),
        ("i18nText", "i18n text"),
        ("k8s_client", "k8s client"),
        ("x86_64", "x86 64"),
        ("2FA", "2 fa"),
        ("snake_case_name", "snake case name"),
        ("kebab-case", "kebab case"),
        ("SCREAMING_CASE", "screaming case"),
        ("a.b::c/d", "a b c d"),
        ("_private", "private"),
        ("__init__", "init"),
        ("getX", "get x"),
        ("größeÄndern", "größe ändern"),
        ("ÉcoleID", "école id"),
        ("日本語", "日本語"),
        ("नमस्तेName", "नमस्ते name"),
        ("==", ""),
        ("", ""),
    ],
)
def test_identifier_splits_into_words(identifier: str, words: str) -> None:
    assert natural_name(identifier) == words


@given(st.text(max_size=40))
def test_no_letter_is_lost(text: str) -> None:
    kept = [c for c in text if c.isalpha() or c.isdecimal()]
    assert "".join(kept).lower() == "".join(
        c for c in natural_name(text) if c.isalpha() or c.isdecimal()
    )


@given(st.lists(st.sampled_from(["parse", "url", "file", "name"]), min_size=1, max_size=5))
def test_spelling_does_not_matter(words: list[str]) -> None:
    spellings = ["_".join(words), "-".join(words), "".join(w.title() for w in words)]
    assert {natural_name(s) for s in spellings} == {" ".join(words)}
