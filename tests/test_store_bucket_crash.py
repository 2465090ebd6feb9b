"""Runs killed over a store in a bucket, whose lock ends some time after its holder."""

from pathlib import Path

import pytest
from bucket_server import BUCKET, bucket_server, keys, reached

from tests.test_store_crash import kill_often

__all__ = ["keys"]

_KILLS = 25
_LEASE = 2  # seconds; a busy machine may keep a holder from renewing a shorter one
_MOST_SECONDS = 1.0  # longer than any step takes


@pytest.mark.soak
@pytest.mark.usefixtures("keys")
def test_a_killed_run_in_a_bucket_is_finished_by_the_next(tmp_path: Path) -> None:
    with bucket_server() as address:
        settings = reached(address, lease_seconds=_LEASE).model_dump_json()
        where = f"s3://{BUCKET}/killed {settings}"
        kill_often(where, _KILLS, tmp_path, most_seconds=_MOST_SECONDS)
