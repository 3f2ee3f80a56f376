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
    "line.srt": (lambda: b"word " * 4_000_000, "not_subtitles"),
    "line.xml": (lambda: XML.format("word " * 4_000_000).encode(), "not_subtitles"),
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
    assert "give the same command again" in done.stderr
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
        (["curate", "films", "--out", "films"], "not empty"),
        (["curate", "films", "--out", "x", "--set", "dialogue.gap=3"], "did you mean 'dialogues'"),
        (["curate", "films", "--out", "x", "--set", "dialogues.gap=long"], "gap"),
        (["curate", "films", "--out", "x", "--set", "dialogues.gap=-1"], "gap"),
        (["curate", "films", "--out", "x", "--recipe", "films/good.srt"], "recipe"),
        (["curate", "films", "--out", "x", "--by", "beauty"], "beauty"),
        (["curate", "films", "--out", "x", "--set", "weak_label.model=nowhere"], "nowhere"),
        (["curate", "films", "--out", "x", "--set", "encode.model=nowhere"], "nowhere"),
        (["inspect", "films"], "manifest.json"),
    ],
)
def test_mistakes_are_explained(arguments, message, films, monkeypatch):
    monkeypatch.chdir(films.parent)
    done = edos(*arguments)
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.stderr.split())
    assert not (films.parent / "x" / "README.md").exists()
