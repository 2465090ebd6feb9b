"""A store in a bucket does what one in a folder does, and says what is wrong with the bucket."""

import io
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bucket_server import BUCKET, KEYS, Application, Start, bucket_server, keys, reached

from codelake.errors import StoreError, UsageError
from codelake.schemas import CHUNKS
from codelake.search.tables import Filters
from codelake.settings import build_settings
from resources.places import work_folder
from resources.store import LanceStore
from resources.store.bucket import BucketPlace
from resources.store.manifest import write_manifest
from resources.store.opening import open_store
from resources.store.place import ChangedError
from tests.stored_rows import (
    batches,
    chunk,
    embed_all,
    ledger_files,
    ledger_repositories,
)

pytestmark = pytest.mark.usefixtures("keys")
__all__ = ["keys"]


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with bucket_server() as address:
        yield address


@pytest.fixture
def place(request: pytest.FixtureRequest, service: str) -> BucketPlace:
    return BucketPlace(f"s3://{BUCKET}/team/{request.node.name}", reached(service))


def test_it_answers_as_one_in_a_folder(place: BucketPlace, tmp_path: Path) -> None:
    said = []
    for where in (place, tmp_path / "store"):
        store = LanceStore(where)
        told: list[object] = [store.is_there]
        rows = [chunk("a.py", "retry"), chunk("b.py", "two")]
        with store.writing():
            store.replace_rows("chunks", batches=batches(CHUNKS, rows))
            told.append(embed_all(store))
            store.replace_rows("files", batches=ledger_files("a.py", "b.py"))
            store.replace_rows("repositories", batches=ledger_repositories("shop"))
            store.index_new_rows()
            told.append(store.publish_sound("monday"))
            store.replace_rows("chunks", delete_ids=[rows[0]["chunk_id"]])  # type: ignore[list-item]
            told += [str(problem) for problem in store.publish_sound("tuesday")]
            store.replace_rows("files", delete_ids=[("shop", "a.py")])
            told += store.publish_sound("tuesday")
        told.append(_found(store))
        store.rollback("monday")
        told += [_found(store), store.coverage("chunks"), store.summary(), store.verify()]
        told.append([(v.table, v.number, v.row_count, v.names) for v in store.history()])
        told.append(store.sql("select path from chunks order by 1").to_pylist())
        file = io.BytesIO()
        store.export("chunks", "jsonl", file)
        told += file.getvalue().splitlines()
        told.append(store.find_state("mon").state.name)
        said.append(told)
    assert said[0] == said[1]


def _found(store: LanceStore) -> list[str]:
    tables = store.search_tables()
    ids = tables.match("chunks", "retry", k=5, filters=Filters())["chunk_id"].to_pylist()
    paths: list[str] = tables.rows("chunks", ids)["path"].to_pylist()
    return paths


def test_a_missing_object_is_named_and_a_rebuild_restores_the_table(place: BucketPlace) -> None:
    store = LanceStore(place)
    with store.writing():
        store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "retry")]))
        embed_all(store)
    (path, *_) = [p for p in place._below("chunks.lance/") if p.startswith("chunks.lance/data/")]
    place._objects.delete(path)
    store = LanceStore(place)
    with pytest.raises(StoreError, match=r"table 'chunks' in s3://.*codelake store verify"):
        store.read("chunks")
    (problem, *_) = store.verify()
    assert (problem.table, problem.kind) == ("chunks", "missing-file")
    assert path.removeprefix("chunks.lance/") in problem.detail
    assert store.rebuild() == ["chunks"]
    assert store.verify() == []
    store.replace_rows("chunks", batches=batches(CHUNKS, [chunk("a.py", "retry")]))
    assert embed_all(store) == 0, "the vectors were kept"


def test_a_record_that_another_writer_changed_is_not_written_over(place: BucketPlace) -> None:
    store = LanceStore(place)
    store.optimize()
    seen = store.models()
    write_manifest(place, seen)
    with pytest.raises(StoreError, match="was written by another process meanwhile"):
        write_manifest(place, seen)
    was = place.read("codelake.json")
    place.exchange("codelake.json", b"{}", was)
    with pytest.raises(ChangedError):
        place.exchange("codelake.json", b"{}", was)


def test_a_read_of_nothing_says_what_to_run(place: BucketPlace) -> None:
    with pytest.raises(StoreError, match=r"no index yet in s3://.*: run `codelake index"):
        LanceStore(place).summary()
    assert place._below("") == []


def test_unset_keys_are_asked_for(monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StoreError, match="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in"):
        BucketPlace(f"s3://{BUCKET}", reached(service))


def test_what_has_to_be_installed_is_named(monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(StoreError, match=r"needs obstore: pip install 'codelake\[s3\]'"):
        BucketPlace(f"s3://{BUCKET}", reached(service))


def test_a_bucket_that_is_not_there_is_named(service: str) -> None:
    store = LanceStore(BucketPlace("s3://no-such-lake/x", reached(service)))
    with pytest.raises(StoreError, match="there is no such bucket: make it first"):
        store.optimize()


def test_a_service_that_is_not_there_is_named() -> None:
    with bucket_server() as gone:
        pass
    store = LanceStore(BucketPlace(f"s3://{BUCKET}", reached(gone)))
    with pytest.raises(StoreError, match=r"cannot be reached: check s3.endpoint and the network"):
        store.optimize()


def test_keys_that_a_service_repeats_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "sample-token")
    words = "SignatureDoesNotMatch " + " ".join([*KEYS.values(), "sample-token"])

    def around(app: Application) -> Application:
        def asked(environment: dict[str, Any], start: Start) -> Iterable[bytes]:
            if not environment["PATH_INFO"].startswith(f"/{BUCKET}/"):
                return app(environment, start)
            body = f"<Error><Code>{words}</Code></Error>".encode()
            start("403 Forbidden", [("Content-Length", str(len(body)))])
            return [body]

        return asked

    with bucket_server(around) as address:
        store = LanceStore(BucketPlace(f"s3://{BUCKET}/x", reached(address)))
        for use in (store.optimize, lambda: store.is_there):
            with pytest.raises(StoreError, match="the keys do not open it") as error:
                use()
            told: BaseException | None = error.value
            while told is not None:
                assert "sample" not in str(told)
                told = told.__cause__


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"store": "gs://lake/x"}, "'gs://lake/x' is no place of a store: give a folder, or s3://"),
        ({"store": "s3://lake/../x"}, "is no place of a store"),
        ({"store": "s3://"}, "is no place of a store"),
        ({"s3": {"endpoint": "http://localhost:9000"}}, "http:// is not encrypted"),
        ({"s3": {"endpoint": "https://user:word@host"}}, "without keys"),
        ({"s3": {"lease_seconds": 9}}, "s3.lease_seconds = 9: Input should be .* equal to 10"),
        ({"s3": {"lease_seconds": math.inf}}, "s3.lease_seconds = inf: .* finite number"),
        ({"s3": {"secret": "x"}}, "secret"),
    ],
)
def test_settings_that_reach_no_bucket_are_refused(values: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        build_settings(values)


def test_a_store_has_its_folder_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = build_settings({"store": "s3://lake/team/x/", "s3": reached(service).model_dump()})
    assert work_folder(settings) == tmp_path / ".codelake" / "s3+lake+team+x"
    assert str(open_store(settings).place) == "s3://lake/team/x"
    assert open_store(settings) is open_store(settings)
    stores = ("s3://lake", "s3://lake/stages", "s3://lake/stages/x", "s3://lake/stages.x")
    named = [build_settings({"store": s, "s3": {"folder": str(tmp_path)}}) for s in stores]
    assert {work_folder(one).parent for one in named} == {tmp_path}
    assert len({work_folder(one) for one in named}) == len(stores)
    assert work_folder(build_settings({"store": "x"})) == tmp_path / "x"


def test_a_long_prefix_has_a_folder_of_its_own(tmp_path: Path) -> None:
    def folder(prefix: str) -> Path:
        values = {"store": f"s3://lake/{prefix}", "s3": {"folder": str(tmp_path)}}
        return work_folder(build_settings(values))

    longest = "a" * (255 - len("s3+lake+"))
    assert folder(longest).name == f"s3+lake+{longest}"
    found = [folder(longest), folder(f"{longest}/b"), folder(f"{longest}/c")]
    for place in found:
        place.mkdir()
    assert len(set(found)) == len(list(tmp_path.iterdir())) == len(found)
