"""What a converted model does on this Mac: where it runs, how fast, and how near it is."""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from resources.ane.packages import AnePackage
from resources.embedders.ane import Run, compiled_model, load_model

_ROUNDS: Final = 5  # times each text is run; the first one is not counted
NEURAL_ENGINE: Final = "NeuralEngine"
# What is wanted of EmbeddingGemma on an Apple chip of 2021 or later.
TARGET_SHARE: Final = 0.996
TARGET_MILLISECONDS: Final = 18.0
TARGET_COSINE: Final = 0.984


@dataclass(frozen=True, slots=True)
class Report:
    """What was found.

    Args:
        model_id: the model.
        operations: operations planned on each device.
        neural_engine_share: share of them planned on the Neural Engine.
        milliseconds: median of one text.
        mean_cosine: to the reference vectors.
        least_cosine: of the text that is farthest off.
        texts: texts compared.
    """

    model_id: str
    operations: dict[str, int]
    neural_engine_share: float
    milliseconds: float
    mean_cosine: float
    least_cosine: float
    texts: int


def check(package: AnePackage) -> Report:
    """Run the reference texts of ``package`` here and report.

    Raises:
        EmbeddingError: Core ML cannot load it.
    """
    run = load_model(package.model)
    return report(package, run, planned_devices(package), time.perf_counter)


def report(
    package: AnePackage, run: Run, devices: Iterable[str], clock: Callable[[], float]
) -> Report:
    """Compare ``run`` with the reference vectors, by the time of ``clock`` in seconds."""
    manifest = package.manifest
    cosines, seconds = [], []
    rows = package.tokenize([reference.text for reference in manifest.references])
    for row, reference in zip(rows, manifest.references, strict=True):
        vector = run(row.ids, row.mask).reshape(-1).astype(np.float64)
        wanted = np.array(reference.vector)
        lengths = np.linalg.norm(vector) * np.linalg.norm(wanted)
        cosines.append(float(vector @ wanted / lengths))
        for _ in range(_ROUNDS):
            start = clock()
            run(row.ids, row.mask)
            seconds.append(clock() - start)
    planned = Counter(devices)
    return Report(
        model_id=manifest.model_id,
        operations=dict(planned),
        neural_engine_share=planned[NEURAL_ENGINE] / max(1, planned.total()),
        milliseconds=statistics.median(seconds) * 1000,
        mean_cosine=statistics.fmean(cosines),
        least_cosine=min(cosines),
        texts=len(cosines),
    )


def describe(report: Report) -> list[str]:
    """Return ``report`` as lines of text, with what is wanted beside what was found."""
    devices = ", ".join(f"{count} on {name}" for name, count in report.operations.items())
    return [
        f"model             {report.model_id}",
        f"operations        {devices}",
        f"neural engine     {report.neural_engine_share:.1%} (wanted {TARGET_SHARE:.1%})",
        f"one text          {report.milliseconds:.1f} ms (wanted {TARGET_MILLISECONDS:g} ms)",
        f"cosine            {report.mean_cosine:.4f} on average (wanted {TARGET_COSINE})",
        f"least cosine      {report.least_cosine:.4f} of {report.texts} texts",
    ]


def planned_devices(package: AnePackage) -> list[str]:
    """Return the device each operation is planned on; constants have none."""
    from coremltools import ComputeUnit  # noqa: PLC0415 # a Mac alone comes here
    from coremltools.models.compute_plan import MLComputePlan  # noqa: PLC0415 # the same

    plan = MLComputePlan.load_from_path(
        str(compiled_model(package.model)), compute_units=ComputeUnit.CPU_AND_NE
    )
    operations: list[Any] = plan.model_structure.program.functions["main"].block.operations
    usages = map(plan.get_compute_device_usage_for_mlprogram_operation, operations)
    return [device_name(usage.preferred_compute_device) for usage in usages if usage is not None]


def device_name(device: object) -> str:
    """Return what a device is called: ``MLNeuralEngineComputeDevice`` is ``NeuralEngine``."""
    return type(device).__name__.removeprefix("ML").removesuffix("ComputeDevice")
