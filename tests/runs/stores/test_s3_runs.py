"""Runs from and to an S3 server: the bytes of a folder here, over a wire that breaks, after a kill, by one of two."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import edos_dataset
from edos_dataset.cli.app import app
from edos_dataset.commands.curate import curate
from edos_dataset.publishing.inspection import folder_facts, random_dialogues
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.recipes import override
from edos_dataset.runs.stores.paths import RemotePath, local_copies, place_of, store_of, uploaded
from edos_dataset.runs.stores.store import ObjectStore, StoreError
from edos_dataset.sources.files import read_bytes
from edos_dataset.sources.given import SourceError, sources_of
from edos_dataset.sources.inventory import find_films
from object_store import KEY, SECRET, answering, archive_of_films, aws, broken_wire, film, pointing_to, s3_server
from sudden_death import untimed

pytestmark = pytest.mark.slow
FILMS = {f"film {number}.srt": film(number) for number in range(4)}
ONE = """
import sys
from pathlib import Path
from test_s3_runs import make
if __name__ == "__main__":
    make("s3://films/one", sys.argv[1], int(sys.argv[2]))
"""


def make(films, out, workers=1):
    pipeline = override(subtitles_to_dialogues(), ["turns.scorer=rules", "cap.limit=10"])
    return curate(find_films([place_of(films)], "en"), Path(out), pipeline, workers=workers, shard_sentences=100)


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("copies")) as client:
        for bucket in ("films", "sets"):
            client.create_bucket(Bucket=bucket)
        for name, text in FILMS.items():
            client.put_object(Bucket="films", Key=f"one/{name}", Body=text.encode())
        yield client


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    (folder / "one").mkdir()
    for name, text in FILMS.items():
        (folder / "one" / name).write_text(text)
    make(folder / "one", folder / "out")
    return content(folder / "out")


def content(out):
    """The shards, and all that is published, but for what the manifest says of time and machine."""
    shards = {path.name: path.read_bytes() for path in out.glob(".run/0[1-9]-*/*.parquet")}
    return shards | untimed(out)


def downloaded(client, prefix, folder):
    """What lies below a prefix, as files."""
    for page in client.get_paginator("list_objects_v2").paginate(Bucket="sets", Prefix=f"{prefix}/"):
        for entry in page.get("Contents", ()):
            path = folder / entry["Key"]
            path.parent.mkdir(parents=True, exist_ok=True)
            client.download_file("sets", entry["Key"], str(path))
    return folder / prefix


def test_the_same_bytes_over_a_wire_that_breaks(s3, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("edos_dataset.runs.stores.store.WAIT", 0.001)
    with broken_wire(s3.meta.endpoint_url, aws, tmp_path / "copies", cut=0.2) as wire:
        manifest = make("s3://films/one", "s3://sets/cut")
        out = place_of("s3://sets/cut")
        facts = folder_facts(out)
        [drawn] = random_dialogues(out, facts, 1, None, random.Random(1))
    assert wire.cuts > 20 and facts["configs"] == manifest["configs"] and len(drawn["turns"]) > 1
    there = downloaded(s3, "cut", tmp_path)
    assert content(there) == expected
    assert not (there / ".run" / "lock").exists() and not (there / ".run" / "prepared").exists()
    assert len(pq.read_table(there / "os")) == manifest["configs"]["os"]["dialogues"]
    for path in there.rglob("*"):
        if path.is_file():
            assert not any(secret.encode() in path.read_bytes() for secret in (KEY, SECRET)), path


def test_killed_and_begun_again(s3, expected, tmp_path):
    script = tmp_path / "one.py"
    script.write_text(ONE)
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    arguments = [sys.executable, script, "s3://sets/killed", "1"]
    with subprocess.Popen(arguments, env=environment, stderr=subprocess.DEVNULL) as process:
        while len(made(s3)) < 6 and process.poll() is None:
            time.sleep(0.02)
        with pytest.raises(FolderError, match=f"process {process.pid} on .* is running in s3://sets/killed"):
            make("s3://films/one", "s3://sets/killed")
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    time.sleep(1.0)  # its workers look twice a second whether it lives
    before = made(s3)
    manifest = make("s3://films/one", "s3://sets/killed")  # at once, as the owner of the lock was of this machine
    assert content(downloaded(s3, "killed", tmp_path)) == expected
    assert len(before) >= 6 and manifest["shards"]["made_now"] == len(made(s3)) - len(before)
    assert make("s3://films/one", "s3://sets/killed")["shards"]["made_now"] == 0


def made(client):
    """The records of shards that are there."""
    listed = client.list_objects_v2(Bucket="sets", Prefix="killed/.run/0").get("Contents", ())
    names = [entry["Key"] for entry in listed]
    return [name for name in names if name.endswith(".json") and "00-input" not in name and "decided" not in name]


def test_of_a_large_archive_only_what_is_needed_moves(s3, tmp_path):
    packed = archive_of_films(8)
    s3.put_object(Bucket="films", Key="all/en.zip", Body=packed)
    with broken_wire(s3.meta.endpoint_url, aws, tmp_path / "copies") as wire:
        look_into("s3://films/all/en.zip", 8, wire, len(packed))
    s3.put_object(Bucket="films", Key="all/en.zip", Body=packed[:-1] + b"x")
    with pytest.raises(Exception, match="was changed while it was read"):
        read_bytes("s3://films/all/en.zip", "subs/film 0.srt", 1 << 20)


def look_into(address, count, wire, size):
    """Read every film of an archive and see that little moves."""
    films = find_films([place_of(address)], "en").films
    directory = wire.received
    for files in films["files"].to_pylist():
        file = files[0]
        data = read_bytes(file["location"].decode(), file["member"], 1 << 20, file["size"])
        assert data.decode() == film(int(file["member"][-5]))
    assert films.num_rows == count
    assert directory < 80_000 and wire.received < 25_000 * count < size / 50


def test_what_cannot_be_had(s3, monkeypatch, tmp_path):
    with pytest.raises(StoreError, match="there is no bucket 'nowhere'"):
        find_films([place_of("s3://nowhere/films")], "en")
    with pytest.raises(SourceError, match="source s3://films/none: there is no such object or folder"):
        find_films([place_of("s3://films/none")], "en")
    with pytest.raises(StoreError, match="there is no bucket 'nowhere'"):
        make("s3://films/one", "s3://nowhere/out")
    monkeypatch.setattr("edos_dataset.runs.stores.store.WAIT", 0.001)
    with (
        broken_wire(s3.meta.endpoint_url, aws, tmp_path, cut=1.0, longest=10),
        pytest.raises(StoreError, match="the same command resumes"),
    ):
        find_films([place_of("s3://films/one")], "en")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store_of.cache_clear()
    with pytest.raises(StoreError, match="no keys for s3://films: set AWS_ACCESS_KEY_ID"):
        find_films([place_of("s3://films/one")], "en")
    store_of.cache_clear()


@pytest.mark.parametrize(
    ("code", "status", "error", "message"),
    [
        ("AccessDenied", 403, PermissionError, "the store refuses .AccessDenied.: check the keys"),
        ("ExpiredToken", 400, PermissionError, "the store refuses .ExpiredToken."),
        ("SlowDown", 503, StoreError, "does not answer .503 SlowDown, 6 tries."),
        ("Weird", 400, StoreError, "the store answers 400 Weird"),
        ("PermanentRedirect", 301, StoreError, "is in another region: set AWS_REGION"),
    ],
)
def test_what_the_store_answers(monkeypatch, code, status, error, message):
    monkeypatch.setattr("edos_dataset.runs.stores.store.WAIT", 0.001)
    with (
        answering(status, f"<Error><Code>{code}</Code></Error>") as url,
        pointing_to(aws(url), ""),
        pytest.raises(error, match=message) as raised,
    ):
        place_of("s3://films/one").store.read("one/film 1.srt", 0, 10)
    assert SECRET not in str(raised.value)


def test_a_file_in_parts_and_a_copy_that_is_sent_again(s3, monkeypatch, tmp_path):
    monkeypatch.setattr("edos_dataset.runs.stores.store._MOST_AT_ONCE", 1 << 20)
    monkeypatch.setattr("edos_dataset.runs.stores.store._MOST_COPIED", 1 << 20)
    data, path = random.Random(1).randbytes(20 << 20), place_of("s3://sets/parts/large")
    with uploaded(path) as temporary:
        temporary.write_bytes(data)
    path.store.copy(path.key, "parts/copy")
    copy = path.with_name("copy")
    assert path.read_bytes() == copy.read_bytes() == data
    assert path.status().sha256 == copy.status().sha256 == hashlib.sha256(data).hexdigest()


def test_of_many_who_take_a_lock_the_store_lets_one(s3):
    one_takes_it(place_of("s3://sets/x").store)


def one_takes_it(store):
    with ThreadPool(8) as threads:
        written = threads.map(lambda number: store.put_if("locks/one", b"%d" % number, None), range(8))
        [first] = filter(None, written)
        again = store.put_if("locks/one", b"%d" % written.index(first), None)  # the answer was lost
        assert again.tag == first.tag
        later = threads.map(lambda number: store.put_if("locks/one", b"later %d" % number, first), range(8))
        [second] = filter(None, later)
    assert store.put_if("locks/one", b"too late", first) is None
    assert store.status("locks/one").tag == second.tag != first.tag
    assert store.put_if("locks/none", b"x", first) is None and store.status("locks/none") is None


def test_lists_of_many_pages_and_of_folders_that_are_objects(s3):
    for name in ("many/", "many/sub/", "many/sub/x", "many/end"):
        s3.put_object(Bucket="films", Key=name, Body=b"")
    for number in range(1_200):
        s3.put_object(Bucket="films", Key=f"many/{number:04}", Body=b"")
    store = place_of("s3://films/many").store
    expected = [f"many/{number:04}" for number in range(1_200)] + ["many/end", "many/sub/x"]
    assert [key for key, _ in store.list("many/")] == expected
    assert [key for key, _ in store.list("many/", deep=False)] == ["many/sub/", *expected[:-1]]


def test_keys_of_a_profile(s3, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    (tmp_path / "keys").write_text(
        f"[default]\n\n[work]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("AWS_PROFILE", "work")
    store_of.cache_clear()
    assert place_of("s3://films/one/film 1.srt").read_text() == FILMS["film 1.srt"]
    store_of.cache_clear()


@pytest.mark.parametrize(("scheme", "extra"), [("s3", "s3"), ("gs", "gs"), ("az", "azure")])
def test_without_obstore_the_message_says_what_to_install(monkeypatch, scheme, extra):
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ModuleNotFoundError, match=rf'pip install "edos-dataset\[{extra}\]"'):
        ObjectStore(scheme, "films")


def test_commands_by_address(s3, expected, capsys):
    def edos(*arguments):
        with pytest.raises(SystemExit) as end:
            app(["--verbose", *arguments])
        said = capsys.readouterr()
        assert not any(secret in said.out + said.err for secret in (KEY, SECRET))
        return end.value.code, said.out + said.err

    given = ("segment", "s3://films/one", "--out", "s3://sets/turns.jsonl")
    code, said = edos(*given, "--scorer", "rules", "--workers", "1")
    assert code == 0, said
    lines = place_of("s3://sets/turns.jsonl").read_text().splitlines()
    assert len(lines) == 160 and not place_of("s3://sets/turns.jsonl.parts").exists()
    code, said = edos(*given)
    assert code == 1 and "is there already" in said
    code, said = edos("curate", f"s3://{KEY}:{SECRET}@films/one", "--out", "s3://sets/no")
    assert code == 1 and "keys by the environment" in said
    code, said = edos("inspect", "s3://sets/nothing")
    assert code == 1 and "there is no folder s3://sets/nothing: give" in said
    assert isinstance(place_of("s3://sets/no"), RemotePath) and not place_of("s3://sets/no").exists()


def test_every_verb_takes_addresses(s3, tmp_path):
    for name, text in list(FILMS.items())[:2]:
        s3.put_object(Bucket="films", Key=f"two/deep/{name}", Body=text.encode())
    names = sorted(list(FILMS)[:2])
    assert [source.name for source in sources_of("s3://films/two/**/*.srt")] == [f"two/deep/{name}" for name in names]
    listed = "".join(f"s3://films/{folder}/{names[0]}\n" for folder in ("one", "two/deep", "gone"))
    s3.put_object(Bucket="films", Key="list", Body=listed.encode())
    found = find_films(sources_of([], "s3://films/list"), "en")
    paths = [file["path"] for files in found.films["files"].to_pylist() for file in files]
    assert paths == [f"films/one/{names[0]}", f"films/two/deep/{names[0]}"]
    assert [note["path"] for note in found.quarantined] == [f"films/gone/{names[0]}"]

    out = "s3://sets/verbs"
    edos_dataset.curate("s3://films/one", out, labels=False, settings=["turns.scorer=rules"], progress=False)
    assert edos_dataset.load(out)["train"].num_rows == edos_dataset.inspect(out)["configs"]["os"]["splits"]["train"]
    assert edos_dataset.rejects(out)["quarantined"] == []
    assert place_of(edos_dataset.audit(out, out="s3://sets/audit.html", dialogues=1)["page"]).is_file()
    with local_copies([place_of(out), tmp_path]) as (copied, same):
        assert same == tmp_path and (copied / "README.md").read_bytes() == place_of(f"{out}/README.md").read_bytes()
        assert list(copied.glob("os/train-*.parquet"))
    for refused in (
        lambda: edos_dataset.extend(out, out, "s3://sets/extended"),
        lambda: edos_dataset.report(out, out="s3://sets/report.html"),
        lambda: edos_dataset.crowd.invite("s3://sets/batch", ["anna"]),
    ):
        with pytest.raises(StoreError, match="must be on this machine"):
            refused()
