"""Bad inputs through the command: each is told of in one clear line, and the run goes on."""

import gzip
import io
import json
import os
import signal
import subprocess
import time
import zipfile
import zlib

import pytest
from typer.testing import CliRunner

from edos_dataset.cli.app import app
from edos_dataset.sources import formats
from installed_formats import READER, install

GOOD = "1\n00:00:01,000 --> 00:00:03,000\n- Where have you been all night?\n- I was waiting at the station.\n"
HEADER = '<?xml version="1.0" encoding="utf-8"?>\n'
XML = HEADER + (
    '<document id="1"><s id="1"><time id="T1S" value="00:00:01,000"/>Is it {}?<time id="T1E" '
    'value="00:00:02,000"/></s></document>'
)
ENTITIES = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


def edos(*arguments):
    """Give a command in this process: an error that is no sentence for the user comes through."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def curate(folder, out, *options):
    return edos("curate", folder, "--out", out, "--no-labels", "--workers", "1", "--max-bad", "1", *options)


def zipped(**members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"en/2000/77/{name}.xml", content)
    return data.getvalue()


def corrupt_zip():
    data = bytearray(zipped(bad=XML.format("true " * 200)))
    place = data.index(b".xml") + 10
    data[place : place + 8] = bytes(8)
    return bytes(data)


def zip_bomb():
    return zipped(bomb=HEADER + "<document>" + " " * 70_000_000 + "</document>")


BAD = {
    "cut.srt.gz": (gzip.compress(os.urandom(3000) + GOOD.encode())[:-500], "truncated"),
    "broken.zip": (corrupt_zip, "corrupt_member"),
    "bomb.zip": (zip_bomb, "too_large"),
    "bomb.srt.gz": (lambda: gzip.compress(bytes(70_000_000), 1), "too_large"),
    "laughs.xml": (HEADER + ENTITIES + "<document><s id='1'>&b;</s></document>", "forbidden_xml"),
    "outside.xml": (
        HEADER + '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><document><s id="1">&x;</s></document>',
        "forbidden_xml",
    ),
    "empty.srt": ("", "empty_file"),
    "line.srt": (lambda: b"word " * 3_000_000, "not_subtitles"),
    "line.xml": (lambda: XML.format("word " * 3_000_000).encode(), "not_subtitles"),
    "cut.xml": (XML.format("true")[:-30], "truncated"),
    "noise.srt": (zlib.compress(b"x" * 5000) * 20, "not_subtitles"),
    "prose.srt": ("It was a dark night.\n" * 40, "not_subtitles"),
}


@pytest.fixture
def films(tmp_path):
    folder = tmp_path / "films"
    folder.mkdir()
    (folder / "good.srt").write_text(GOOD)
    return folder


@pytest.mark.parametrize("name", BAD)
def test_quarantined(name, films, tmp_path):
    content, reason = BAD[name]
    content = content() if callable(content) else content
    (films / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    began = time.monotonic()
    done = curate(films, tmp_path / "edos", "--json")
    assert done.exit_code == 0, done.stderr
    assert time.monotonic() - began < 60
    manifest = json.loads(done.stdout)
    assert [(note["reason"], name in note["detail"]) for note in manifest["quarantined"]] == [(reason, True)]
    assert manifest["configs"]["os"]["dialogues"] == 1


def test_all_bad_is_told_by_the_exit_code(films, tmp_path):
    for number in range(9):
        (films / f"{number}.srt").write_text("")
    done = edos("curate", films, "--out", tmp_path / "edos", "--no-labels", "--workers", "1")
    assert done.exit_code == 3
    assert "90% of the files could not be read" in done.stderr
    assert (tmp_path / "edos" / "README.md").exists()


@pytest.mark.parametrize("command", ["curate", "segment"])
@pytest.mark.parametrize(
    ("place", "content", "reason"),
    [
        ("fifty films.zip", zipped(film=XML.format("true"))[:-30], "unreadable_zip"),
        ("no/such", None, "unreadable_folder"),
    ],
)
def test_what_holds_nobody_knows_how_many_files(place, content, reason, command, films, tmp_path, monkeypatch):
    """A folder or an archive that cannot be opened is never passed over in silence."""
    for number in range(9):
        (films / f"{number}.srt").write_text(GOOD)
    if content:
        (films / place).write_bytes(content)
    else:
        scandir = os.scandir
        monkeypatch.setattr(os, "scandir", lambda path: scandir("/none" if str(path).endswith("no/such") else path))
        (films / place).mkdir(parents=True)
    out = tmp_path / "out"
    options = ["--no-labels"] if command == "curate" else []
    done = edos(command, films, "--out", out, "--workers", "1", *options)
    assert done.exit_code == 3
    assert f"{reason} films/{place}: " in done.stdout
    assert "counts as all of them" in " ".join(done.stderr.split())
    assert out.exists()
    assert edos(command, films, "--out", out, "--workers", "1", "--max-bad", "1", "--force", *options).exit_code == 0
    if command == "curate":
        manifest = json.loads((out / "manifest.json").read_text())
        assert [note["path"] for note in manifest["quarantined"]] == [f"films/{place}"]
        assert (manifest["input"]["files"], manifest["input"]["unopened"]) == (10, 1)
        guess = edos(command, films, "--out", out, "--dry-run", *options)
        assert f"{reason} films/{place}: " in guess.stdout


def test_names_that_are_no_text(films, tmp_path):
    """Not UTF-8, with breaks of lines and control characters: read, told, and written as one line of text each."""
    folder = os.fsencode(films)
    waited = (
        "We walked along the river, as we had nothing to do.",
        "There was no train.",
        "My sister needed me!",
    )
    odd = (b"caf\xe9.srt", b"a\nb\x1b[2Jc.srt", "exe\u202etrs.\u2028srt".encode() + b".srt")
    for name, answer in zip(odd, waited, strict=True):
        with open(folder + b"/" + name, "w") as file:
            file.write(GOOD.replace("I was waiting at the station.", answer))
    for name in (b"caf\xe9.txt", b"bad\xe9\n.srt", b"pipe\x1b.srt"):
        with open(folder + b"/" + name, "w"):
            pass
    done = curate(films, tmp_path / "edos", "--recipe", "papers")
    assert done.exit_code == 0, done.stderr
    assert "empty_file films/bad%E9%0A.srt: 0 bytes" in done.stdout
    assert "\x1b" not in done.stdout
    manifest = json.loads((tmp_path / "edos" / "manifest.json").read_text())
    assert manifest["input"]["skipped"] == [["films/caf%E9.txt", "not_subtitles: suffix .txt"]]
    assert manifest["configs"]["os"]["dialogues"] == 4
    written = edos(
        "segment",
        films,
        os.fsdecode(folder + b"/caf\xe9.srt"),
        "--out",
        tmp_path / "x.jsonl",
        "--workers",
        1,
        "--max-bad",
        1,
    )
    assert written.exit_code == 0, written.stderr
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert {row["document_id"] for row in rows} == {
        "films/good.srt", "films/caf%E9.srt", "films/a%0Ab%1B[2Jc.srt", "films/exe%E2%80%AEtrs.%E2%80%A8srt.srt",
    }  # fmt: skip
    gone = edos("segment", os.fsdecode(folder + b"/gone\xe9.srt"), "--out", tmp_path / "y.jsonl", "--workers", 1)
    assert gone.exit_code == 1 and "gone%E9.srt: No such file" in gone.stderr


SLOW = READER.replace("    texts =", "    while b'LINES' not in data:\n        pass\n    texts =")


@pytest.mark.parametrize(("engine", "workers"), [("local", 1), ("local", 2), ("datasets", 1)])
def test_a_file_that_takes_too_long(engine, workers, films, tmp_path, monkeypatch):
    """On every engine files are read where an alarm can be heard."""
    install(tmp_path / "site", SLOW)
    monkeypatch.syspath_prepend(tmp_path / "site")
    for cached in (formats.formats, formats.formats_by_suffix):
        cached.cache_clear()
    (films / "slow.lines").write_text("never")
    (films / "fast.lines").write_text("LINES\nHello there, you.\nHow are you?")
    options = ["--engine", engine, "--recipe", "papers", "--set", "read.max_seconds=3", "--set", "turns.scorer=rules"]
    done = edos("curate", films, "--out", tmp_path / "edos", "--no-labels", "--workers", workers, "--json", *options)
    for cached in (formats.formats, formats.formats_by_suffix):
        cached.cache_clear()
    assert done.exit_code == 3, done.stderr
    assert [note["reason"] for note in json.loads(done.stdout)["quarantined"]] == ["too_slow"]
    assert json.loads(done.stdout)["configs"]["os"]["dialogues"] == 2


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("utf16.srt", GOOD.replace("night", "éjszaka").encode("utf-16")),
        ("utf16be.srt", GOOD.replace("night", "éjszaka").encode("utf-16-be")),
        (
            "latin2.xml",
            (
                HEADER
                + '<document id="1"><s id="1">Tűz van, őszintén szólva félek, mert éjszaka gyűlnek.</s></document>'
            ).encode("iso-8859-2"),
        ),
    ],
)
def test_odd_encodings_are_read(name, data, films, tmp_path):
    (films / name).write_bytes(data)
    done = curate(films, tmp_path / "edos", "--json", "--rejects")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["quarantined"] == []
    assert json.loads(done.stdout)["stages"][0]["kept"] == 2


def test_directory_loop_and_other_files(films, tmp_path):
    (films / "loop").symlink_to(films, target_is_directory=True)
    (films / "poster.jpg").write_bytes(b"\xff\xd8")
    done = curate(films, tmp_path / "edos", "--json")
    assert done.exit_code == 0, done.stderr
    manifest = json.loads(done.stdout)
    assert manifest["input"]["files"] == 1
    assert {path: reason.partition(":")[0] for path, reason in manifest["input"]["skipped"]} == {
        "films/loop": "seen_before",
        "films/poster.jpg": "not_subtitles",
    }


def test_no_read_permission(films, tmp_path):
    (films / "secret.srt").write_text(GOOD)
    (films / "secret.srt").chmod(0)
    if os.access(films / "secret.srt", os.R_OK):
        pytest.skip("this user may read everything")
    done = curate(films, tmp_path / "edos", "--json")
    assert done.exit_code == 0, done.stderr
    assert [note["reason"] for note in json.loads(done.stdout)["quarantined"]] == ["unreadable"]


def test_full_disk(films, tmp_path, commands):
    """A file size limit stands for the full disk: the write fails with an OSError in the middle of the run."""
    for number in range(40):
        (films / f"more{number}.srt").write_text(GOOD.replace("station", f"station {number} {'x' * number}"))
    limited = f"import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)); {_RUN}"
    command = ["curate", str(films), "--out", str(tmp_path / "edos"), "--no-labels", "--workers", "1"]
    done = subprocess.run([commands / "python", "-c", limited, *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "run the same command again" in done.stderr
    assert not list((tmp_path / "edos").rglob("*.tmp"))
    assert not (tmp_path / "edos" / "README.md").exists()
    again = edos(*command)
    assert again.exit_code == 0, again.stderr


_HOLD = """
import os, pathlib, sys, time
from edos_dataset.runs.folder import OutputFolder
with OutputFolder(pathlib.Path(sys.argv[1]), "curate"):
    print(os.getpid(), flush=True)
    time.sleep(60)
"""
_RUN = (
    "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); runpy.run_module('edos_dataset', "
    "run_name='__main__')"
)


def test_two_runs_into_one_folder(films, tmp_path, commands):
    out = tmp_path / "edos"
    with subprocess.Popen([commands / "python", "-c", _HOLD, out], stdout=subprocess.PIPE, text=True) as first:
        holder = int(first.stdout.readline())
        second = curate(films, out)
        assert second.exit_code == 1
        os.kill(holder, signal.SIGKILL)
        assert f"process {holder} is running" in " ".join(second.stderr.split())
    assert curate(films, out).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["curate", "nowhere", "--out", "x"], "nowhere"),
        (["curate", "films", "--out", "films"], "films is the source and would be lost"),
        (["curate", "films", "--out", "x", "--set", "dialogue.gap=3"], "did you mean 'dialogues'"),
        (["curate", "films", "--out", "x", "--set", "dialogues.gap=long"], "gap"),
        (["curate", "films", "--out", "x", "--set", "dialogues.gap=-1"], "gap"),
        (["curate", "films", "--out", "x", "--recipe", "films/good.srt"], "recipe"),
        (["curate", "films", "--out", "x", "--by", "beauty"], "beauty"),
        (["curate", "films", "--out", "x", "--set", "weak_label.model=nowhere"], "nowhere"),
        (["curate", "films", "--out", "x", "--set", "encode.model=nowhere"], "nowhere"),
        (["inspect", "films"], "films was not written by this package"),
    ],
)
def test_mistakes_are_explained(arguments, message, films, monkeypatch):
    monkeypatch.chdir(films.parent)
    done = edos(*arguments)
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.stderr.split())
    assert not (films.parent / "x" / "README.md").exists()
