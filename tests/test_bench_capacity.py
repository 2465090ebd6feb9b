from dataclasses import replace

import pytest

from bench.capacity import Machines, Organisation, disk_gigabytes, first_to_saturate, night
from bench.units import UnitCosts

_UNITS = UnitCosts(
    parse=0.3,
    parse_driver=0.01,
    cut=0.1,
    cut_driver=0.01,
    embed=20.0,
    embed_static=0.2,
    keep=0.05,
    write=0.05,
    words=0.1,
    fill=0.01,
    vector_index=0.05,
    chunks_megabyte=1000.0,
    symbols_megabyte=1000.0,
    lines_megabyte=30_000.0,
    texts_row=1.0,
    bytes_row=1000.0,
)
_CODE = Organisation(1000, changed=0.01, copied=0.5, repositories=100)


def test_stage_takes_as_long_as_what_it_waits_for() -> None:
    stages = {s.name: s for s in night(_CODE, Machines(10), _UNITS, is_first=True)}
    assert (stages["parse"].seconds, stages["parse"].held_by) == (pytest.approx(30), "processors")
    assert (stages["embed"].seconds, stages["embed"].held_by) == (pytest.approx(2000), "processors")
    assert (stages["index words"].seconds, stages["index words"].held_by) == (200, "writer")
    assert disk_gigabytes(_CODE, _UNITS) == 2


def test_more_processors_help_until_one_process_is_all_there_is_to_wait_for() -> None:
    lengths = [
        sum(s.seconds for s in night(_CODE, Machines(count), _UNITS, is_first=True))
        for count in (1, 10, 100, 10_000, 100_000)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] == lengths[-2]
    last = night(_CODE, Machines(100_000), _UNITS, is_first=True)
    assert {stage.held_by for stage in last} == {"driver", "writer"}
    assert first_to_saturate(last).name == "index words"


def test_later_night_costs_what_changed() -> None:
    first = night(_CODE, Machines(4), _UNITS, is_first=True)
    later = night(_CODE, Machines(4), _UNITS, is_first=False)
    assert [s.seconds for s in later] == pytest.approx([s.seconds / 100 for s in first])


def test_service_embeds_instead_of_the_processors() -> None:
    machines = replace(Machines(1), texts_second=1000.0)
    embed = next(s for s in night(_CODE, machines, _UNITS, is_first=True) if s.name == "embed")
    assert (embed.seconds, embed.held_by) == (pytest.approx(1000), "service")
