"""What is wrong with a setting, told in the words of a settings file."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Final

_HIDDEN: Final = ("sources.tokens", "sources.api")  # may hold a token by mistake

# What a settings file calls what the checks name after Python's types.
_EXPECTED: Final[Mapping[str, str]] = {
    "model_type": "Input should be a section of settings",
    "dict_type": 'Input should be a table, as in {key = "value"}',
    "tuple_type": 'Input should be a list, as in ["value"]',
    "string_too_short": "Input should not be empty",
}


def explain_problem(problem: Mapping[str, object], known: Sequence[str]) -> str:
    """Return one line about a problem that pydantic found.

    Args:
        problem: pydantic's details.
        known: every key that there is, dotted; the nearest to a wrong one is named.
    """
    location = problem["loc"]
    key = ".".join(str(part) for part in location) if isinstance(location, tuple) else ""
    if problem["type"] != "extra_forbidden":
        told = _EXPECTED.get(str(problem["type"]), problem["msg"])
        if key.startswith(_HIDDEN):
            return f"{key}: {told}"
        return f"{key} = {problem.get('input')!r}: {told}"
    near = difflib.get_close_matches(key, known, n=1)
    hint = f", did you mean {near[0]!r}?" if near else "; see docs/configuration.md"
    return f"unknown key {key!r}{hint}"
