"""Sources fetched from a server on this machine: shown first, verified, recorded, compared with the record, never half
there.
"""

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from dataclasses import replace

import pytest
from filelock import FileLock

from edos_dataset.downloads.fetching import download
from edos_dataset.downloads.records import RECORDS, read_records
from edos_dataset.downloads.registry import (
    LANGUAGES,
    OTHERS,
    RELEASES,
    RemoteFile,
    Source,
    find_source,
    opensubtitles,
    sources,
)
from edos_dataset.downloads.transfer import DownloadError, Server
from edos_dataset.releases.load import RAW_RELEASES, builder
from edos_dataset.runs.folder import FolderError
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.read import ReadFilms

CONTENT = b"id,text\n1,Good evening\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def source(url, path="films/talk.csv", **facts):
    return Source("talk", "Invented talk", "CC0", "None.", (RemoteFile(url, path, **facts),))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "data"


def get(source, out, agree=lambda _: True, **more):
    return download(source, out, agree, server=Server(wait=0.001, timeout=5), **more)


def left(out):
    return sorted(
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file() and path.name != ".downloads.lock"
    )


def transfers(files):
    return sum(method == "GET" for file in files.files.values() for method, _ in file.requests)


def test_shown_before_a_byte_moves(files, out):
    talk = source(files.serve("/talk.csv", CONTENT))
    shown = []

    def refuse(plan):
        shown.append((plan.size, plan.out, plan.there, plan.free > 0, transfers(files)))
        return False

    assert get(talk, out, refuse) is None
    assert shown == [(len(CONTENT), out, (), True, 0)]
    assert transfers(files) == 0 and left(out) == []


def test_fetched_and_recorded(files, out):
    url = files.serve("/talk.csv", CONTENT)
    got = get(source(url), out)["films/talk.csv"]
    assert left(out) == [RECORDS, "films/talk.csv"]
    assert (out / "films" / "talk.csv").read_bytes() == CONTENT
    record = json.loads((out / RECORDS).read_text())["talk"]
    assert record["licence"] == "CC0" and record["files"] == {"films/talk.csv": got}
    assert (got["url"], got["size"], got["sha256"], got["etag"]) == (
        url,
        len(CONTENT),
        SHA256,
        files.files["/talk.csv"].etag,
    )
    assert got["checked"] == "the size that its server states" and got["date"].startswith("20")
    assert get(source(url), out, agree=None) == {"films/talk.csv": got}  # nothing to ask about
    assert transfers(files) == 1


def test_checksums(files, out):
    url = files.serve("/talk.csv", CONTENT)
    assert get(source(url, sha256=SHA256), out)["films/talk.csv"]["checked"] == "the SHA-256 that the registry states"
    stated = base64.b64encode(hashlib.md5(CONTENT).digest()).decode()
    url = files.serve("/other.csv", CONTENT, headers={"Content-MD5": stated})
    assert get(source(url, "other.csv"), out)["other.csv"]["checked"] == "the MD5 that its server states"


@pytest.mark.parametrize(
    ("facts", "behaviour", "says"),
    [
        ({"sha256": "0" * 64}, {}, "instead of 0000"),
        ({}, {"headers": {"Digest": f"SHA-256={base64.b64encode(bytes(32)).decode()}"}}, "its server states 0000"),
        ({}, {"headers": {"Content-MD5": base64.b64encode(bytes(16)).decode()}}, "another MD5"),
        ({"path": "talk.zip"}, {}, "no zip archive"),
        ({"unpack": True}, {}, "is damaged"),
    ],
)
def test_damage_never_gets_the_name(files, out, facts, behaviour, says):
    talk = source(files.serve("/talk.csv", CONTENT, **behaviour), **facts)
    path = talk.files[0].path
    for _ in range(2):  # again: it is not taken for a whole part
        with pytest.raises(DownloadError, match=says):
            get(talk, out)
        assert left(out) == [f"{path}.damaged"]
        assert (out / f"{path}.damaged").read_bytes() == CONTENT
    assert transfers(files) == 2


def test_a_source_that_changed_is_compared_with_the_record(files, out):
    url = files.serve("/talk.csv", CONTENT)
    first = get(source(url), out)["films/talk.csv"]
    (out / "films" / "talk.csv").unlink()
    files.serve("/talk.csv", b"new")
    with pytest.raises(DownloadError, match=f"gave another file than on {first['date'][:10]}.*give --changed"):
        get(source(url), out)
    assert left(out) == [RECORDS, "films/talk.csv.damaged"]
    got = get(source(url), out, changed=True)["films/talk.csv"]
    assert (out / "films" / "talk.csv").read_bytes() == b"new" and got["sha256"] == hashlib.sha256(b"new").hexdigest()
    files.serve("/talk.csv", b"newer")
    get(source(url), out)  # what is there is as recorded, so nobody is asked
    assert (out / "films" / "talk.csv").read_bytes() == b"new"
    get(source(url), out, changed=True)
    assert (out / "films" / "talk.csv").read_bytes() == b"newer"
    before = transfers(files)
    get(source(url), out, agree=None, changed=True)
    assert transfers(files) == before
    (out / "films" / "talk.csv").unlink()
    assert get(source(url), out)["films/talk.csv"]["checked"] == "the SHA-256 recorded before"


def test_what_lies_there_is_never_overwritten(files, out):
    talk = source(files.serve("/talk.csv", CONTENT))
    (out / "films").mkdir(parents=True)
    path = out / "films" / "talk.csv"
    path.write_bytes(b"mine")
    with pytest.raises(DownloadError, match="no record says that `edos download` put it there"):
        get(talk, out)
    path.write_bytes(CONTENT)
    adopted = get(source(talk.files[0].url, sha256=SHA256), out, agree=None)
    assert adopted["films/talk.csv"]["sha256"] == SHA256 and transfers(files) == 0
    path.write_bytes(b"edited")
    with pytest.raises(DownloadError, match="is not what was downloaded on 20"):
        get(talk, out)
    assert path.read_bytes() == b"edited"


def test_a_newer_checksum_of_the_registry_counts(files, out):
    """A later version of the package may state the checksum of a file that its owners have mended."""
    url = files.serve("/talk.csv", b"old")
    get(source(url, sha256=hashlib.sha256(b"old").hexdigest()), out)
    files.serve("/talk.csv", CONTENT)
    get(source(url, sha256=SHA256), out)
    assert (out / "films" / "talk.csv").read_bytes() == CONTENT
    assert get(source(url, sha256=SHA256), out, agree=None)["films/talk.csv"]["sha256"] == SHA256


def archive(**members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(f"top/{name}.csv")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_archives_are_unpacked_at_one_stroke(files, out):
    packed = archive(train=b"1", valid=b"2")
    talk = source(
        files.serve("/talk.tar.gz", packed), "talk/original", unpack=True, sha256=hashlib.sha256(packed).hexdigest()
    )
    got = get(talk, out)["talk/original"]
    assert left(out) == [RECORDS, "talk/original/train.csv", "talk/original/valid.csv"]
    assert got["members"] == {
        "train.csv": hashlib.sha256(b"1").hexdigest(),
        "valid.csv": hashlib.sha256(b"2").hexdigest(),
    }
    assert get(talk, out, agree=None) and transfers(files) == 1
    (out / "talk" / "original" / "valid.csv").write_bytes(b"3")
    with pytest.raises(DownloadError, match="original is not what was downloaded"):
        get(talk, out)


def test_what_somebody_put_into_an_unpacked_folder_is_not_lost(files, out):
    first, second = archive(train=b"1"), archive(train=b"2")
    url = files.serve("/talk.tar.gz", first)
    get(source(url, "talk/original", unpack=True, sha256=hashlib.sha256(first).hexdigest()), out)
    notes = out / "talk" / "original" / "notes.txt"
    notes.write_text("mine")
    files.serve("/talk.tar.gz", second)
    newer = source(url, "talk/original", unpack=True, sha256=hashlib.sha256(second).hexdigest())
    with pytest.raises(DownloadError, match=r"notes\.txt was not downloaded and would be lost"):
        get(newer, out)
    assert notes.read_text() == "mine" and notes.with_name("train.csv").read_bytes() == b"1"
    notes.rename(out / "notes.txt")
    get(newer, out)
    assert notes.with_name("train.csv").read_bytes() == b"2"


def test_one_file_fails_and_the_others_stay(files, out):
    urls = [files.serve(f"/{name}.csv", name.encode(), failures=[503] * 5 if name == "b" else []) for name in "abc"]
    talk = Source(
        "talk",
        "Invented talk",
        "CC0",
        "None.",
        tuple(RemoteFile(url, f"talk/{number}") for number, url in enumerate(urls)),
    )
    with pytest.raises(DownloadError, match="b.csv failed at 5 tries"):
        get(talk, out)
    assert left(out) == [RECORDS, "talk/0"]
    shown = []
    get(talk, out, lambda plan: not shown.append((plan.there, plan.size)))
    assert shown == [(("talk/0",), 2)]
    assert left(out) == [RECORDS, "talk/0", "talk/1", "talk/2"]


def test_a_cut_download_tells_what_is_there(files, out):
    talk = source(files.serve("/talk.csv", CONTENT * 20_000))

    def stop(path, done, total):
        if done > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(talk, out, progress=stop)
    assert [path.rpartition("/")[2] for path in left(out)] == ["talk.csv.part", "talk.csv.part.json"]
    shown = []
    get(talk, out, lambda plan: not shown.append(plan.partly))
    assert shown[0] > 100_000
    assert left(out) == [RECORDS, "films/talk.csv"] and (out / "films" / "talk.csv").read_bytes() == CONTENT * 20_000


def test_no_room_is_told_before_a_byte_moves(files, out, monkeypatch):
    talk = source(files.serve("/talk.csv", CONTENT))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 22}))
    with pytest.raises(DownloadError, match="talk has 23 bytes, and the disk of .* has 22 left"):
        get(talk, out)
    assert transfers(files) == 0


def test_folders_that_cannot_be_used(files, out):
    talk = source(files.serve("/talk.csv", CONTENT))
    out.mkdir()
    with FileLock(out / ".downloads.lock"), pytest.raises(FolderError, match="another download is at work"):
        get(talk, out)
    for text in ("{", "[]", '{"talk": 1}'):
        (out / RECORDS).write_text(text)
        with pytest.raises(FolderError, match="downloads.json is damaged"):
            read_records(out)
    file = out / "file"
    file.write_text("")
    with pytest.raises(FolderError, match="cannot write to"):
        get(talk, file)


def test_the_registry():
    known = list(sources())
    names = [entry.name for entry in known]
    assert len(set(names)) == len(names) == len(RELEASES) * len(LANGUAGES) + len(OTHERS)
    for entry in known:
        assert entry.licence and entry.consequences and entry.title
        for file in entry.files:
            assert file.url.startswith("https://") and " " not in file.url
            assert len(file.sha256) in (0, 64) and not file.path.startswith("/") and ".." not in file.path
    assert find_source("opensubtitles-en").files == (opensubtitles("en").files)
    with pytest.raises(ValueError, match="did you mean opensubtitles-en"):
        find_source("opensubtitles")
    with pytest.raises(ValueError, match="no source 'xyz'; did you mean opensubtitles-en, edos_amt"):
        find_source("xyz")


@pytest.mark.parametrize(
    ("name", "config"),
    [
        (name, config)
        for name in ("edos_amt", "edos_extended", "empathetic_dialogues")
        for config in builder(name).builder_configs
    ],
)
def test_builders_find_what_is_downloaded(name, config):
    """The paths of the registry are those where the builders look."""
    raw = builder(name).raw_files(config)
    paths = [file.path for file in find_source(raw.source).files]
    wanted = [
        f"{folder}/{file}".strip("/") for folder in raw.folders[:1] for part in raw.files.values() for file in part
    ]
    unpacked = [file.path for file in find_source(raw.source).files if file.unpack]
    assert all(path in paths or path.rpartition("/")[0] in unpacked for path in wanted)
    assert name in RAW_RELEASES


def test_zip_archives_stay_zipped(files, out):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("OpenSubtitles/xml/en/1999/1/2.xml", "<document/>")
    get(source(files.serve("/en.zip", buffer.getvalue()), "opensubtitles/en.zip"), out)
    assert left(out) == [RECORDS, "opensubtitles/en.zip"]


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("opensubtitles-pt_br", "/v2018/xml/pt_br.zip"),
        ("opensubtitles2016-hu", "/v2016/xml/hu.zip"),
        ("opensubtitles2024-en", "/v2024/raw/en.zip"),
        ("opensubtitles2024-zh_cn", "/v2024/raw/zh_CN.zip"),
        ("opensubtitles2024-an", "/v2024/raw/an.zip"),  # Aragonese, which the releases before do not have
    ],
)
def test_each_release_has_its_address(name, end):
    [file] = find_source(name).files
    assert file.url.endswith(end) and bool(file.sha256) == (name == "opensubtitles-en")
    with pytest.raises(ValueError, match="no source 'opensubtitles2016-an'"):
        find_source("opensubtitles2016-an")


RAW = """<?xml version="1.0" encoding="utf-8"?>
<document id="7">
<s id="1"><time id="T1S" value="00:00:01,000" />I lost my job.<time id="T1E" value="00:00:02,000" /></s>
<s id="2"><time id="T2S" value="00:00:02,500" />Oh no, what happened?<time id="T2E" value="00:00:04,000" /></s>
</document>
"""


def test_the_release_of_2024_is_downloaded_and_read(files, out, monkeypatch):
    """Its archive is served and read as it is: whole sentences with times, below YEAR/IMDB or YEAR/EPISODE_SERIES."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for place in ("2022/15963420/1957893755", "2023/123_456/8"):
            packed.writestr(f"OpenSubtitles/raw/en/{place}.xml", RAW)
        packed.writestr("INFO", "OPUS")
    entry = find_source("opensubtitles2024-en")
    url = files.serve("/OPUS-OpenSubtitles/v2024/raw/en.zip", buffer.getvalue())
    get(replace(entry, files=(replace(entry.files[0], url=url),)), out)
    films = find_films([out / "opensubtitles2024" / "en.zip"], "en").films
    table = ReadFilms(detect_language=False)(films)
    assert table["film"].to_pylist() == ["imdb/123", "imdb/15963420"]
    lines = table["lines"].to_pylist()[0]
    assert [(line["text"], line["start"]) for line in lines] == [
        ("I lost my job.", 1.0),
        ("Oh no, what happened?", 2.5),
    ]


@pytest.mark.parametrize("record", [[], {"sha256": 1}, {"members": []}, None, "x"])
def test_damaged_records_are_told(out, record):
    out.mkdir()
    (out / RECORDS).write_text(json.dumps({"talk": {"files": {"films/talk.csv": record}}}))
    with pytest.raises(FolderError, match="is damaged: move it away"):
        read_records(out)
    (out / RECORDS).write_text("[" * 5_000)
    with pytest.raises(FolderError, match="is damaged: move it away"):
        read_records(out)


@pytest.mark.parametrize("unpack", [False, True])
def test_killed_just_after_a_file_got_its_name(files, out, tmp_path, monkeypatch, unpack):
    """The next call knows it by its record, and does not take it for somebody else's."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("talk.csv", CONTENT)
    talk = source(files.serve("/talk.zip", packed.getvalue()), "films/talk.zip", unpack=unpack)

    def killed(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("edos_dataset.downloads.fetching.forget", killed)
        with pytest.raises(KeyboardInterrupt):
            get(talk, out)
    found = get(talk, out)
    assert list(found) == ["films/talk.zip"] and transfers(files) == 1
