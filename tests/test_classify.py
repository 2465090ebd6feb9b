"""What a file is by its path and content."""

import pytest

from codelake.classify import (
    content_flags,
    content_skip_reason,
    is_secret_file,
    path_flags,
    path_skip_reason,
    size_skip_reason,
)
from codelake.schemas import SKIP_REASONS

_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 5012345\n" % (
    b"b2f4" * 16
)
_KEY = b"-----BEGIN RSA PRIV" + b"ATE KEY-----\nMIIB\n"


@pytest.mark.parametrize(
    "path",
    [
        "tests/app.py",
        "src/test/java/App.java",
        "pkg/test_app.py",
        "pkg/app_test.go",
        "web/app.spec.ts",
        "web/__tests__/app.js",
        "src/LoginTest.java",
        "src/LoginTests.cs",
        "Tests/LoginTest.swift",
        "spec/models/user_spec.rb",
        "conftest.py",
    ],
)
def test_a_test_is_a_test(path: str) -> None:
    assert path_flags(path).is_test


@pytest.mark.parametrize(
    "path",
    [
        "src/latest.py",
        "src/Contest.java",
        "src/Testimonial.java",
        "src/attestation.go",
        "src/fastest_path.py",
        "protest/app.py",
        "src/Latest.swift",
        "src/inspect.rb",
        "contests/app.py",
    ],
)
def test_a_word_that_only_contains_test_is_none(path: str) -> None:
    assert not path_flags(path).is_test


@pytest.mark.parametrize(
    ("path", "flag"),
    [
        ("vendor/github.com/x/y.go", "is_vendored"),
        ("web/node_modules/x/index.js", "is_vendored"),
        ("web/js/jquery-3.1.js", "is_vendored"),
        ("m4/libtool.m4", "is_vendored"),
        ("static/leaflet-src.js", "is_vendored"),
        ("docs/index.md", "is_documentation"),
        ("README", "is_documentation"),
        ("api/service_pb2.py", "is_generated"),
        ("k8s/zz_generated.deepcopy.go", "is_generated"),
        ("package-lock.json", "is_generated"),
        ("web/app.min.js", "is_generated"),
    ],
)
def test_a_path_tells_what_a_file_is(path: str, flag: str) -> None:
    assert getattr(path_flags(path), flag)


@pytest.mark.parametrize("path", ["vendor.py", "requirements.txt", "CMakeLists.txt", "src/docs.py"])
def test_a_path_that_only_looks_like_one_is_none(path: str) -> None:
    flags = path_flags(path)
    assert not flags.is_vendored
    assert not flags.is_documentation


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".env", "secret-file"),
        ("deploy/.env.production", "secret-file"),
        ("deploy/.env.example", ""),
        ("config/deploy_key.pem", "secret-file"),
        ("home/.ssh/work", "secret-file"),
        ("home/.ssh/work.pub", ""),
        ("home/.aws/credentials", "secret-file"),
        ("environment.py", ""),
        ("Cargo.lock", "lock-file"),
        ("web/yarn.lock", "lock-file"),
        ("src/lock.py", ""),
        ("web/app.min.js", "minified"),
        ("web/app.js.map", "minified"),
        ("web/admin.js", ""),
    ],
)
def test_a_path_can_be_reason_enough_to_leave_a_file_out(path: str, reason: str) -> None:
    assert reason == path_skip_reason(path)
    assert reason in {"", *SKIP_REASONS}


@pytest.mark.parametrize(
    ("path", "size", "reason"),
    [
        ("a.py", 0, "empty"),
        ("a.py", 100, ""),
        ("a.py", 101, "too-large"),
        ("a.png", 2000, "binary"),
        ("a.png", 130, "too-large"),
        ("a.png", 90, ""),
    ],
)
def test_a_size_can_be_reason_enough(path: str, size: int, reason: str) -> None:
    assert reason == size_skip_reason(path, size, 100)


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("model.onnx", _POINTER, "lfs-pointer"),
        ("model.onnx", _POINTER.replace(b"\n", b"\r\n"), "lfs-pointer"),
        ("about.md", b"# About\n\nA pointer starts with `" + _POINTER + b"`.\n", ""),
        ("pointer.py", _POINTER + b"x = 1\n", ""),
        ("blank.py", b" \n\t\n", "empty"),
        ("bom_only.py", b"\xef\xbb\xbf", "empty"),
        ("server.key.txt", _KEY, "secret-file"),
        ("keys.py", b"KEY = '''\n" + _KEY + b"'''\n", ""),
        (".npmrc", b"//registry.npmjs.org/:_authToken=abc\n", "secret-file"),
        (".npmrc", b"//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n", ""),
        (".npmrc", b"save-exact=true\n", ""),
        (
            "kube/config",
            b"apiVersion: v1\nkind: Config\nusers:\n- user:\n    token: abc\n",
            "secret-file",
        ),
        ("config", b"[core]\n\ttoken = x\n", ""),
    ],
)
def test_content_can_be_reason_enough(path: str, content: bytes, reason: str) -> None:
    assert reason == content_skip_reason(path, content)


_BUNDLE = "".join(
    f"function {'etnrio'[i % 6]}(a,b){{return a?b+{i}:{'etnrio'[(i + 1) % 6]}(b,'é{i}')}}"
    for i in range(300)
).encode()


def test_a_bundle_is_told_by_its_lines_not_its_name() -> None:
    assert content_skip_reason("public/vendor.js", _BUNDLE) == "minified"
    assert content_skip_reason("public/vendor.js", b"/*! licence */\n" + _BUNDLE) == "minified"
    assert content_flags("public/vendor.js", _BUNDLE).is_generated


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("data.js", b"export const image = '" + b"QUJD" * 2000 + b"';\n"),
        ("words.js", b"// " + b"a long comment that somebody wrote in one line " * 200 + b"\n"),
        ("cart.js", b"export function addToCart(item) {\n  return [item];\n}\n" * 200),
        ("oneline.json", b"[" + b'{"a":1,"b":[2,3]},' * 500 + b"0]"),
    ],
)
def test_long_lines_alone_are_no_bundle(path: str, content: bytes) -> None:
    assert content_skip_reason(path, content) == ""


@pytest.mark.parametrize(
    "head",
    [
        b"// Code generated by protoc-gen-go. DO NOT EDIT.\n",
        b"/*\n * Licence\n */\n\n/* This file was automatically generated by SWIG. */\n",
        b"# Generated by Django 4.2 on 2024-01-01, do not edit\n",
        b'"""Autogenerated by Thrift"""\n# autogenerated file\n',
        b"// <auto-generated>\n",
        b"/** @generated SignedSource<<x>> */\n",
    ],
)
def test_a_banner_marks_a_generated_file(head: bytes) -> None:
    assert content_flags("src/thing.code", head + b"x = 1\n").is_generated


@pytest.mark.parametrize(
    "content",
    [
        b'BANNER = "// Code generated by tool. DO NOT EDIT."\n',
        b"# This module generates code.\n",
        b"# Do not edit the file while the server runs.\n",
        b"x = 1\n" * 60 + b"# This file is generated\n",
    ],
)
def test_code_that_speaks_of_generating_is_not_generated(content: bytes) -> None:
    assert not content_flags("src/thing.py", content).is_generated


def test_the_other_flags_stay_when_content_adds_one() -> None:
    flags = content_flags("tests/test_x.py", b"# Code generated by x. DO NOT EDIT.\n")
    assert (flags.is_test, flags.is_generated) == (True, True)


def test_an_example_of_a_secret_file_is_none() -> None:
    assert is_secret_file(".env", b"")
    assert not is_secret_file(".env.example", b"DB_PASSWORD=\n")


@pytest.mark.parametrize(
    ("path", "piece", "rest"),
    [
        ("a.yaml", b"\n", b"kind: Config\n"),
        ("a.yaml", b" ", b"kind: Config\n"),
        ("a.yaml", b"kind: Config\n", b""),
        ("a.json", b'"type":"service_account"', b""),
        ("a.json", b'"private_key":', b'"type":"service_account"'),
        (".npmrc", b"_auth ", b""),
        ("a.py", b"A ", b"-----BEGIN "),
        ("a.py", b"generated by ", b"# "),
        ("a.js", b"(", b""),
    ],
)
def test_no_content_makes_the_rules_run_for_ever(path: str, piece: bytes, rest: bytes) -> None:
    content = rest + piece * (2_000_000 // len(piece)) + b"x"
    assert content_skip_reason(path, content) in {"", "minified"}
    assert content_flags(path, content) is not None


def test_an_account_file_is_told_whatever_the_order() -> None:
    key, kind = b'"private_key": "-----BEGIN x"', b'"type": "service_account"'
    for content in (key + kind, kind + key):
        assert content_skip_reason("a.json", content) == "secret-file"
    assert content_skip_reason("a.json", kind) == ""
