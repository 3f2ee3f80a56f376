"""What `prepare_published` leaves in a folder: files, card and picture that belong together,
whatever was there before.
"""

import json
import shutil

import pytest

from edos_dataset.label_sets import load_label_set
from edos_dataset.publishing import published
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE, draw_labels, label_order
from edos_dataset.publishing.published import prepare_published
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.folder import FolderError, OutputFolder
from edos_dataset.runs.shards import write_checked
from edos_dataset.schema import CONFIGS
from published_folder import films_of, write_shards

FILMS = [*films_of("train", 4), *films_of("test", 1)]
ORIGIN = Origin("edos curate SUBTITLES --out edos", "abc", {"edos-dataset": "1"})
PNG = b"\x89PNG\r\n\x1a\n"


def put(out, configs=CONFIGS, films=FILMS, force=False):
    """Write shards into a folder, as a run does."""
    outputs = {config: write_shards(out.parent / "shards", films, config) for config in configs}
    with OutputFolder(out, "curate", force=force) as folder:
        written = prepare_published(folder, outputs, "en", [], [], ORIGIN, LocalEngine())
        folder.commit()
        return written


def content(out):
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and ".run" not in path.parts
    }


@pytest.fixture
def sketched(monkeypatch):
    """A picture at once, for what does not look at it."""
    monkeypatch.setattr(published, "draw_labels", lambda labels, config, path, of: path.write_bytes(PNG))


def test_picture_and_card_again_the_same(tmp_path):
    out = tmp_path / "edos"
    first = put(out)
    files = content(out)
    assert files[LABEL_PICTURE].startswith(PNG) and f"]({LABEL_PICTURE})".encode() in files["README.md"]
    stamp = (out / LABEL_PICTURE).stat().st_mtime_ns
    assert put(out) == first, "read from the record"
    assert content(out) == files and (out / LABEL_PICTURE).stat().st_mtime_ns == stamp
    shutil.rmtree(out)
    assert put(out) == first and content(out) == files


def test_what_is_gone_is_made_again_and_what_is_edited_by_leave(tmp_path):
    out = tmp_path / "edos"
    put(out)
    files = content(out)
    (out / LABEL_PICTURE).write_bytes(b"not a picture")
    with pytest.raises(FolderError, match=r"png is not as `edos curate` wrote it, but edited or damaged"):
        put(out)
    put(out, force=True)
    assert content(out) == files
    (out / LABEL_PICTURE).unlink()
    put(out)
    assert content(out) == files


@pytest.mark.usefixtures("sketched")
def test_no_labels_no_picture(tmp_path):
    out = tmp_path / "edos"
    put(out)
    put(out, ["os"])
    assert not (out / LABEL_PICTURE).exists() and LABEL_PICTURE not in (out / "README.md").read_text()
    assert {name.partition("/")[0] for name in content(out)} == {"README.md", "os"}


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("damage", ["another version", "other fields", "cut off", "another count"])
def test_a_record_of_another_version_is_not_believed(tmp_path, damage):
    """Of the fields only what this version writes may be read; tokens were one number once."""
    out = tmp_path / "edos"
    first = put(out)
    path = out / ".run" / "published.json"
    record = json.loads(path.read_text())
    if damage == "another version":
        record["key"] = "0" * 64
        record["configs"] = [
            {
                "config": "os",
                "files": {},
                "rows": {},
                "turns": {},
                "bytes": {},
                "arrow_bytes": {},
                "tokens": 7,
                "labels": {},
            }
        ]
    elif damage == "other fields":
        record["configs"][0]["speakers"] = 3
    elif damage == "another count":
        record["configs"][0]["rows"]["train"] += 1
    del record["sha256"]
    write_checked(path, record)
    if damage in ("cut off", "another count"):
        text = path.read_text()
        path.write_text(text[:100] if damage == "cut off" else json.dumps({**json.loads(text), "sha256": "0" * 64}))
    assert put(out) == first
    assert json.loads(path.read_text())["configs"] == [json.loads(json.dumps(vars(written))) for written in first]


def test_the_picture_depends_on_the_counts_alone(tmp_path):
    import matplotlib

    labels = {38: 30, 0: 20, 40: 20, 12: 1}
    draw_labels(labels, "edos", tmp_path / "a.png")
    with matplotlib.rc_context(
        {"font.size": 30, "figure.dpi": 30, "savefig.dpi": 30, "savefig.facecolor": "black", "axes.edgecolor": "red"}
    ):
        draw_labels(dict(reversed(labels.items())), "edos", tmp_path / "b.png")
    draw_labels({**labels, 12: 9}, "edos", tmp_path / "c.png")
    a, b, c = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert a == b != c
    assert a.startswith(PNG) and b"edos-dataset" in a and b"atplotlib" not in a
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png", "c.png"]


def test_the_picture_is_opaque(tmp_path):
    from matplotlib.image import imread

    draw_labels({38: 3, 1: 1}, "edos", tmp_path / "a.png")
    pixels = imread(tmp_path / "a.png")
    assert pixels.shape[2] == 3 or (pixels[..., 3] == 1).all()
    assert pixels[0, 0, :3].tolist() == [1, 1, 1]


EDOS = load_label_set("edos41")


def test_order_and_kinds():
    assert label_order({5: 2, 3: 2, 40: 9})[:4] == [40, 3, 5, 0]
    assert [EDOS.kind(EDOS.labels[label]) for label in (0, 31, 32, 39, 40)] == [
        "emotion",
        "emotion",
        "response intent",
        "response intent",
        "neutral",
    ]
