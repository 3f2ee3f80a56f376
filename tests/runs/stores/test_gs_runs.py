"""Runs from and to a server of Google Cloud Storage's API: the bytes of a folder here, over a wire that breaks, after
an end in the middle, by one of two.
"""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from obstore.exceptions import GenericError
from test_s3_runs import FILMS, content, expected, look_into, make, one_takes_it  # noqa: F401 - `expected` is a fixture

from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.stores.paths import place_of, store_of, uploaded
from edos_dataset.runs.stores.reading import sha256_of
from edos_dataset.runs.stores.store import ObjectStore, StoreError
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.given import SourceError
from edos_dataset.sources.inventory import find_films
from google_store import google_server
from object_store import archive_of_films, broken_wire
from sudden_death import DeathError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    with google_server(tmp_path_factory.mktemp("copies")) as server:
        server.buckets.update(films={}, sets={})
        for name, text in FILMS.items():
            put(server, f"one/{name}", text.encode())
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("edos_dataset.runs.stores.store.WAIT", 0.001)


def put(server, name, data):
    store = place_of("gs://films/x").store
    assert store.put_if(name, data, store.status(name))


def google_at(endpoint):
    return {"STORAGE_EMULATOR_HOST": endpoint}


def downloaded(server, prefix, folder):
    """What lies below a prefix, as files."""
    for name, held in server.buckets["sets"].items():
        if name.startswith(f"{prefix}/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(held.data)
    return folder / prefix


def test_the_same_bytes_over_a_wire_that_breaks_after_an_end_in_the_middle(google, expected, tmp_path, monkeypatch):  # noqa: F811
    send = ObjectStore.put

    def dying(self, key, source, sha256):
        if "04-certainty" in key:
            raise DeathError
        return send(self, key, source, sha256)

    with broken_wire(google.url, google_at, tmp_path / "copies", cut=0.2) as wire:
        with monkeypatch.context() as patch, pytest.raises(DeathError):
            patch.setattr(ObjectStore, "put", dying)
            make("gs://films/one", "gs://sets/cut")
        manifest = make("gs://films/one", "gs://sets/cut")
    assert wire.cuts > 10 and manifest["shards"]["made_now"] == 4  # of the last of four phases alone
    there = downloaded(google, "cut", tmp_path)
    assert content(there) == expected
    assert not (there / ".run" / "lock").exists() and not (there / ".run" / "prepared").exists()


def test_of_many_who_take_a_lock_the_store_lets_one(google):
    one_takes_it(place_of("gs://sets/x").store)
    with output_folder(place_of("gs://sets/held"), "curate") as folder:
        with pytest.raises(FolderError, match="is running in gs://sets/held .its last sign of life was . s ago"):
            make("gs://films/one", "gs://sets/held")
        assert folder.path.is_dir()


def test_how_old_a_lock_is_by_the_store_s_clock(google, monkeypatch):
    out = place_of("gs://sets/clock")
    with output_folder(out, "toy"):
        ahead = SimpleNamespace(time=lambda: time.time() + 3_600, monotonic=time.monotonic, sleep=time.sleep)
        monkeypatch.setattr("edos_dataset.runs.stores.lock.time", ahead)
        monkeypatch.setattr("edos_dataset.runs.stores.lock.machine", lambda: "another container")
        with pytest.raises(FolderError, match="its last sign of life was [01] s ago"), output_folder(out, "toy"):
            pass
        objects = google.buckets["sets"]
        held = objects["clock/.run/lock"]
        objects["clock/.run/lock"] = held._replace(written=held.written - 61)
        with output_folder(out, "toy"):  # the other one counts as dead
            assert not [key for key in objects if "clock-" in key]


def test_of_a_large_archive_only_what_is_needed_moves(google, tmp_path):
    packed = archive_of_films(4)
    put(google, "all/en.zip", packed)
    with broken_wire(google.url, google_at, tmp_path / "copies") as wire:
        look_into("gs://films/all/en.zip", 4, wire, len(packed))
    archive = place_of("gs://films/all/en.zip")
    before = archive.status().tag
    put(google, "all/en.zip", packed[:-1] + b"x")
    with pytest.raises(OSError, match="was changed while it was read"):
        archive.store.read(archive.key, 0, 10, before)
    with pytest.raises(Exception, match="was changed while it was read"):
        read_bytes(str(archive), "subs/film 0.srt", 1 << 20)


def test_a_list_of_many_pages(google, monkeypatch):
    store = place_of("gs://sets/x").store
    for name in ("a", "b/c", "b/d", "e"):
        store.put_if(f"listed/{name}", b"x", None)
    for page in (1_000, 1):
        monkeypatch.setattr(google, "page", page)
        assert [key for key, _ in store.list("listed/")] == ["listed/a", "listed/b/c", "listed/b/d", "listed/e"]
        assert [key for key, _ in store.list("listed/", deep=False)] == ["listed/b/", "listed/a", "listed/e"]
    store.delete(["listed/a", "listed/none", "listed/e"])
    assert [key for key, _ in store.list("listed/")] == ["listed/b/c", "listed/b/d"]


def test_a_file_in_parts(google, monkeypatch):
    monkeypatch.setattr("edos_dataset.runs.stores.store._MOST_AT_ONCE", 1 << 20)
    path = place_of("gs://sets/large")
    with uploaded(path) as temporary:
        temporary.write_bytes(bytes(20 << 20))
    assert path.read_bytes() == bytes(20 << 20) and path.sha256() == sha256_of(temporary_copy(path))


def temporary_copy(path):
    return Path(os.fspath(path))


def test_what_cannot_be_had(google, monkeypatch, tmp_path):
    for source in ("gs://nowhere/films", "gs://nowhere/films/x.zip"):
        with pytest.raises(StoreError, match="there is no bucket 'nowhere'"):
            find_films([place_of(source)], "en")
    with pytest.raises(SourceError, match="source gs://films/none: there is no such object or folder"):
        find_films([place_of("gs://films/none")], "en")
    with pytest.raises(StoreError, match="there is no bucket 'nowhere'"):
        make("gs://films/one", "gs://nowhere/out")
    cut = broken_wire(google.url, google_at, tmp_path, cut=1.0, longest=10)
    with cut, pytest.raises(StoreError, match="the same command resumes"):
        find_films([place_of("gs://films/one")], "en")
    monkeypatch.delenv("STORAGE_EMULATOR_HOST")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none"))
    store_of.cache_clear()
    with pytest.raises(StoreError, match="no keys for gs://films: give `gcloud auth application-default login`"):
        find_films([place_of("gs://films/one")], "en")


@pytest.mark.parametrize(
    ("status", "times", "error", "message"),
    [
        (403, 1, PermissionError, "the store refuses .Refused.: check the keys"),
        (401, 1, PermissionError, "the store refuses .Refused.: check the keys"),
        (503, 6, StoreError, "does not answer .503 Refused, 6 tries."),
        (400, 1, StoreError, "the store answers 400"),
    ],
)
def test_what_the_store_answers(google, status, times, error, message):
    google.refusals[:] = [status] * times
    store = place_of("gs://films/one").store
    with pytest.raises(error, match=message):
        store.read("one/film 1.srt", 0, 10)
    google.refusals[:] = [429, 500]
    assert store.read("one/film 1.srt", 0, 10) == FILMS["film 1.srt"][:10].encode() and not google.refusals


def test_keys_that_are_no_longer_good(google, monkeypatch):
    store = place_of("gs://films/one").store

    def expired(*_, **__):
        raise GenericError(
            "Generic GCS error: Error performing token request: Error performing POST https://x/hidden in 1s - "
            'Server returned non-2xx status code: 400 Bad Request: {"error": "invalid_grant: hidden"}'
        )

    monkeypatch.setattr(store, "_obstore", SimpleNamespace(get=expired, exceptions=store._obstore.exceptions))
    with pytest.raises(PermissionError, match="the store refuses .400.: check the keys") as raised:
        store.status("one/film 1.srt")
    assert "hidden" not in str(raised.value)
