"""Secrets are masked without moving anything, and ordinary code stays as it is."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelake.secrets import find_suspects, mask

# Put together here, so that no scanner takes this file for a leak.
_RANDOM = "0123456789abcdefghijABCDEFGHIJ456789"
_KEY = "RSA PRIV" + "ATE KEY-----"
_PEM = f"-----BEGIN {_KEY}\nMIIBOgIBAAJBAKjExampleOnlyNotARealKey\n-----END {_KEY}"
_ENCRYPTED = _PEM.replace("\nMII", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,D54228\n\nMII")

SECRETS = {
    "aws-access-key": "AKIA" + "QZ7EXAMPLEKEY234",
    "github-token": "ghp_" + _RANDOM,
    "gitlab-token": "glpat-" + _RANDOM[:20],
    "slack-token": "xoxb-" + "123456789012-abcdef",
    "stripe-key": "sk_live_" + _RANDOM[:24],
    "google-key": "AIza" + _RANDOM[:35],
    "openai-key": "sk-proj-" + _RANDOM,
    "voyage-key": "pa-" + _RANDOM + _RANDOM,
    "json-web-token": f"eyJ{_RANDOM}.eyJ{_RANDOM}.{_RANDOM}",
    "npm-token": "npm_" + _RANDOM,
    "pypi-token": "pypi-AgE" + _RANDOM * 2,
    "huggingface-token": "hf_" + _RANDOM,
    "sendgrid-key": f"SG.{_RANDOM[:22]}.{(_RANDOM * 2)[:43]}",
    "private-key": _PEM,
    "digitalocean-token": "dop_v1_" + "0123456789abcdef" * 4,
    "openrouter-key": "sk-or-v1-" + "0123456789abcdef" * 4,
    "jina-key": "jina_" + _RANDOM * 2,
    "groq-key": "gsk_" + _RANDOM + _RANDOM[:16],
    "xai-key": "xai-" + _RANDOM * 2,
    "perplexity-key": "pplx-" + _RANDOM + _RANDOM[:12],
    "replicate-token": "r8_" + _RANDOM + "a",
    "pinecone-key": "pcsk_" + _RANDOM * 2,
    "databricks-token": "dapi" + "0123456789abcdef" * 2,
    "newrelic-key": "NRAK-" + _RANDOM.upper()[:27],
    "shopify-token": "shpat_" + "0123456789abcdef" * 2,
    "atlassian-token": "ATATT3" + _RANDOM * 2,
    "vault-token": "hvs." + _RANDOM,
    "doppler-token": "dp.pt." + _RANDOM + "abcdef",
    "linear-key": "lin_api_" + _RANDOM + "abcdef",
    "sentry-token": "sntrys_" + _RANDOM * 2,
    "figma-token": "figd_" + _RANDOM + "abcdef",
    "postman-key": "PMAK-0123456789abcdef01234567-" + "0123456789abcdef0" * 2,
}
PLACES = ["{}", 'key = "{}"', "# {}\nnext = 1\n", "f('{}', 2)", "é {} 🚀\r\n"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", SECRETS)
def test_a_known_form_is_masked_wherever_it_stands(kind: str, place: str) -> None:
    text = place.format(SECRETS[kind])
    masked, kinds = mask(text, "src/a.py")
    assert [kind] == kinds
    assert SECRETS[kind] not in masked
    assert "REDACTED" in masked


@pytest.mark.parametrize(
    ("text", "masked", "path"),
    [
        ('password: str = "tr0ub4dor&3"', 'password: str = "REDACTED___"', "a.py"),
        ("{'db_password': 'xK9#mm2$pq'}", "{'db_password': 'REDACTED__'}", "a.js"),
        ("define('DB_PASSWORD', 'xK9#mm2$pq');", "define('DB_PASSWORD', 'REDACTED__');", "a.php"),
        ('apiKey := "9f8e7d6c5b4a39281706"', 'apiKey := "REDACTED____________"', "a.go"),
        (":secret => 'a8f5f167f44f4964e6c9'", ":secret => 'REDACTED____________'", "a.rb"),
        ("<password>tr0ub4dor&3</password>", "<password>REDACTED___</password>", "a.xml"),
        ("  password: tr0ub4dor&3\n", "  password: REDACTED___\n", "a.yml"),
        ("export API_TOKEN=9f8e7d6c5b4a3928\n", "export API_TOKEN=REDACTED________\n", "a.sh"),
        ("db = postgres://svc:s3cr3t9x@db/x", "db = postgres://svc:REDACTED@db/x", "a.txt"),
        (f"k = '{_ENCRYPTED}'\nx = 1", None, "a.py"),
        (_PEM.replace("\n", "\\n"), None, "a.json"),
        ('password = "abcd!efg\\"h"', 'password = "REDACTED\\"h"', "a.py"),
    ],
)
def test_a_value_given_to_a_secret_name_is_masked(text: str, masked: str | None, path: str) -> None:
    found, kinds = mask(text, path)
    assert kinds
    assert found == (masked or found)
    assert "MIIBOg" not in found


@pytest.mark.parametrize(
    "text",
    [
        'TIMEOUT = int(os.environ.get("TIMEOUT", "30"))',
        'commit = "d670460b4b4aece5915caf5c68d12f560a9fe3e4"',
        'id = "550e8400-e29b-41d4-a716-446655440000"',
        '"integrity": "sha512-4Q0Hs5g0nGb3xkTg5S7mZ4V0h2A1c8H1s7a2b0q3w9u6x5y4"',
        'token = "access_token"',
        'TOKEN_URL = "https://auth.internal.net/v1/token"',
        'password = "your-password-here"',
        'password = "${DB_PASSWORD}"',
        'api_key = os.environ["API_KEY_2"]',
        'if "-----BEGIN RSA ' + 'PRIVATE KEY-----" in text:\n    return key_bytes',
        'publicKeyToken="1fc8b3b9a1e18e3b"',
        'encryptionKey: "arn:aws:kms:us-west-2:123456789012:alias/aws/s3"',
        "url = 'https://user:{}@host'.format(x)",
        'class = "task-spinner-animation-very-long-name-indeed"',
        'kind: Secret\nsecretName: "my-secret-v2"',
        'data = "AGFzbQEAAAABJwdgAX8Bf2ADf39AACCAAAAAAAAAAAAAAAAAAAAAAAAA"',
    ],
)
def test_ordinary_code_stays_as_it_is(text: str) -> None:
    assert (text, []) == mask(text, "src/a.yml")


def test_unquoted_values_are_looked_for_in_configuration_only() -> None:
    text = "password = read9from&keyboard\n"
    assert mask(text, "a.ini")[1] == ["password"]
    assert mask(text, "a.py")[1] == []


_LINES = st.lists(
    st.one_of(
        st.sampled_from(list(SECRETS.values())),
        st.sampled_from(
            [
                "password = '",
                '"token": "',
                "\n",
                "\r\n",
                "'",
                '"',
                "\\",
                "é",
                "İ",
                "🚀",
                "://a:",
                "\x0b",
                "\xa0",
                "ö",
                ": Größe = ",
                "@b",
            ]
        ),
        st.text(max_size=12),
    ),
    max_size=12,
).map("".join)


@given(_LINES, st.sampled_from(["a.py", "b.yml"]))
def test_masking_moves_nothing_and_is_done_once(text: str, path: str) -> None:
    masked, kinds = mask(text, path)
    assert [len(line) for line in text.splitlines()] == [len(x) for x in masked.splitlines()]
    assert len(text.encode("utf-8", "replace")) == len(masked.encode("utf-8", "replace"))
    assert bool(kinds) == (masked != text)
    assert (masked, []) == mask(masked, path)


@given(st.lists(_LINES, min_size=1, max_size=4), st.sampled_from(["a.py", "b.yml"]))
def test_a_file_that_is_no_suspect_holds_no_secret(texts: list[str], path: str) -> None:
    contents = pa.array([text.encode("utf-8", "replace") for text in texts], pa.large_binary())
    suspects = find_suspects(contents, pa.array([path] * len(texts)))
    for text, is_suspect in zip(texts, suspects, strict=True):
        assert is_suspect or not mask(text.encode("utf-8", "replace").decode(), path)[1]


def test_an_encoding_that_hides_ascii_is_suspect() -> None:
    text = f"key = {SECRETS['github-token']}"
    contents = pa.array([text.encode("utf-16"), b"key = 1"], pa.large_binary())
    assert find_suspects(contents, pa.array(["a.py", "b.py"])) == [True, False]


@pytest.mark.parametrize(
    "unit",
    ["sk-", "pa-", "eyJ", "eyJ.", "token", "PASSWORD", "api_key", "token=", "'", "password: ", "A"],
)
@pytest.mark.parametrize("path", ["a.py", "a.yaml"])
def test_no_text_makes_masking_run_for_ever(unit: str, path: str) -> None:
    for head in ("", "-----BEGIN RSA PRIVATE KEY-----\n"):
        text = head + unit * (100_000 // len(unit))
        assert len(mask(text, path)[0]) == len(text)
