"""Hits on a terminal and as plain lines."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from codelake.search import Answer, Hit, Outline, Place, Shown
from codelake.search.snippets import cut_snippet, make_visible
from pipelines.rendering import print_answer, print_shown
from pipelines.summary import Summary, draw_summary

CODE = "    def pay(self, card):\n        charge(card)\n\n        return True"


def hit(**values: object) -> Hit:
    fields: dict[str, object] = {
        "id": "1",
        "repository": "shop",
        "path": "src/pay.py",
        "start_line": 10,
        "end_line": 13,
        "kind": "method",
        "name": "pay",
        "qualified_name": "Till.pay",
        "language": "python",
        "score": 1.25,
        "text": CODE,
        "matched_queries": ("charge a card",),
        "scores": {"dense": 1.0, "words": 0.5},
    }
    return Hit(**(fields | values))  # type: ignore[arg-type]


def printed(answer: Answer, *, is_terminal: bool = False, **options: object) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        force_terminal=is_terminal,
        width=100,
        color_system="standard",
        legacy_windows=False,
    )
    print_answer(answer, console, **options)  # type: ignore[arg-type]
    return stream.getvalue()


def test_plain_lines_say_place_name_score_and_code() -> None:
    assert printed(Answer("hybrid", (hit(),))) == (
        "1. shop src/pay.py:10-13 method Till.pay 1.250\n"
        "    def pay(self, card):\n"
        "        charge(card)\n"
        "\n"
        "        return True\n"
    )


def test_plain_lines_name_the_file_where_it_is_here() -> None:
    text = printed(Answer("hybrid", (hit(),)), roots={"shop": Path("/src/shop")})
    assert "/src/shop/src/pay.py:10-13" in text


def test_a_terminal_gets_colours_line_numbers_and_a_link() -> None:
    text = printed(Answer("hybrid", (hit(),)), is_terminal=True, roots={"shop": Path("/src/shop")})
    assert "file:///src/shop/src/pay.py#10" in text
    assert "\x1b[" in text
    assert "13 " in text


def test_reasons_copies_and_notices_are_shown() -> None:
    places = tuple(Place(f"fork{n}", "pay.py", 1, 4) for n in range(5))
    answer = Answer(
        "multihop", (hit(also_at=places, hop=2, seed="9"),), "time", ("No vectors yet.",)
    )
    for is_terminal in (False, True):
        text = printed(answer, is_terminal=is_terminal, is_explained=True)
        assert "1.250 = dense 1.000, words 0.500, hop 2 from 9" in text
        assert "also at fork0 pay.py:1-4" in text
        assert "and at 2 other places" in text
        assert "Multi-hop ended: time." in text
        assert "No vectors yet." in text
    assert "No hits." in printed(Answer("hybrid", ()))


def test_hidden_characters_are_visible_everywhere() -> None:
    odd = hit(
        text="x = '\u202e\x1b[31m'\r\ny\u200b",
        qualified_name="a\u2066b",
        path="we\u202eird\n.py",
        repository="re\x1bpo",
    )
    for is_terminal in (False, True):
        text = printed(Answer("hybrid", (odd,)), is_terminal=is_terminal)
        assert not set("\u202e\u2066\u200b\r") & set(text)
        assert "<U+202E><U+001B>[31m" in text.replace("\x1b[49m", "").replace("\x1b[93;49m", "")
        assert "\x1b[31m'" not in text


def test_visible_text_keeps_what_people_write() -> None:
    plain = "naïve 漢字 🙂\n\tindented"
    assert make_visible(plain) == plain
    assert make_visible("a\r\nb") == "a\nb"


def test_a_long_hit_shows_the_lines_about_the_question() -> None:
    lines = [f"        step({n})" for n in range(40)]
    lines[30] = "        charge(card)"
    snippet = cut_snippet(hit(text="\n".join(lines), end_line=49), 5)
    assert "charge(card)" in snippet.text
    assert snippet.text.startswith("step")
    assert (snippet.start_line, snippet.before, snippet.after) == (36, 26, 9)
    matched = cut_snippet(hit(text="\n".join(lines), end_line=49, lines=(20,)), 5)
    assert matched.start_line == 19


def test_plain_lines_tell_where_they_begin_inside_a_hit() -> None:
    lines = [f"        step({n})" for n in range(40)]
    lines[30] = "        charge(card)"
    text = printed(Answer("hybrid", (hit(text="\n".join(lines), end_line=49),)), lines=5)
    assert text.splitlines()[1:3] == ["    ... from line 36", "    step(26)"]
    assert text.endswith("    ... 9 more lines\n")


def test_answers_to_several_questions_name_them() -> None:
    other = hit(matched_queries=("charge a card", "refund"))
    for is_terminal in (False, True):
        text = printed(Answer("hybrid", (hit(), other)), is_terminal=is_terminal)
        assert text.count("found by: charge a card") == 2
        assert "found by: charge a card; refund" in text
        assert "found by" not in printed(Answer("hybrid", (hit(),)), is_terminal=is_terminal)


def test_one_row_is_shown_whole_with_its_surroundings() -> None:
    till = Outline("0", "class", "Till", 8, 50, "class Till")
    close = Outline("2", "method", "Till.close", 42, 44, "def close(self)")
    text = "\n".join(f"    line({n})" for n in range(31))
    shown = Shown(hit(text=text, end_line=40), (till,), None, close, ())
    stream = io.StringIO()
    print_shown(shown, Console(file=stream), roots={})
    lines = stream.getvalue().splitlines()
    assert lines[0] == "shop src/pay.py:10-40 method Till.pay"
    assert lines[1:32] == [f"    line({n})" for n in range(31)]
    assert lines[32:] == ["in 8-50 class Till  0", "before 42-44 method Till.close  2"]


def test_blank_and_uneven_lines_are_kept() -> None:
    assert cut_snippet(hit(text="\n\n"), 5).text == "\n\n"
    assert cut_snippet(hit(text="\tif x:\n    y"), 5).text == "\tif x:\n    y"


def test_what_is_left_out_is_counted() -> None:
    text = printed(Answer("hybrid", (hit(end_line=40),)), lines=2)
    assert "... 29 more lines" in text
    assert "... 29 more lines" in printed(
        Answer("hybrid", (hit(end_line=40),)), lines=2, is_terminal=True
    )


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ('def f(self):\n        """Do."""', 'def f(self):\n    """Do."""'),
        ("@property\n    def f(self):\n        go()", "@property\ndef f(self):\n    go()"),
        ("f(a) {\n    b\n  }", "f(a) {\n  b\n}"),
        ("def x\n    y\n  end", "def x\n  y\nend"),
        ("func f() {\n\treturn\n}", "func f() {\n\treturn\n}"),
    ],
    ids=["body", "decorator", "braces", "end", "outermost"],
)
def test_a_definition_is_shown_as_if_it_stood_outermost(stored: str, shown: str) -> None:
    assert cut_snippet(hit(text=stored), 5).text == shown


def test_a_summary_names_the_slow_stages_and_ends_no_line_in_blanks() -> None:
    seconds = {"syntax": 6.0, "vectors": 0.1, "embeddings": 30.0, "total": 36.1}
    summary = Summary(repositories=3, seconds=seconds, store="/srv/" + "deep/" * 30)
    stream = io.StringIO()
    draw_summary(summary, Console(file=stream, width=80), is_dry=True)
    lines = stream.getvalue().splitlines()
    assert "seconds        36.1 (embeddings 30.0, syntax 6.0)" in lines
    assert f"store          {summary.store}" in lines
    assert [line for line in lines if line != line.rstrip()] == []
    assert "dry run" in lines[-1]
