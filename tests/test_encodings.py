from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.encodings import decode, file_offsets
from tests.strategies import encodings, texts


@pytest.mark.parametrize(
    ("content", "encoding", "mark"),
    [
        (b"x = 1\n", "utf-8", 0),
        ("größe".encode("utf-8-sig"), "utf-8", 3),
        ("größe".encode("utf-16"), "utf-16-le", 2),
        (b"\xfe\xff" + "größe".encode("utf-16-be"), "utf-16-be", 2),
        ("größe".encode("utf-32"), "utf-32-le", 4),
        ("plain ascii text".encode("utf-16-le"), "utf-16-le", 0),
        ("# -*- coding: latin-1 -*-\n# é\n".encode("latin-1"), "iso-8859-1", 0),
        ("#!/usr/bin/ruby\n# encoding: cp1251\n# д\n".encode("cp1251"), "cp1251", 0),
        ("# vim: set fileencoding=koi8-r :\n# д\n".encode("koi8-r"), "koi8-r", 0),
        (b'<?xml version="1.0" encoding="ISO-8859-15"?><a>\xa4</a>', "iso-8859-15", 0),
        ("// für Größen\n".encode("cp1252"), "cp1252", 0),
        ("// Привет мир, это комментарий\n".encode("koi8-r"), "koi8-r", 0),
        ("// これは日本語のコメントです。関数の説明\n".encode("cp932"), "cp932", 0),
        ("// zażółć gęślą jaźń, łódź\n".encode("cp1250"), "cp1250", 0),
        (b"# coding: nonsense-9\n# \xe9t\xe9\n", "cp1252", 0),
        (b"# coding: rot13\n# \xe9t\xe9\n", "cp1252", 0),
        (b"// \x81 stray\n", "iso-8859-1", 0),
    ],
)  # fmt: skip
def test_encoding_is_found(content: bytes, encoding: str, mark: int) -> None:
    decoded = decode(content)
    assert (decoded.encoding, decoded.bom_bytes, decoded.is_binary) == (encoding, mark, False)
    assert content[mark:].decode(encoding) == decoded.text
    assert 0 < decoded.confidence <= 1


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\x00\x01" + bytes(range(200)),
        b"\x7fELF\x02\x01\x01" + bytes(100),
        bytes(range(256)) * 4,
        b"\x00\x01\x02\x03",
        b"PK\x03\x04" + b"\x00\x14data" * 9,
    ],
    ids=["png", "elf", "every byte", "controls", "zip"],
)
def test_binary_is_refused(content: bytes) -> None:
    assert decode(content).is_binary


def test_one_nul_in_a_source_is_no_reason_to_refuse_it() -> None:
    decoded = decode(b'return parts.join("\x00");\n')
    assert (decoded.is_binary, decoded.text) == (False, 'return parts.join("\0");\n')


def test_html_names_its_own_encoding() -> None:
    page = '<meta charset="windows-1250"><p>\u0159</p>'.encode("cp1250")
    assert decode(page, "html").encoding == "cp1250"


@given(content=st.binary(max_size=300))
def test_any_bytes_decode_reversibly_or_are_binary(content: bytes) -> None:
    decoded = decode(content)
    if not decoded.is_binary:
        assert content[decoded.bom_bytes :].decode(decoded.encoding) == decoded.text


@given(text=texts, encoding=encodings)
def test_offsets_of_the_text_are_found_in_the_file(text: str, encoding: str) -> None:
    raw = text.encode(encoding, "replace")
    decoded = decode(raw)
    if decoded.is_binary:
        return
    data = decoded.text.encode()
    borders = [len(decoded.text[:i].encode()) for i in range(len(decoded.text) + 1)]
    found = file_offsets(data, np.array(borders), decoded.encoding, decoded.bom_bytes).tolist()
    assert found[0] == decoded.bom_bytes
    if decoded.text.encode(decoded.encoding) == raw[decoded.bom_bytes :]:
        slices = [raw[a:b].decode(decoded.encoding) for a, b in pairwise(found)]
        assert slices == list(decoded.text)
