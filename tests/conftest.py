"""What every test shares: golden files, a steady hypothesis, an environment without surprises."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

_GOLDEN = Path(__file__).parent / "golden"

# No deadline: a test fails for what is wrong, never for how busy the machine is. The same examples
# every time, so that a red run can be repeated; `make soak` looks further.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("steady")

# What a developer's shell may hold and no test may see: keys, and git settings of their own.
_FOREIGN = (
    "CODELAKE_ALERT_URL",
    "OPENAI_API_KEY",
    "VOYAGE_API_KEY",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "DAGSTER_HOME",
)
_STEADY = {
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "sample",
    "GIT_AUTHOR_EMAIL": "sample@example.invalid",
    "GIT_COMMITTER_NAME": "sample",
    "GIT_COMMITTER_EMAIL": "sample@example.invalid",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="rewrite the golden files")


def pytest_configure() -> None:
    for name in _FOREIGN:
        os.environ.pop(name, None)
    os.environ.update(_STEADY)
    # A suite that a script starts with `&` ignores Ctrl-C, and so would every command it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--golden"):
        keep = [item for item in items if "is_rewriting" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in keep])
        items[:] = keep


@pytest.fixture
def is_rewriting(request: pytest.FixtureRequest) -> bool:
    """Tell whether this run writes the golden files instead of comparing with them."""
    return bool(request.config.getoption("--golden"))


@pytest.fixture
def golden(*, is_rewriting: bool) -> Callable[[str, str], None]:
    """Compare a text with ``tests/golden/<name>``, or write it there under ``--golden``."""

    def check(name: str, text: str) -> None:
        path = _GOLDEN / name
        if is_rewriting:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
        assert path.exists(), f"{path} is missing: make golden, then read it"
        assert path.read_text("utf-8") == text

    return check
