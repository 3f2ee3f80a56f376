"""Books of Project Gutenberg from a mirror on this machine: chosen by the catalogue, asked for politely, resumed."""

import json
import time

import pytest

from command_line import edos
from edos_dataset.downloads import gutenberg
from edos_dataset.downloads.catalogue import CatalogueError, read_catalogue
from edos_dataset.downloads.gutenberg import PoliteServer, Wanted, addresses, fetch_books
from edos_dataset.downloads.records import RECORDS
from edos_dataset.downloads.transfer import DownloadError

HEADER = "Text#,Type,Issued,Title,Language,Authors,Subjects,LoCC,Bookshelves\n"
ROWS = (
    HEADER
    + '9,Text,2001-01-01,"Kilenc, alma",hu,"Nobody, Ann, 1801-1870",,,\n'
    + "12345,Text,2001-01-01,Harom ajto,hu,,,,\n"
    + "40715,Text,2001-01-01,Negy,hu; en,Somebody,,,\n"
    + "11,Text,2001-01-01,Two doors,en,Nobody,,,\n"
    + "13,Sound,2001-01-01,Music,hu,,,,\n"
)
BOOK = b"A book.\n" * 200


@pytest.fixture
def mirror(files, monkeypatch):
    monkeypatch.setattr(gutenberg, "CATALOGUE_URL", files.serve("/feeds/pg_catalog.csv", ROWS.encode()))
    files.serve("/cache/epub/9/pg9.txt", BOOK)
    files.serve("/1/2/3/4/12345/12345-8.txt", b"\xe9" + BOOK)
    files.serve("/cache/epub/40715/pg40715.txt", BOOK * 3)
    files.serve("/cache/epub/11/pg11.txt", BOOK)
    return files


def fetch(mirror, out, limit=50, language="hu", agree=lambda _: True, **more):
    server = PoliteServer(pause=0, wait=0.001, timeout=5)
    return fetch_books(Wanted(language, limit, mirror.url + "/", out), agree, server=server, **more)


def transfers(files):
    return {path: [method for method, _ in file.requests] for path, file in files.files.items() if file.requests}


def test_addresses():
    assert list(addresses(12345))[:2] == ["cache/epub/12345/pg12345.txt", "1/2/3/4/12345/12345-0.txt"]
    assert list(addresses(9))[-1] == "0/9/9.txt"
    assert list(addresses(10))[-1] == "1/10/10.txt"


def test_the_books_of_a_language_and_no_others(mirror, tmp_path):
    fetched = fetch(mirror, tmp_path)
    folder = tmp_path / "gutenberg"
    assert sorted(path.name for path in (folder / "hu").iterdir()) == ["pg12345.txt", "pg40715.txt", "pg9.txt"]
    assert (folder / "hu" / "pg12345.txt").read_bytes() == b"\xe9" + BOOK
    assert (fetched.missing, fetched.listed, len(fetched.records)) == ((), 3, 3)
    recorded = json.loads((tmp_path / RECORDS).read_text())
    assert sorted(recorded) == ["gutenberg", "gutenberg-hu"]
    assert recorded["gutenberg-hu"]["licence"] == gutenberg.LICENCE
    assert recorded["gutenberg-hu"]["files"]["gutenberg/hu/pg9.txt"]["url"].endswith("/cache/epub/9/pg9.txt")
    before = transfers(mirror)
    assert fetch(mirror, tmp_path).records == fetched.records
    assert transfers(mirror) == before  # all is there: nobody is asked


def test_limit_takes_the_first_by_number_and_more_later(mirror, tmp_path):
    assert list(fetch(mirror, tmp_path, limit=1).records) == ["gutenberg/hu/pg9.txt"]
    assert len(fetch(mirror, tmp_path, limit=2).records) == 2
    assert transfers(mirror)["/cache/epub/9/pg9.txt"].count("GET") == 1


def test_nothing_moves_before_agreement(mirror, tmp_path):
    shown = []
    assert fetch(mirror, tmp_path, agree=lambda wanted: shown.append(wanted.title)) is None
    assert not transfers(mirror) and "Hungarian" in shown[0]


def test_cut_off_and_resumed(mirror, tmp_path):
    mirror.files["/cache/epub/40715/pg40715.txt"].cut_after = [100] * 2 + [0] * 4
    with pytest.raises(DownloadError, match=r"failed at 5 tries.*bytes are kept"):
        fetch(mirror, tmp_path)
    assert (tmp_path / "gutenberg" / "hu" / "pg9.txt").exists()
    assert not (tmp_path / "gutenberg" / "hu" / "pg40715.txt").exists()
    assert len(fetch(mirror, tmp_path).records) == 3
    assert (tmp_path / "gutenberg" / "hu" / "pg40715.txt").read_bytes() == BOOK * 3
    ranges = [asked for _, asked in mirror.files["/cache/epub/40715/pg40715.txt"].requests if asked]
    assert ranges[-1] == "bytes=200-"


def test_a_book_that_the_mirror_lacks_is_told(mirror, tmp_path):
    del mirror.files["/cache/epub/9/pg9.txt"]
    fetched = fetch(mirror, tmp_path)
    assert [book.number for book in fetched.missing] == [9] and len(fetched.records) == 2


def test_the_pause_is_kept(mirror, tmp_path):
    server = PoliteServer(pause=0.05, wait=0.001, timeout=5)
    began = time.monotonic()
    fetch_books(Wanted("hu", 1, mirror.url, tmp_path), lambda _: True, server=server)
    asked = sum(len(requests) for requests in transfers(mirror).values())
    assert asked == 4 and time.monotonic() - began >= 0.05 * 3


@pytest.mark.parametrize(
    ("language", "limit", "url", "says"),
    [
        ("hu", 0, "https://x.org", "limit must be 1 or more, got 0"),
        ("qq", 1, "https://x.org", "no language has the code 'qq'"),
        ("hu", 1, "x.org", "'x.org' is no address"),
        ("hu", 1, "ftp://x.org", "is no address"),
        ("hu", 1, "https://www.gutenberg.org/files", "is for people and locks robots out; give a mirror"),
    ],
)
def test_what_is_no_wish(language, limit, url, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        Wanted(language, limit, url, tmp_path)


def test_a_language_without_books(mirror, tmp_path):
    with pytest.raises(ValueError, match="knows no book in 'fi'"):
        fetch(mirror, tmp_path, language="fi")


def test_broken_rows_of_the_catalogue_are_told(tmp_path):
    path = tmp_path / "pg_catalog.csv"
    broken = ",,,,,,,,\nx,Text,,A,en,,,,\n5,Text,,A,,,,,\n6,Text,short\n7,Text,,\0A\nB,en,,,,\n"
    path.write_text(HEADER + '8,Text,,"Two\nlines",en; de,"N, A",,,\n' + broken)
    catalogue = read_catalogue(path)
    assert {number: book[1:] for number, book in catalogue.books.items()} == {8: (("en", "de"), "Two lines", "N, A")}
    assert len(catalogue.faults) == 6 and catalogue.faults[0] == "line 4: is empty"
    assert "line 6: book 5 has no language" in catalogue.faults


@pytest.mark.parametrize("content", [b"", b"<html>", b"a,b\n1,2\n", b"\x1f\x8bbroken"])
def test_what_is_no_catalogue(content, tmp_path):
    path = tmp_path / "pg_catalog.csv"
    path.write_bytes(content)
    with pytest.raises(CatalogueError, match="fetch it again"):
        read_catalogue(path)


def test_the_command(mirror, tmp_path, monkeypatch):
    monkeypatch.setattr(gutenberg, "PAUSE", 0)
    monkeypatch.setattr(PoliteServer.__init__, "__defaults__", (0, 0.001, 5))
    given = ("--language", "hu", "--limit", "2", "--mirror", mirror.url, "--out", tmp_path)
    done = edos("download", "gutenberg", *given)
    assert done.exit_code == 2 and "give --yes" in done.stderr and not transfers(mirror)
    done = edos("download", "gutenberg", *given, "--yes")
    assert done.exit_code == 0
    assert "public domain in the USA" in done.stderr and mirror.url in done.stderr
    assert "2 of 3 books" in done.stdout and "pg9.txt" in done.stdout
    wrong = edos("download", "gutenberg", "--out", tmp_path)
    assert wrong.exit_code == 1 and "--language hu" in wrong.stderr
    wrong = edos("download", "meld", "--language", "hu", "--out", tmp_path)
    assert wrong.exit_code == 2 and "is for the source" in wrong.stderr
