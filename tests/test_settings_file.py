"""Where the paths of a settings file start."""

from pathlib import Path

import pytest

from resources.settings_file import load_settings


def test_relative_paths_start_at_the_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "etc" / "codelake.toml"
    place.parent.mkdir()
    words = ["../clones", "~/src", "/srv/x", "git@example.org:team/app.git", "github://h/o"]
    place.write_text(
        f"store = 'lake'\n[s3]\nfolder = 'work'\n[sources]\npaths = {words}\n"
        "[embedding]\nembedder = 'folder'\nmodel = 'models/own'\n"
        "[search]\nreranker = 'onnx'\nreranking = {model = 'models/ranks'}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    found = load_settings("etc/codelake.toml", {})
    assert found.store == "etc/lake"
    assert found.s3.folder == "etc/work"
    assert found.sources.paths == ("etc/../clones", "/home/someone/src", *words[2:])
    assert (found.embedding.model, found.search.reranking.model) == (
        "etc/models/own",
        "etc/models/ranks",
    )
    named = load_settings(str(place), {"store": "here", "embedding.embedder": "openai"})
    assert (named.store, named.embedding.model) == ("here", "models/own")
    for reranker, model in (("onnx", "etc/models/ranks"), ("tei", "models/ranks")):
        changed = load_settings("etc/codelake.toml", {"search.reranker": reranker})
        assert changed.search.reranking.model == model
    place.write_text("search.reranking.model = 'm/r'\n")
    changed = load_settings("etc/codelake.toml", {"search.reranker": "onnx"})
    assert changed.search.reranking.model == "etc/m/r"
    assert named.s3.folder == str(place.parent / "work")
    place.write_text("store = 's3://lake/x'\n")
    assert load_settings(str(place), {}).store == "s3://lake/x"
    place.write_text("")
    assert load_settings(str(place), {}).store == ".codelake", "no path of the file"


def test_a_folder_beside_the_file_is_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc" / "team:app").mkdir(parents=True)
    (tmp_path / "etc" / "codelake.toml").write_text("sources.paths = ['team:app', 'host:app']\n")
    monkeypatch.chdir(tmp_path)
    assert load_settings("etc/codelake.toml", {}).sources.paths == ("etc/team:app", "host:app")


def test_an_empty_source_stays_empty(tmp_path: Path) -> None:
    place = tmp_path / "codelake.toml"
    place.write_text("sources.paths = ['']\n")
    assert load_settings(str(place), {}).sources.paths == ("",)
