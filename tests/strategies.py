"""Texts that look like files, and files made of them in every way that has gone wrong somewhere."""

from hypothesis import strategies as st

# Pieces of several languages: what meets in a file of the wrong suffix, or in a broken one.
FRAGMENTS = (
    "def f(a, b):\n    return a + b\n",
    "class A(Base):\n    '''Doc.'''\n\n    x: int = 1\n\n    def m(self):\n        pass\n",
    "# a comment\n",
    "// a comment\n/* another */\n",
    "import os\nfrom a import b\n",
    "function g(x) { if (x) { return [1, 2, 3]; } else { return {a: x}; } }\n",
    "export const h = async (y) => { await y; };\n",
    "package main\n\nfunc (r *T) Do() error {\n\treturn nil\n}\n",
    "<div class='a'><script>let a = 1;</script><p>text</p></div>\n",
    "# Title\n\nSome *prose* here.\n\n```python\ndef inner():\n    pass\n```\n\n## Next\n",
    '{"key": [1, 2, {"deep": null}], "other": "text"}\n',
    "key:\n  - item\n  - other: 1\n",
    "SELECT a, b FROM t WHERE x = 'y';\n",
    "((((((((((", "))))))))))", "{[({[(", "\"'`", "'''", '"""', "\\", "\t \t", " " * 40,
    "x" * 150, "größe = '日本語 🌦️ text'\n", "\u00a0\u2003\u3000", "\x00", "\r", "\r\n", "\n\n\n",
    "IDENTIFICATION DIVISION.\n", "begin end fi done esac\n", "@decorator\n#[attribute]\n",
)  # fmt: skip

texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=12)), max_size=12).map(
    "".join
)

line_ends = st.sampled_from(["\n", "\r\n", "\r"])

encodings = st.sampled_from(
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "cp1252", "cp1251", "cp932", "gb18030"]
)

budgets = st.sampled_from([16, 40, 120, 1200])
