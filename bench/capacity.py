"""What an organisation's code takes, from what its parts cost: hours, processors, memory, disk.

A night goes through its stages one after the other. What a cluster shares out takes as long as
its processors need, or as long as the one process does that reads for them and collects what they
made; the rest is done by that process. The costs are measured on the spot by ``bench.units``.
"""

from dataclasses import dataclass, replace
from typing import Final

from bench.figures import Figure
from bench.trees import Source
from bench.units import UnitCosts, measure_units

_HOUR: Final = 3600
_GIGABYTE: Final = 1e9
_PROCESSORS: Final = (16, 64, 256)
_REPOSITORY: Final = 0.06  # CPU seconds of a changed repository: `python -m bench organisation`


@dataclass(frozen=True, slots=True)
class Organisation:
    """What is indexed.

    Args:
        megabytes: of code, all files that are not skipped.
        changed: share of it that changes in a night.
        copied: share of the texts that stand somewhere else too and need no vector of their own.
        repositories: how many it lies in.
    """

    megabytes: float
    changed: float = 0.01
    copied: float = 0.2
    repositories: int = 10_000


@dataclass(frozen=True, slots=True)
class Machines:
    """What it is indexed with.

    Args:
        processors: that parse, cut and embed, all nodes together.
        texts_second: texts a second that a service embeds; 0 for the local model on the
            processors.
    """

    processors: int
    texts_second: float = 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """How long a stage takes.

    Args:
        name: of the stage.
        seconds: it lasts.
        held_by: what it waits for: processors, driver, service or writer.
    """

    name: str
    seconds: float
    held_by: str


def night(
    organisation: Organisation, machines: Machines, units: UnitCosts, *, is_first: bool
) -> list[Stage]:
    """Return the stages of the first night, or of a later one, with what each waits for."""
    share = 1.0 if is_first else organisation.changed
    megabytes = organisation.megabytes * share
    chunks = megabytes * units.chunks_megabyte / 1000
    rows = chunks + megabytes * units.symbols_megabyte / 1000
    texts = rows * units.texts_row * (1 - organisation.copied)
    return [
        Stage("read repositories", share * organisation.repositories * _REPOSITORY, "driver"),
        _shared("parse", megabytes, units.parse, units.parse_driver, machines),
        _shared("cut", megabytes, units.cut, units.cut_driver, machines),
        Stage("store rows", rows * units.write, "writer"),
        Stage("index words", rows * units.words, "writer"),
        _embedding(texts, units, machines),
        Stage("fill in vectors", rows * units.fill, "writer"),
        Stage("index vectors", rows * units.vector_index, "writer"),
    ]


def disk_gigabytes(organisation: Organisation, units: UnitCosts) -> float:
    """Return what the tables take after a first night."""
    rows = organisation.megabytes * (units.chunks_megabyte + units.symbols_megabyte)
    return rows * units.bytes_row / _GIGABYTE


def first_to_saturate(stages: list[Stage]) -> Stage:
    """Return the stage that takes longest."""
    return max(stages, key=lambda stage: stage.seconds)


def measure(sources: list[Source]) -> list[Figure]:
    """Say what 10,000 repositories with 100 GB of code take, and with a billion lines."""
    units = measure_units(sources)
    figures = units.figures()
    lines = 1e9 / units.lines_megabyte
    for name, code in (("100 GB", Organisation(100_000)), ("1e9 lines", Organisation(lines))):
        figures.append(Figure(f"{name}: code", code.megabytes / 1000, "GB"))
        figures.append(Figure(f"{name}: tables", disk_gigabytes(code, units), "GB"))
        for processors in _PROCESSORS:
            for model, costs in (
                ("default model", units),
                ("fast one", replace(units, embed=units.embed_static)),
            ):
                label = f"{name}, {processors} processors, {model}"
                figures += _hours(label, code, Machines(processors), costs)
    return figures


def _hours(label: str, code: Organisation, machines: Machines, units: UnitCosts) -> list[Figure]:
    stages = night(code, machines, units, is_first=True)
    later = night(code, machines, units, is_first=False)
    longest, total = first_to_saturate(stages), sum(stage.seconds for stage in stages)
    return [
        Figure(f"{label}: first night", total / _HOUR, "hours"),
        Figure(f"  of it {longest.name}, held by the {longest.held_by}", longest.seconds / total),
        Figure("  a later night", sum(stage.seconds for stage in later) / _HOUR, "hours"),
    ]


def _shared(name: str, megabytes: float, cost: float, driver: float, machines: Machines) -> Stage:
    nodes, one = megabytes * cost / machines.processors, megabytes * driver
    return Stage(name, max(nodes, one), "processors" if nodes >= one else "driver")


def _embedding(texts: float, units: UnitCosts, machines: Machines) -> Stage:
    if machines.texts_second:
        work, held_by = 1000 * texts / machines.texts_second, "service"
    else:
        work, held_by = texts * units.embed / machines.processors, "processors"
    keeping = texts * units.keep
    return Stage("embed", max(work, keeping), held_by if work >= keeping else "writer")
