"""Log lines of the stages, each with its stage and, where there is one, its repository.

They go to the logger ``codelake``; Dagster keeps those that its ``python_logs`` names, at the step
they belong to.
"""

import logging
from typing import Final

from codelake.paths import display_path
from codelake.search.snippets import make_visible

LOGGER: Final = logging.getLogger("codelake")


def log_stage(level: int, stage: str, message: str, *, repository: str = "") -> None:
    """Log ``message`` as ``stage=files repository=team/app: message``, in one line.

    Args:
        level: of :mod:`logging`.
        stage: name of the asset.
        message: may hold what others wrote.
        repository: name, where it is about one.
    """
    where = f" repository={display_path(repository)}" if repository else ""
    shown = make_visible(message).replace("\n", " ")
    LOGGER.log(level, "stage=%s%s: %s", stage, where, shown)
