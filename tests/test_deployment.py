"""What deploy/ holds: a back-up that is restored, and files that say what is true.

Containers cannot be started here; what can be checked without them is.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import dagster as dg
import pytest
import yaml
from nights import commit, night, rows
from postgres_server import INITDB, NO_SERVER, program, serving

from codelake import __version__
from codelake.settings import parse_settings
from pipelines.command_line import command_line
from pipelines.instance import _SETTINGS, open_instance
from resources.store import LanceStore

_ROOT = Path(__file__).parents[1]
_DEPLOY = _ROOT / "deploy"
_BACKUP = _DEPLOY / "backup.sh"
_ONE = "def one():\n    return 1\n"
_SOMEBODY = 10001
_OURS = ("code", "daemon", "web", "metrics")
_TABLES = ("chunks", "symbols", "files", "repositories")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if not INITDB:
        pytest.skip(NO_SERVER)
    with serving() as folder:
        yield folder


def _read(name: str) -> Any:  # noqa: ANN401 # YAML is anything
    return yaml.safe_load((_DEPLOY / name).read_text("utf-8"))


def _psql(server: str, database: str, command: str) -> None:
    words = ["-q", "-v", "ON_ERROR_STOP=1", "-h", server, "-U", "postgres", "-c", command]
    subprocess.run([program("psql"), *words, database], check=True, stdout=subprocess.DEVNULL)


def _backup(
    server: str, database: str, *words: str, store: Path, before: Path = _DEPLOY
) -> "subprocess.CompletedProcess[str]":
    path = f"{before}:{Path(program('pg_dump')).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "PGHOST": server, "PGUSER": "postgres", "STORE": str(store)}
    environment |= {"PGDATABASE": database} if database else {}
    return subprocess.run(
        [_BACKUP, *words], env=environment, capture_output=True, text=True, check=False
    )


def test_what_is_saved_can_be_restored(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night in PostgreSQL is saved, lost, restored, and the next one has nothing to do."""
    home, store, saved = tmp_path / "home", tmp_path / "store", tmp_path / "saved"
    home.mkdir()
    for database in ("before", "after"):
        _psql(server, "postgres", f"create database {database}")

    def use(database: str) -> None:
        url = f"postgresql://postgres@/{database}?host={server}"
        (home / "dagster.yaml").write_text(f"storage:\n  postgres:\n    postgres_url: {url}\n")

    monkeypatch.setenv("DAGSTER_HOME", str(home))
    use("before")
    commit(tmp_path / "shop", {"a.py": _ONE})
    assert night(store, tmp_path / "shop").failed == []
    before = {table: rows(store, table) for table in _TABLES}
    with open_instance(store) as instance:
        runs = [run.run_id for run in instance.get_runs()]
    with LanceStore(store).writing():
        refused = _backup(server, "before", "save", str(saved), store=store)
    assert (refused.returncode, saved.exists()) == (1, False)
    assert "a run writes to" in refused.stderr
    done = _backup(server, "before", "save", str(saved), store=store)
    assert done.returncode == 0, done.stderr

    occupied = _backup(server, "after", "restore", str(saved), store=store)
    assert (occupied.returncode, "is not empty" in occupied.stderr) == (1, True)
    shutil.rmtree(store)
    with LanceStore(store).writing():
        refused = _backup(server, "after", "restore", str(saved), store=store)
    assert (refused.returncode, "a run writes to" in refused.stderr) == (1, True)
    shutil.rmtree(store)
    done = _backup(server, "after", "restore", str(saved), store=store)
    assert done.returncode == 0, done.stderr
    use("after")
    assert {table: rows(store, table) for table in _TABLES} == before
    assert LanceStore(store).verify() == []
    summary = night(store, tmp_path / "shop")
    assert summary.failed == []
    assert summary.chunks["unchanged"] == len(before["chunks"])
    assert summary.texts["embedded"] == 0
    with open_instance(store) as instance:
        assert {run.run_id for run in instance.get_runs()} > set(runs)


def _saved(server: str, database: str, folder: Path) -> Path:
    """Save a store and a database, and return the folder of the back-up."""
    _psql(server, "postgres", f"create database {database}")
    store, saved = folder / "store", folder / "saved"
    store.mkdir()
    (store / "codelake.json").write_text("{}")
    (store / "shared").mkdir(mode=0o777)
    (store / "shared").chmod(0o777)
    for name in ("mirrors", "s3+lake/mirrors", "s3+lake/nights", ".restored"):
        (store / name).mkdir(parents=True)
    store.chmod(0o700)
    if os.geteuid() == 0:
        for place in (store, *store.iterdir()):
            os.chown(place, _SOMEBODY, _SOMEBODY)
    done = _backup(server, database, "save", f"{saved}//", store=store)
    assert (done.returncode, saved.is_dir()) == (0, True), done.stderr
    return saved


def test_owners_and_modes_are_restored(server: str, tmp_path: Path) -> None:
    saved, other = _saved(server, "owners", tmp_path), tmp_path / "other"
    done = _backup(server, "owners", "restore", f"{saved}/", store=other)
    assert (done.returncode, done.stderr) == (0, "")
    owner = _SOMEBODY if os.geteuid() == 0 else os.geteuid()
    names = ("", "writer.lock", "codelake.json", "shared")
    assert {(other / name).stat().st_uid for name in names} == {owner}
    assert [place.name for place in (other / "s3+lake").iterdir()] == ["nights"]
    modes = [(other / name).stat().st_mode & 0o777 for name in ("", "shared")]
    assert modes == [0o700, 0o777]


def test_a_restore_without_a_database_touches_nothing(server: str, tmp_path: Path) -> None:
    saved, other = _saved(server, "unnamed", tmp_path), tmp_path / "other"
    done = _backup(server, "", "restore", str(saved), store=other)
    assert (done.returncode, other.exists()) == (1, False)
    assert "PGDATABASE: nothing was changed" in done.stderr


@pytest.mark.parametrize(
    ("name", "word", "code", "left"),
    [
        ("tar", "-C", 1, ["writer.lock"]),
        ("pg_restore", "--clean", 0, ["codelake.json", "s3+lake", "shared", "writer.lock"]),
    ],
)
def test_a_restore_that_is_stopped_is_done_or_changes_nothing(
    server: str, tmp_path: Path, name: str, word: str, code: int, left: list[str]
) -> None:
    saved, other = _saved(server, f"stopped_{name}", tmp_path), tmp_path / "other"
    stopping = tmp_path / "bin" / name
    stopping.parent.mkdir()
    found = program(name) if name == "pg_restore" else shutil.which(name)
    stop = f'[ "$1" != {word} ] || kill -TERM $PPID'
    stopping.write_text(f'#!/bin/sh\n{stop}\nexec {found} "$@"\n')
    stopping.chmod(0o700)
    before = stopping.parent
    done = _backup(server, f"stopped_{name}", "restore", str(saved), store=other, before=before)
    assert (done.returncode, done.stderr) == (code, "")
    assert sorted(path.name for path in other.iterdir()) == left


@pytest.mark.parametrize("part", ["dump", "tables", "database"])
def test_a_restore_that_fails_changes_nothing(server: str, tmp_path: Path, part: str) -> None:
    database, saved, store = f"fails_{part}", tmp_path / "saved", tmp_path / "store"
    _psql(server, "postgres", f"create database {database}")
    _psql(server, database, "create table kept as select 1 as one")
    store.mkdir()
    (store / "codelake.json").write_text("{}")
    assert _backup(server, database, "save", str(saved), store=store).returncode == 0
    if part == "database":  # what depends on a table keeps it from being replaced
        _psql(server, database, "create view on_it as select * from kept")
    else:
        damaged = saved / {"dump": "dagster.dump", "tables": "store.tar"}[part]
        damaged.write_bytes(damaged.read_bytes()[:1000])
        sums = subprocess.check_output(["sha256sum", "dagster.dump", "store.tar"], cwd=saved)
        (saved / "SHA256SUMS").write_bytes(sums)
    other = tmp_path / "other"
    _psql(server, database, "insert into kept values (2)")
    done = _backup(server, database, "restore", str(saved), store=other)
    assert (done.returncode, "nothing was changed" in done.stderr) == (1, True), done.stderr
    assert not other.exists() or [p.name for p in other.iterdir()] == ["writer.lock"]
    _psql(server, database, "select 1 / (count(*) = 2)::int from kept")


def test_a_damaged_back_up_and_wrong_words_are_refused(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "dagster.dump").write_text("other")
    (tmp_path / "saved" / "SHA256SUMS").write_text(f"{'0' * 64}  dagster.dump\n")
    for words, code, told in (
        (["restore", str(tmp_path / "saved")], 1, "is not what was saved"),
        (["save", str(tmp_path / "saved")], 1, "name a new folder"),
        (["destroy", "x"], 2, "usage:"),
        (["save"], 2, "usage:"),
    ):
        environment = os.environ | {"PGDATABASE": "none"}
        done = subprocess.run(
            [_BACKUP, *words], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, told in done.stderr) == (code, True), done.stderr


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck on PATH")
def test_the_script_is_clean() -> None:
    subprocess.run(["shellcheck", str(_BACKUP)], check=True)


def test_dagster_takes_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dagster._core.instance.config import dagster_instance_config  # noqa: PLC0415 # not public

    shutil.copy(_DEPLOY / "dagster.yaml", tmp_path)
    monkeypatch.setenv("DAGSTER_POSTGRES_HOST", "database")
    monkeypatch.setenv("DAGSTER_POSTGRES_PASSWORD", "hush")
    found, _ = dagster_instance_config(str(tmp_path))
    assert "postgres" in found["storage"]
    own = yaml.safe_load(_SETTINGS)
    assert {key: _read("dagster.yaml")[key] for key in own} == own, "one home is as the other"


def test_codelake_takes_its_settings() -> None:
    settings = parse_settings((_DEPLOY / "codelake.toml").read_text("utf-8"))
    assert settings.s3.folder == "/srv/codelake/work"


def test_every_service_of_ours_is_watched_and_has_no_rights() -> None:
    services = _read("compose.yaml")["services"]
    image = (_DEPLOY / "Containerfile").read_text("utf-8")
    assert re.search(r"^USER 10001$", image, re.MULTILINE)
    assert "HEALTHCHECK" in image
    for name in _OURS:
        service = services[name]
        assert (service["cap_drop"], service["security_opt"]) == (
            ["ALL"],
            ["no-new-privileges:true"],
        )
        assert "healthcheck" in service or name == "code", "code is watched by the image"
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()


def test_every_image_is_of_a_named_release() -> None:
    """What `latest` means changes between two machines; ours are named as the package is."""
    composed = [_read(name)["services"] for name in ("compose.yaml", "compose.ray.yaml")]
    images = {s["image"] for services in composed for s in services.values() if "image" in s}
    (deployment,) = _read("helm-values.yaml")["dagster-user-deployments"]["deployments"]
    images.add("{repository}:{tag}".format_map(deployment["image"]))
    for image in images:
        name, _, tag = image.rpartition(":")
        assert name, f"{image} has no tag"
        assert "latest" not in tag, image
        if name.endswith("codelake"):
            assert tag.removesuffix("-ray") == __version__
    text = (_DEPLOY / "Containerfile").read_text("utf-8")
    for image in re.findall(r"^FROM (\S+)", text, re.MULTILINE):
        assert re.search(r":\$\{PYTHON\}-slim$", image), image


def test_every_secret_comes_from_the_environment() -> None:
    names = re.findall(
        r"^(?:# )?(\w+)=$", (_DEPLOY / "env.example").read_text("utf-8"), re.MULTILINE
    )
    files = ("compose.yaml", "compose.ray.yaml")
    texts = [(_DEPLOY / name).read_text("utf-8") for name in files]
    used = set(re.findall(r"\$\{(\w+)[:}]", "".join(texts)))
    assert used == set(names)
    assert "deploy/.env" in (_ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_the_image_has_what_is_ours() -> None:
    text = (_DEPLOY / "Containerfile").read_text("utf-8")
    copied = set(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE))
    layers = {"codelake", "resources", "evaluation", "assets", "pipelines"}
    assert copied == layers
    for line in re.findall(r"^COPY ((?!--from)[^\n]*) \./$", text, re.MULTILINE):
        for name in line.split():
            assert list(_ROOT.glob(name)), name


def test_commands_of_ours_in_the_files_parse() -> None:
    services = _read("compose.yaml")["services"]
    name, *words = services["metrics"]["command"][1:]
    command = command_line.get_command(click.Context(command_line), name)
    assert command is not None
    command.make_context(name, list(words), resilient_parsing=False).close()
    found = yaml.safe_load((_DEPLOY / "helm-values.yaml").read_text("utf-8"))
    (deployment,) = found["dagster-user-deployments"]["deployments"]
    assert deployment["codeServerArgs"] == ["-m", "pipelines.definitions"]
    assert dg.__version__ in (_DEPLOY / "helm-values.yaml").read_text("utf-8")


def test_the_secret_of_the_chart_has_the_names_that_are_read() -> None:
    values = (_DEPLOY / "helm-values.yaml").read_text("utf-8")
    names = set(re.findall(r"\b[A-Z0-9]+(?:_[A-Z0-9]+)+\b", values))
    environment = _read("compose.yaml")["services"]["code"]["environment"]
    assert {name for name in environment if "KEY" in name} <= names
    assert names - {"CODELAKE_CONFIG"} <= environment.keys()
