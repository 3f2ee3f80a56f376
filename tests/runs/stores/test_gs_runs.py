"""Runs from and to a server of Google Cloud Storage's API: the bytes of a folder here, over a wire that breaks, after
an end in the middle, by one of two.
"""

import sys
import time
from multiprocessing.pool import ThreadPool
from types import SimpleNamespace

import pytest
import requests
from test_s3_runs import FILMS, content, expected, look_into, make  # noqa: F401 - `expected` is a fixture

from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.stores import addresses, gcs
from edos_dataset.runs.stores.base import StoreError
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.found import SourceError
from edos_dataset.sources.inventory import find_films
from google_store import google_server
from object_store import archive_of_films, broken_wire
from sudden_death import DeathError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    with google_server(tmp_path_factory.mktemp("copies")) as server:
        for bucket in ("films", "sets"):
            requests.post(f"{server.url}/storage/v1/b", json={"name": bucket}, timeout=10).raise_for_status()
        for name, text in FILMS.items():
            put(server, f"one/{name}", text.encode())
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("edos_dataset.runs.stores.base.WAIT", 0.001)


def put(server, name, data):
    given = {"uploadType": "media", "name": name}
    requests.post(f"{server.url}/upload/storage/v1/b/films/o", data, params=given, timeout=10).raise_for_status()


def google_at(endpoint):
    return {"STORAGE_EMULATOR_HOST": endpoint}


def downloaded(server, prefix, folder):
    """What lies below a prefix, as files."""
    server.storage.wanted = None
    for name in server.storage.objects["sets"]:
        if name.startswith(f"{prefix}/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(server.storage.get_file("sets", name))
    return folder / prefix


def test_the_same_bytes_over_a_wire_that_breaks_after_an_end_in_the_middle(google, expected, tmp_path, monkeypatch):  # noqa: F811
    send = gcs.GoogleStore.put

    def dying(self, key, source, sha256):
        if "04-certainty" in key:
            raise DeathError
        return send(self, key, source, sha256)

    with broken_wire(google.url, google_at, tmp_path / "copies", cut=0.2) as wire:
        with monkeypatch.context() as patch, pytest.raises(DeathError):
            patch.setattr(gcs.GoogleStore, "put", dying)
            make("gs://films/one", "gs://sets/cut")
        manifest = make("gs://films/one", "gs://sets/cut")
    assert wire.cuts > 20 and manifest["shards"]["made_now"] == 4  # of the last of four phases alone
    there = downloaded(google, "cut", tmp_path)
    assert content(there) == expected
    assert not (there / ".run" / "lock").exists() and not (there / ".run" / "prepared").exists()


def test_of_many_who_take_a_lock_the_store_lets_one(google, monkeypatch):
    store, held = place_of("gs://sets/x").store, "locks/one"
    with ThreadPool(8) as threads:
        tags = threads.map(lambda number: store.put_if(held, b"%d" % number, None), range(8))
        [first] = filter(None, tags)
        assert store.put_if(held, b"%d" % tags.index(first), None) == first  # the answer was lost
        [second] = filter(None, threads.map(lambda number: store.put_if(held, b"later %d" % number, first), range(8)))
    assert store.put_if(held, b"too late", first) is None and store.status(held).tag == second != first
    assert store.put_if("locks/none", b"x", first) is None and store.status("locks/none") is None
    with output_folder(place_of("gs://sets/held"), "curate") as folder:
        with pytest.raises(FolderError, match="is running in gs://sets/held .its last sign of life was . s ago"):
            make("gs://films/one", "gs://sets/held")
        assert folder.path.is_dir()


def test_how_old_a_lock_is_the_store_s_clock_tells(google, monkeypatch):
    with output_folder(place_of("gs://sets/clock"), "toy"):
        ahead = SimpleNamespace(time=lambda: time.time() + 3_600)
        monkeypatch.setattr("edos_dataset.runs.stores.gcs_answers.time", ahead)
        assert abs(place_of("gs://sets/clock/.run/lock").status().age) < 2


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
    whole, asked = list(store.list("listed/")), store._client.list_blobs

    def paged(bucket, page_token, **given):
        """One object a page."""
        found = list(asked(bucket, page_token=None, **given))
        place = int(page_token or 0)
        token = str(place + 1) if place + 1 < len(found) else None
        return SimpleNamespace(pages=iter([found[place : place + 1]]), prefixes=set(), next_page_token=token)

    assert [key for key, _ in whole] == ["listed/a", "listed/b/c", "listed/b/d", "listed/e"]
    assert [key for key, _ in store.list("listed/", deep=False)] == ["listed/b/", "listed/a", "listed/e"]
    monkeypatch.setattr(store._client, "list_blobs", paged)
    assert [key for key, _ in store.list("listed/")] == [key for key, _ in whole]


def test_what_cannot_be_had(google, monkeypatch, tmp_path):
    for source in ("gs://nowhere/films", "gs://nowhere/films/x.zip"):
        with pytest.raises(StoreError, match="there is no bucket 'nowhere'"):
            find_films([place_of(source)], "en")
    with pytest.raises(SourceError, match="source gs://films/none: there is no such object or folder"):
        find_films([place_of("gs://films/none")], "en")
    with pytest.raises(StoreError, match="there is no bucket 'nowhere'"):
        make("gs://films/one", "gs://nowhere/out")
    cut = broken_wire(google.url, google_at, tmp_path, cut=1.0, longest=10)
    with cut, pytest.raises(StoreError, match="the same command goes on"):
        find_films([place_of("gs://films/one")], "en")
    monkeypatch.delenv("STORAGE_EMULATOR_HOST")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none"))
    addresses._store.cache_clear()
    with pytest.raises(StoreError, match="no keys for gs://films: give `gcloud auth application-default login`"):
        find_films([place_of("gs://films/one")], "en")


@pytest.mark.parametrize(
    ("status", "times", "error", "told"),
    [
        (403, 1, PermissionError, "the store refuses .403.: look at the keys"),
        (401, 1, PermissionError, "the keys are refused .InvalidOperation.: renew them"),
        (503, 6, StoreError, "does not answer .503, 6 tries."),
        (400, 1, StoreError, "the store answers 400"),
    ],
)
def test_what_the_store_says(google, status, times, error, told):
    google.refusals[:] = [status] * times
    store = place_of("gs://films/one").store
    with pytest.raises(error, match=told):
        store.read("one/film 1.srt", 0, 10)
    google.refusals[:] = [429, 500]
    assert store.read("one/film 1.srt", 0, 10) == FILMS["film 1.srt"][:10].encode() and not google.refusals


def test_keys_that_are_no_longer_good(google, monkeypatch):
    from google.auth.exceptions import RefreshError

    store = place_of("gs://films/one").store

    def expired(*_, **__):
        raise RefreshError("invalid_grant: hidden")

    monkeypatch.setattr(store._client._http, "request", expired)
    with pytest.raises(PermissionError, match="the keys are refused .RefreshError.: renew them") as raised:
        store.status("one/film 1.srt")
    assert "hidden" not in str(raised.value)


def test_without_google_s_client_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.cloud.storage", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "edos-dataset\[gs\]"'):
        gcs.GoogleStore("films")
