"""What a benchmark says: named figures, printed in columns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    Args:
        name: what was measured.
        value: the number.
        unit: what it counts; empty for a ratio.
        goal: what it should reach, as text; empty where there is no goal.
    """

    name: str
    value: float
    unit: str = ""
    goal: str = ""


def draw(title: str, figures: list[Figure]) -> str:
    """Return ``figures`` as lines of text below ``title``."""
    lines = [f"\n{title}"]
    for figure in figures:
        goal = f"  (goal {figure.goal})" if figure.goal else ""
        lines.append(
            f"  {figure.name:<58} {_number(figure.value):>12} {figure.unit}{goal}".rstrip()
        )
    return "\n".join(lines)


def _number(value: float) -> str:
    if value == int(value) and abs(value) >= 1:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3f}"  # noqa: PLR2004 # three digits that mean something
