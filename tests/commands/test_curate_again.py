"""`edos curate` into a folder that is there: what it says, refuses, and leaves alone."""

import json
import os
import shutil
from pathlib import Path

import pytest

from command_line import edos
from edos_dataset.commands.curate import curate
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.folder import FolderError
from edos_dataset.sources.inventory import find_films

FILM = "1\n00:00:01,000 --> 00:00:03,000\n- Do you come here {}?\n- Only when it rains in town.\n"
MINE = "what I wrote"


def add(folder, *words):
    for word in words:
        (folder / word).mkdir(parents=True)
        (folder / word / "film.srt").write_text(FILM.format(word))


def run(subs, out, *settings, force=False, limit=None):
    pipeline = pipeline_of(labels=False, settings=["turns.scorer=rules", *settings])
    return curate(find_films([subs], "en"), out, pipeline, force=force, limit=limit)


def content(out):
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and ".run" not in path.parts and path.name != "manifest.json"
    }


@pytest.fixture
def subs(tmp_path):
    add(tmp_path / "subs", "early", "late", "now")
    return tmp_path / "subs"


@pytest.fixture
def out(subs, tmp_path):
    run(subs, tmp_path / "edos")
    return tmp_path / "edos"


def test_another_recipe_or_input_is_told_and_needs_leave(subs, out, tmp_path):
    before = content(out)
    with pytest.raises(
        FolderError, match=r"3 films, 3 dialogues, .*: dialogues.gap 10.0 → 4.0. Give another out, or force=True"
    ):
        run(subs, out, "dialogues.gap=4.0")
    with pytest.raises(FolderError, match="1 film fewer"):
        run(subs, out, limit=2)
    (subs / "now" / "film.srt").write_text(FILM.format("then"))
    with pytest.raises(FolderError, match=r"1 film changed, such as 'subs/now"):
        run(subs, out)
    assert content(out) == before
    run(subs, out, "dialogues.gap=4.0", force=True, limit=2)
    assert content(out) != before
    run(subs, out, "dialogues.gap=4.0")  # more films need no leave
    run(subs, tmp_path / "fresh", "dialogues.gap=4.0")
    assert content(out) == content(tmp_path / "fresh")


def test_more_films_and_the_same_ones_elsewhere_need_no_leave(subs, out, tmp_path):
    add(subs, "often")
    elsewhere = tmp_path / "elsewhere" / "subs"
    shutil.copytree(subs, elsewhere, copy_function=shutil.copyfile)  # with other dates
    shutil.rmtree(subs)
    assert run(elsewhere, out)["configs"]["os"]["dialogues"] == 4


def test_an_edit_that_keeps_size_and_dates_gives_new_rows(subs, out, tmp_path):
    film = subs / "early" / "film.srt"
    status = film.stat()
    film.write_text(FILM.format("often"))
    os.utime(film, ns=(status.st_atime_ns, status.st_mtime_ns))
    run(subs, out, force=True)
    run(subs, tmp_path / "fresh")
    assert content(out) == content(tmp_path / "fresh")


def edit_card(out):
    (out / "README.md").write_text(MINE)


def link_card(out):
    (out.parent / "mine.md").write_text(MINE)
    (out / "README.md").unlink()
    (out / "README.md").symlink_to(out.parent / "mine.md")


def link_folder(out):
    (out / "os").rename(out.parent / "os")
    (out.parent / "os" / "notes").write_text(MINE)
    (out / "os").symlink_to(out.parent / "os")


def edit_data(out):
    next((out / "os").glob("*.parquet")).write_text(MINE)


@pytest.mark.parametrize("edit", [edit_card, link_card, link_folder, edit_data])
def test_what_was_edited_is_replaced_by_leave_alone(subs, out, edit):
    before = content(out)
    edit(out)
    edited = content(out.parent)
    with pytest.raises(FolderError, match="`edos curate` wrote it, but edited or damaged, .* or give force=True"):
        run(subs, out)
    assert content(out.parent) == edited
    run(subs, out, force=True)
    assert content(out) == before
    others = {name: text for name, text in content(out.parent).items() if not name.startswith(("edos/", "subs/"))}
    assert others == {name: text for name, text in edited.items() if name in others}, "what a link led to is untouched"


def test_what_was_put_beside_the_data_is_never_lost(subs, out):
    (out / "notes.txt").write_text(MINE)
    (out / ".run" / "film.run.xml").write_text(MINE)
    (out / ".run" / "00-input" / "notes.txt").write_text(MINE)
    add(subs, "often")
    run(subs, out)
    (out / "os" / "mycode.py").write_text(MINE)
    for force in (False, True):
        with pytest.raises(FolderError, match=r"mycode\.py was not written by `edos curate` and would be lost: move"):
            run(subs, out, force=force)
    mine = ("notes.txt", ".run/film.run.xml", ".run/00-input/notes.txt", "os/mycode.py")
    assert [(out / name).read_text() for name in mine] == [MINE] * 4
    (out / "os" / "mycode.py").rename(out / "mycode.py")
    (out / "os" / ".DS_Store").write_text("of a file manager")
    run(subs, out)


def test_a_run_of_somebody_else_is_left_alone(subs, tmp_path):
    out = tmp_path / "project"
    for name in (".run/build.run.xml", "os/mycode.py", "README.md"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(MINE)
    for record in (None, "[]", '{"package": "other", "command": "curate"}'):
        if record:
            (out / ".run" / "made_by.json").write_text(record)
        for force in (False, True):
            with pytest.raises(FolderError, match="was written by another program"):
                run(subs, out, force=force)
    assert set(content(out).values()) == {MINE.encode()} and (out / ".run" / "build.run.xml").read_text() == MINE


def test_on_the_command_line(subs, out):
    command = ["curate", subs, "--out", out, "--no-labels", "--workers", 1, "--set", "turns.scorer=rules"]
    assert edos(*command).exit_code == 0
    refused = edos(*command, "--set", "dialogues.gap=4.0")
    assert refused.exit_code == 1 and "dialogues.gap 10.0 → 4.0" in refused.stderr and "Traceback" not in refused.stderr
    assert edos(*command, "--set", "dialogues.gap=4.0", "--force").exit_code == 0
    assert "gap: 4.0" in json.loads((Path(out) / "manifest.json").read_text())["recipe"]
