"""What is read of a store: pieces of an object, each once, and copies on this machine, which are bounded."""

import io
import itertools
import os
import random
import time
import zipfile

import pytest

from edos_dataset.runs.stores import reading
from edos_dataset.runs.stores.paths import at_once, open_remote, place_of, store_of, uploaded
from edos_dataset.runs.stores.reading import Copies, RangeFile
from edos_dataset.runs.stores.store import ObjectStore, Status, StoreError
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.given import sources_of
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.parsed import ReadError
from object_store import answering, aws, film, pointing_to

DATA = random.Random(7).randbytes(3_000_000)


class Counted:
    """A store of one object that notes what is asked of it."""

    def __init__(self):
        self.data, self.tag, self.asked = DATA, "1", []

    def status(self, key):
        return Status(len(self.data), self.tag)

    def read(self, key, start, stop, tag=""):
        assert tag == self.tag
        self.asked.append((start, stop))
        return self.data[start:stop]

    def first(self, key, most):
        self.asked.append((0, most))
        return self.data[:most], Status(len(self.data), self.tag)

    def fetch(self, key, target):
        self.asked.append("all")
        target.write_bytes(self.data)
        return Status(len(self.data), self.tag)


def test_a_file_of_ranges_reads_as_a_file():
    store, here, draw = Counted(), io.BytesIO(DATA), random.Random(1)
    there = RangeFile(store, "x", "s3://bucket/x")
    for _ in range(300):
        step = draw.choice([(draw.randrange(len(DATA)),), (-draw.randrange(1, 99), 2), (0, 1)])
        assert there.seek(*step) == here.seek(*step)
        size = draw.choice([0, 1, 30, 70_000, 900_000])
        assert there.read(size) == here.read(size) and there.tell() == here.tell()
    assert there.seek(0, 2) == len(DATA) and there.read() == b"" and there.read(5) == b""


def test_reading_on_asks_seldom_and_a_single_look_fetches_little():
    store = Counted()
    there = RangeFile(store, "x", "s3://bucket/x")
    there.seek(1_000_000)
    assert there.read(4) == DATA[1_000_000:1_000_004] and store.asked == [(1_000_000, 1_065_536)]
    assert b"".join(iter(lambda: there.read(10_000), b"")) == DATA[1_000_004:]
    assert len(store.asked) < 6
    store.asked.clear()
    there.expect(5, 40)
    there.seek(5)
    assert [there.read(10) for _ in range(4)] == [DATA[start : start + 10] for start in (5, 15, 25, 35)]
    assert store.asked == [(5, 45)]


def test_an_object_is_fetched_once_until_it_is_another(tmp_path, monkeypatch):
    store, kept = Counted(), Copies(tmp_path, most=8_000_000)
    first = kept.of(store, "x.parquet", "s3://bucket/x.parquet")
    assert first.read_bytes() == DATA and first.suffix == ".parquet"
    assert kept.of(store, "x.parquet", "s3://bucket/x.parquet") == first and store.asked == ["all"]
    store.data, store.tag = b"new", "2"
    assert kept.of(store, "x.parquet", "s3://bucket/x.parquet").read_bytes() == b"new"
    monkeypatch.setattr(reading, "_GRACE", -1.0)
    store.data = DATA
    for number in range(6):
        os.utime(kept.of(store, str(number), f"s3://bucket/{number}"), (number, number))
    left = sorted(path.stat().st_mtime for path in tmp_path.iterdir())
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 8_000_000 + len(DATA) and 5.0 in left


def test_what_was_sent_is_here_already(tmp_path, monkeypatch):
    monkeypatch.setenv("EDOS_COPIES", str(tmp_path / "copies"))
    path = place_of("memory://sent/x.bin")
    with uploaded(path) as temporary:
        temporary.write_bytes(DATA)
    monkeypatch.setattr(type(path.store), "fetch", lambda *_: pytest.fail("it is fetched again"))
    with open(path, "rb") as file:  # as libraries open files
        assert file.read() == DATA
    assert open_remote(str(path)).read(3) == DATA[:3]
    with pytest.raises(RuntimeError, match="not to be"), uploaded(path) as temporary:
        raise RuntimeError("not to be")
    assert path.read_bytes() == DATA and list((tmp_path / "copies").glob(".*")) == []
    assert list(at_once(lambda number: number * 2, iter(range(100)), path)) == [number * 2 for number in range(100)]


def test_a_file_that_is_read_is_not_asked_for_before(tmp_path, monkeypatch):
    """Twenty thousand films in a store are as many requests, not twice as many."""
    for name, content in (("film.srt", film(1).encode()), ("empty.srt", b""), ("large", DATA)):
        path = place_of(f"memory://once/{name}")
        with uploaded(path) as temporary:
            temporary.write_bytes(content)
    status = ObjectStore.status
    monkeypatch.setattr(ObjectStore, "status", lambda *_: pytest.fail("its status is asked for"))
    text = film(1)
    assert read_bytes("memory://once/film.srt", None, 1 << 20, len(text)).decode() == text
    assert place_of("memory://once/large").read_bytes() == DATA
    with pytest.raises(ReadError, match="bytes instead of 7"):
        read_bytes("memory://once/film.srt", None, 1 << 20, 7)
    with pytest.raises(FileNotFoundError):
        place_of("memory://once/none").read_bytes()
    monkeypatch.setattr(ObjectStore, "status", status)  # an empty object has no range
    with pytest.raises(ReadError, match="0 bytes"):
        read_bytes("memory://once/empty.srt", None, 1 << 20, 0)


def test_an_object_that_changes_for_ever_is_not_fetched_for_ever(tmp_path):
    class Restless(Counted):
        def fetch(self, key, target):
            self.tag += "1"
            return super().fetch(key, target)

    store = Restless()
    with pytest.raises(OSError, match="was changed while it was read"):
        Copies(tmp_path).of(store, "x", "s3://bucket/x")
    assert store.asked == ["all"] * 3 and list(tmp_path.iterdir()) == []


def test_sources_on_the_hub(hub, monkeypatch, tmp_path):
    from huggingface_hub import HfApi

    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", "hf_ns")
    api, packed = HfApi(endpoint=hub.url, token="hf_ns"), tmp_path / "en.zip"
    api.create_repo("ns/films", repo_type="dataset")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("film 2.srt", film(2))
    for name, content in (("film 1.srt", film(1).encode()), ("en.zip", packed)):
        api.upload_file(path_or_fileobj=content, path_in_repo=f"one/{name}", repo_id="ns/films", repo_type="dataset")
    store_of.cache_clear()
    found = find_films([place_of("hf://datasets/ns/films/one")], "en")
    files = [row[0] for row in found.films["files"].to_pylist()]
    assert [file["path"] for file in files] == ["one/en.zip/film 2.srt", "one/film 1.srt"]
    texts = [read_bytes(file["location"].decode(), file["member"], 1 << 20, file["size"]).decode() for file in files]
    assert texts == [film(2), film(1)]
    store_of.cache_clear()


def test_the_files_of_a_list_are_asked_for_by_a_listing(tmp_path, monkeypatch):
    """A request for a thousand of them, not one for each."""
    names = [f"k/{number:02d}.srt" for number in range(30)]
    asked = []

    class Listed(Counted):
        def list(self, prefix, deep=True):
            asked.append(prefix)
            yield from ((name, Status(9, "1")) for name in names[:29])

        def status(self, key):
            asked.append(key)
            return Status(9, "1")

    store = Listed()
    monkeypatch.setattr("edos_dataset.runs.stores.paths.store_of", lambda *_: store)
    (tmp_path / "list").write_text("\n".join(f"s3://bucket/{name}" for name in names))
    found = find_films(sources_of([], tmp_path / "list"), "en")
    assert found.files == 30 and asked == ["k/", "k/29.srt"]


def test_a_listing_without_end_is_told(tmp_path, monkeypatch):
    """A server that takes no token of continuation lists its first page for ever."""
    entry = "<Contents><Key>k/a.srt</Key><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>x</ETag><Size>3</Size></Contents>"  # noqa: E501
    more = "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
    page = f"<ListBucketResult><Name>b</Name>{more}{entry}</ListBucketResult>"
    pytest.importorskip("obstore")
    with answering(200, page) as url, pointing_to(aws(url), tmp_path), pytest.raises(StoreError, match="never end"):
        list(place_of("s3://b/k").below())


def test_a_long_answer_is_told_by_its_beginning(tmp_path):
    pytest.importorskip("obstore")
    page = "true" * 20_000
    with answering(200, page) as url, pointing_to(aws(url), tmp_path), pytest.raises(StoreError) as caught:
        list(place_of("s3://b/k").below())
    assert str(caught.value).startswith("s3://b/k/ cannot be used: ") and len(str(caught.value)) < 400


def test_a_listing_that_grows_for_ever_is_told(tmp_path, monkeypatch):
    """A server whose every page names other objects; whether there is one takes one page."""
    pytest.importorskip("obstore")
    monkeypatch.setattr("edos_dataset.runs.stores.store._MOST_KEYS", 9_000)
    asked = itertools.count()
    one = (
        "<Contents><Key>k/{:09}.srt</Key><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>x</ETag>"
        "<Size>3</Size></Contents>"
    )

    def page():
        number = next(asked)
        return (
            "<ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated>"
            f"<NextContinuationToken>t{number}</NextContinuationToken>"
            f"{''.join(one.format(1000 * number + place) for place in range(1000))}</ListBucketResult>"
        )

    with answering(200, page) as url, pointing_to(aws(url), tmp_path):
        assert place_of("s3://b/k").is_dir() and next(asked) < 5
        with pytest.raises(StoreError, match="holds more than 9,000 objects, and its listing may never end"):
            list(place_of("s3://b/k").below())


def test_a_time_without_a_zone_is_told(tmp_path, monkeypatch):
    pytest.importorskip("obstore")
    monkeypatch.setattr("edos_dataset.runs.stores.store.WAIT", 0.001)
    entry = "<Contents><Key>k/a.srt</Key><LastModified>2026-01-01T00:00:00</LastModified><ETag>x</ETag><Size>3</Size></Contents>"  # noqa: E501
    page = f"<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>{entry}</ListBucketResult>"
    with (
        answering(200, page) as url,
        pointing_to(aws(url), tmp_path),
        pytest.raises(StoreError, match="cannot be used"),
    ):
        list(place_of("s3://b/k").below())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_an_address_that_leads_to_itself_is_told(tmp_path, monkeypatch, status):
    pytest.importorskip("obstore")
    monkeypatch.setattr("edos_dataset.runs.stores.store.WAIT", 0.001)
    uses = (lambda path: list(path.below()), lambda path: path.read_bytes(), lambda path: path.is_dir())
    with answering(status, "", headers={"Location": "/"}) as url, pointing_to(aws(url), tmp_path):
        for use in uses:
            with pytest.raises((StoreError, OSError)) as told:
                use(place_of("s3://b/k"))
            assert "s3://b/k" in str(told.value)


def test_a_body_that_trickles_is_given_up(tmp_path, monkeypatch):
    """A byte now and then is no sign of life: every answer has its time."""
    pytest.importorskip("obstore")
    for name, value in (("_LONGEST_ANSWER", 1), ("TRIES", 2), ("WAIT", 0.001)):
        monkeypatch.setattr(f"edos_dataset.runs.stores.store.{name}", value)
    began = time.monotonic()
    with answering(206, "x" * 900, pause=0.2) as url, pointing_to(aws(url), tmp_path):
        for read in (lambda path: path.read_bytes(), open):
            with pytest.raises(StoreError, match="does not answer"):
                read(place_of("s3://b/k"))
    assert time.monotonic() - began < 10
