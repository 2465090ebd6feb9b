"""Paths: every name git allows survives the way into the store and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.paths import display_path, path_from_bytes, path_to_bytes

# Bytes as they come, and characters of the range the escapes use.
NAMES = st.one_of(
    st.binary(max_size=40),
    st.lists(
        st.sampled_from([b"a/", b"\xe9", b"\xf4\x8f\xbe\x80", b"\xf4\x8f\xbf\xbf", b"\xed\xb3\xa9"])
    ).map(b"".join),
)


@given(NAMES)
def test_every_name_comes_back(name: bytes) -> None:
    assert name == path_to_bytes(path_from_bytes(name))


@given(NAMES)
def test_every_path_can_be_stored_as_utf8(name: bytes) -> None:
    path = path_from_bytes(name)
    assert path == path.encode("utf-8").decode("utf-8")


@given(NAMES, NAMES)
def test_two_names_never_share_a_path(one: bytes, two: bytes) -> None:
    assert (one == two) == (path_from_bytes(one) == path_from_bytes(two))


def test_names_in_utf8_are_kept_as_they_are() -> None:
    for text in ("plain.py", "café/naïve.py", "cafe\u0301.py", "тест.py", "🚀.py", "new\nline.py"):
        assert text == path_from_bytes(text.encode())


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"latin_caf\xe9.py", "latin_caf\\xe9.py"),
        (b"new\nline.py", "new\\nline.py"),
        (b"back\\slash.py", "back\\\\slash.py"),
        ("a\u202eyp.exe".encode(), "a\\u202eyp.exe"),
        (b"\x1b[31mred.py", "\\x1b[31mred.py"),
        ("café 🚀.py".encode(), "café 🚀.py"),
    ],
)
def test_a_shown_path_hides_nothing(name: bytes, shown: str) -> None:
    assert shown == display_path(path_from_bytes(name))
