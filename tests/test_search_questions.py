"""What is read out of a question."""

import pytest

from codelake.search.questions import read_question


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("RetryPolicy", ("RetryPolicy",)),
        ("connect", ("connect",)),
        ("where is connect defined", ("connect",)),
        ("what does `connect` do", ("connect",)),
        ("definition of the scheduler", ("scheduler",)),
        ("def open_store", ("open_store",)),
        ("std::vector::push_back", ("push_back",)),
        ("how does json.loads work", ("loads",)),
        ("sha256 of a file", ("sha256",)),
        ("$this->render()", ("render",)),
        ("get user by id", ()),
        ("how are e.g. routes registered", ()),
        ("HTTP requests over TLS", ()),
        ("unknown chunker 'casst'; choose from cast", ()),
        ("ValueError: invalid literal for int", ()),
    ],
)
def test_names_are_told_from_words(text: str, names: tuple[str, ...]) -> None:
    assert read_question(text).names == names


@pytest.mark.parametrize(
    ("text", "wants", "tests_first"),
    [
        ("latest attempt", set(), False),
        ("contest entries", set(), False),
        ("how are fixtures loaded", {"test"}, False),
        ("tests for the retry policy", {"test"}, True),
        ("integration tests", {"test"}, True),
        ("how is the cache tested", {"test"}, True),
        ("MockRetryPolicy", {"test"}, False),
        ("documentation of the retry policy", {"documentation"}, False),
        ("generated parsers in vendor", {"generated", "vendored"}, False),
    ],
)
def test_whole_words_tell_what_kind_of_code_is_wanted(
    text: str, wants: set[str], *, tests_first: bool
) -> None:
    question = read_question(text)
    assert (question.wants, question.tests_first) == (wants, tests_first)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ('"no index yet" in the log', ("no index yet", "in the log")),
        ("cannot open /etc/hosts: permission denied", ("cannot open", "permission denied")),
        ("KeyError: missing 17 of 20 columns", ("of", "columns")),
        ("how are retries handled", ()),
    ],
)
def test_pieces_of_a_message_leave_out_what_varies(text: str, pieces: tuple[str, ...]) -> None:
    found = read_question(text).pieces
    assert set(found) <= set(pieces)
    assert bool(found) == any(" " in piece and len(piece) >= 8 for piece in pieces)


def test_a_long_question_only_mentions_its_names() -> None:
    assert read_question("RetryPolicy of payments").is_about_names
    assert read_question("please tell me where in the code is parse_header defined").is_about_names
    long = "returns the handler that ServeHTTP calls when nothing else in the table matches"
    assert not read_question(long).is_about_names


def test_file_names_are_noticed() -> None:
    assert read_question("what is in src/app/main.py").files == ("src/app/main.py",)


@pytest.mark.parametrize("part", ["a", "aA", "a.", "/", "{", "'", "`", "_", "is a ", "x1"])
def test_a_question_of_any_size_is_read(part: str) -> None:
    text = part * (100_000 // len(part)) + " error: {"
    assert read_question(text).text == text


@pytest.mark.parametrize(
    "name", ["parseUrl", "xY1zA", "HTTPError", "ÄnderungX", "x9aB", "snake_case", "f()"]
)
def test_names_are_known_by_their_shape(name: str) -> None:
    assert read_question(f"how does the {name} really work").names == (name.removesuffix("()"),)
