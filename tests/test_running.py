"""How a run that ends outside of its stages is told."""

import logging
import os
import signal
from pathlib import Path

import dagster as dg

from pipelines.summarizing import is_interrupted, stage_failures
from resources.git import GitError

_HERE = Path(__file__).parent


class _Interrupting(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if "RESOURCE_INIT_STARTED" in record.getMessage():
            os.kill(os.getpid(), signal.SIGINT)


@dg.logger
def _interrupting(_context: object) -> logging.Logger:
    logger = logging.Logger("interrupting")  # noqa: LOG001 # nobody else is to get it
    logger.addHandler(_Interrupting())
    return logger


@dg.op
def _nothing() -> None:
    pass


@dg.job(logger_defs={"interrupting": _interrupting})
def _job() -> None:
    _nothing()


@dg.op
def _refused() -> None:
    try:
        (_HERE / "absent").read_text()
    except OSError as error:
        message = "git says no; do this"
        raise GitError(message) from error


@dg.job
def _failing_job() -> None:
    _refused()


def test_any_error_of_ours_is_told_in_its_own_words() -> None:
    """One that is raised below another of ours, outside of codelake/errors.py, too."""
    result = _failing_job.execute_in_process(raise_on_error=False)
    (failure,) = stage_failures(result.all_events)
    assert failure["reason"] == "stage _refused failed: git says no; do this"


def test_ctrl_c_before_the_first_stage_is_no_success() -> None:
    result = _job.execute_in_process(
        raise_on_error=False, run_config={"loggers": {"interrupting": {}}}
    )
    assert not result.success
    assert is_interrupted(result.all_events)
    assert [failure["repository"] for failure in stage_failures(result.all_events)] == [""]
