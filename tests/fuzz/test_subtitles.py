"""Broken subtitles and archives through `edos curate`: each is kept or rejected with a reason, and listed once."""

import bz2
import gzip
import io
import json
import lzma
import os
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from edos_dataset.sources.formats import formats_by_suffix
from fuzzing import check_counts, edos, fuzz, mutated

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "edos_dataset" / "sample" / "films"
SUBTITLES = [
    path.read_bytes()[:6_000]
    for path in sorted(SAMPLE.rglob("*"))
    if path.suffix in (".srt", ".vtt", ".ass", ".xml") and path.stat().st_size
]
CAPTIONS = [
    b'<tt xmlns:p="p" p:tickRate="10">'
    b'<body><div begin="1s"><p begin="5t" end="00:00:03:10">A<br/>b</p></div></body></tt>',
    b"<SAMI><STYLE>.EN {lang:en;}</STYLE><SYNC Start=1000><P Class=EN>One<br>two<SYNC Start=2000><P Class=EN>&nbsp;",
    b"{1}{1}25\n{25}{50}{y:i}You came.|Yes.\n{62}{100}I did.\n",
    b"[ti:x]\n[00:01.00][00:09.5]You <00:01.50>came.\n[00:02.00]\n[00:02.50]I did.\n",
    b"0:00:01.000,0:00:02.000\nYou came.\n\n00:00:02.50,00:00:04.00\nI[br]did.\n",
    b"<timedtext><body>"
    b'<p t="1000" d="1200" a="1"><s>You</s><s t="9"> came.</s></p><p t="2500">No.</p></body></timedtext>',
    b'{"events": [{"tStartMs": 1000, "dDurationMs": 9, "aAppend": 1, "segs": [{"utf8": "You"}, {"utf8": " came."}]}]}',
    b'{"segments": [{"start": 1.0, "end": 2, "text": " Hi.", '
    b'"speaker": "A", "words": [{"word": "Hi.", "speaker": 1}]}]}',
]
WORDS = [
    *(b"\n\n", b"\r\n\r\n", b"00:00:01,000 --> 00:00:02,000\n", b"99:99:99,999 --> 00:00:00,000\n", b"WEBVTT\n\n"),
    *(b"<i>", b"</i>", b"<v ", b"<v Ann>", b"{\\an8}", b"[", b"]", b"(", b"\xe2\x99\xaa", b"- ", b"...", b"made & "),
    *(b"Edited & ", b' initial="a">', b"<w>", b"</w>", b'<s id="1">', b"</s>", b'"', b"''", b"&amp;", b"&#55357;"),
    *(b"<time id='T1S' value='00:00:01,000'/>", b"<!DOCTYPE d [", b'<?xml version="1.0"?>', b"<![CDATA[", b"]]>"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\x00", b"\xe9", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"Dialogue: 0,0:00:01.00,"),
    *(b"<tokens>1e-308</tokens>", b"<unknown_words>1e308</unknown_words>", b"<year>-99999999999999999999</year>"),
    *(b"<cds>1/0</cds>", b"<duration>99:99</duration>", b"<genre><b>x</b>|`</genre>", b"[Events]\n", b"Format: "),
    *(b"<br/>", b"<tt>", b' begin="1t"', b"{0}{1}", b"[00:01.00]", b"<SYNC Start=1>", b"null", b"1e999", b'"\\ud800"'),
]
SUFFIXES = (".srt", ".vtt", ".ass", ".ssa", ".xml", ".ttml", ".sub", ".smi", ".lrc", ".json3")
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..")
)
MEMBERS = st.one_of(NAMES, st.sampled_from(["en/2000/7/1", "en/2000/7/2", "../up", "/root", "a//b", "a/../b", ""]))


def packings(data: bytes) -> list[bytes]:
    """Return a file as it is, and gzipped."""
    return [data, gzip.compress(data, 1)]


@st.composite
def subtitles(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw the suffix and the bytes of a file; a few are broken after they were packed."""
    data, suffix = draw(mutated([*SUBTITLES, *CAPTIONS], WORDS)), draw(st.sampled_from(SUFFIXES))
    if draw(st.integers(0, 5)):
        return suffix, data
    return f"{suffix}.gz", draw(mutated(packings(data[:20_000])))


def curate(folder: Path, files: int) -> dict[str, object]:
    out = folder / "edos"
    done = edos(
        *("curate", folder / "films", "--out", out, "--no-labels", "--workers", "1", "--max-bad", "1", "--json"),
        files=files,
    )
    if done.exit_code == 1:  # no file was recognised
        assert "no subtitles in" in done.stderr and not (out / "manifest.json").exists(), done.stderr
        return {"none": done.stderr}
    manifest: dict[str, object] = json.loads(done.stdout)
    check_counts(manifest)
    return manifest


def listed(folder: Path, manifest: dict[str, object]) -> Counter[str]:
    """Return how often each path is listed as read or left out."""
    skipped = manifest["input"]["skipped"]  # type: ignore[index]
    paths = Counter(path for path, _ in skipped)
    unopened = {note["path"] for note in manifest["quarantined"]}  # type: ignore[index]
    for shard in sorted((folder / "edos" / ".run" / "00-input").glob("*.parquet")):
        paths.update(pc.struct_field(pc.list_flatten(pq.read_table(shard)["files"]), "path").to_pylist())
    paths.update(unopened - paths.keys())  # the others were found, and are bad
    return paths


def check_files(files: dict[str, tuple[str, bytes]], folder: Path) -> None:
    """Each file is read or left out, once."""
    (folder / "films").mkdir()
    written = set()
    for name, (suffix, data) in files.items():
        path = folder / "films" / f"{name}{suffix}"
        try:
            path.write_bytes(data)
        except OSError:  # too long a name for this file system
            continue
        written.add(path.name)
    manifest = curate(folder, len(files))
    if "none" in manifest:
        assert not any(name.lower().endswith(tuple(formats_by_suffix())) for name in written - {""}), written
        return
    paths = listed(folder, manifest)
    assert len(paths) == paths.total() == len(written), (sorted(written), paths)
    assert manifest["input"]["files"] == manifest["stages"][0]["read"]  # type: ignore[index]


def check_zip(example: tuple[list[tuple[str, bytes, int]], list[tuple[str, int, int]]], folder: Path) -> None:
    """Each member of an archive is read or left out, once; an archive that cannot be read counts as bad."""
    members, wounds = example
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, data, method in members:
            packed.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    data = bytearray(archive.getvalue())
    for kind, place, value in wounds:
        if data and kind == "flip":
            data[place % len(data)] ^= value
        elif kind == "cut":
            del data[place % (len(data) + 1) :]
    (folder / "films").mkdir()
    (folder / "films" / "all.zip").write_bytes(data)
    (folder / "films" / "good.srt").write_bytes(SUBTITLES[-1])
    manifest = curate(folder, len(members) + 1)
    paths = listed(folder, manifest)
    assert len(paths) == paths.total(), paths
    if not wounds:
        inside = [name for name, data, _ in members if data or not name.endswith("/")]
        assert len(paths) == 1 + len(inside), (members, paths)


METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
BOMBS = [bz2.compress(bytes(10**7)), lzma.compress(bytes(10**7)), gzip.compress(bytes(10**7))]
ZIPS = st.tuples(
    st.lists(
        st.tuples(
            st.builds(str.__add__, MEMBERS, st.sampled_from((*SUFFIXES, ".xml.gz", ".zip", "", "/"))),
            st.one_of(mutated([*SUBTITLES, *CAPTIONS], WORDS), st.sampled_from(BOMBS)),
            st.sampled_from(METHODS),
        ),
        max_size=4,
    ),
    st.lists(
        st.tuples(st.sampled_from(("flip", "flip", "flip", "cut")), st.integers(0, 10**6), st.integers(1, 255)),
        max_size=8,
    ),
)


def test_subtitles() -> None:
    fuzz(st.dictionaries(NAMES, subtitles(), min_size=1, max_size=5), check_files)


def test_zips() -> None:
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # zipfile warns of names that come twice, which is the point
    fuzz(ZIPS, check_zip)
