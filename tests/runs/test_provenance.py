"""The provenance of a finished folder: what is reported before it is replaced, and what needs no --force."""

import logging

import pytest

from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.folder import FolderError, OutputFolder
from edos_dataset.runs.provenance import Provenance, digests_of, parameters_of

FILMS = {"f1": "a", "f2": "b", "f3": "c"}
MADE = Provenance({"gap": 5.0, "shares": (0.6, 0.4), "stages": ["read", "dialogues"]}, {"films": FILMS}, "code")


def finish(out, made=MADE, force=False):
    """Do what a command does."""
    with OutputFolder(out, "toy", force=force) as folder:
        made.check(folder)
        (folder.prepare() / "README.md").write_text(str(made))
        made.write(folder, {"films": 3, "dialogues": 67492})
        folder.commit()


def other(parameters=(), films=FILMS, code="code"):
    return Provenance({**MADE.parameters, **dict(parameters)}, {"films": films}, code)


@pytest.mark.parametrize(
    ("made", "reported"),
    [
        (other({"gap": 4.0}), "gap 5.0 → 4.0"),
        (other({"shares": (0.5, 0.5)}), "shares without 0.6, 0.4 and with 0.5, 0.5"),
        (other({"stages": ["read"]}), "stages without dialogues"),
        (other({"stages": ["dialogues", "read"]}), "stages in another order"),
        (other({"gap": True}, code="new"), "gap 5.0 → True"),
        (other(films={"f1": "a"}), "2 films fewer, such as 'f2'"),
        (other(films={**FILMS, "f3": "x", "f4": "d"}), "1 film changed, such as 'f3'; 1 film more"),
        (other({"gap": 4.0}, {}), "gap 5.0 → 4.0; 3 films fewer, such as 'f1'"),
    ],
)
def test_what_would_be_lost_is_reported_and_needs_force(tmp_path, made, reported):
    finish(tmp_path)
    before = (tmp_path / "README.md").read_text()
    with pytest.raises(FolderError) as error:
        finish(tmp_path, made)
    assert (
        "holds a finished run of 3 films, 67,492 dialogues, which this command would replace by another one: "
        f"{reported}. " in str(error.value)
    )
    assert str(error.value).endswith("Give another --out, or --force to replace it")
    assert (tmp_path / "README.md").read_text() == before
    finish(tmp_path, made, force=True)
    finish(tmp_path, made)
    assert (tmp_path / "README.md").read_text() == str(made)


@pytest.mark.parametrize("made", [MADE, other(films={**FILMS, "f4": "d"}), other(code="new")])
def test_what_loses_nothing_needs_no_leave(tmp_path, made, caplog):
    finish(tmp_path)
    with caplog.at_level(logging.WARNING):
        finish(tmp_path, made)
    assert (tmp_path / "README.md").read_text() == str(made)
    assert ("made by another version of this package" in caplog.text) == (made.code == "new")


def test_what_has_not_finished_or_is_gone_has_nothing_to_lose(tmp_path):
    with pytest.raises(KeyboardInterrupt), OutputFolder(tmp_path, "toy") as folder:
        MADE.check(folder)
        (folder.prepare() / "README.md").write_text("half")
        MADE.write(folder, {})
        raise KeyboardInterrupt
    finish(tmp_path, other({"gap": 4.0}))
    (tmp_path / "README.md").unlink()
    finish(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sha256": "0"}', "[" * 100_000])
def test_a_damaged_record_is_reported(tmp_path, text):
    finish(tmp_path)
    (tmp_path / ".run" / "made_of.json").write_text(text)
    with pytest.raises(FolderError, match=r"made_of\.json is damaged, .* or --force"):
        finish(tmp_path)
    finish(tmp_path, force=True)
    finish(tmp_path)


def test_parameters_of_a_pipeline_have_the_names_that_the_user_gives(tmp_path):
    found = parameters_of(pipeline_of(labels=False, settings=["dialogues.gap=4.0"]))
    assert found["dialogues.gap"] == 4.0 and found["stages"][0] == "read" and found["stages"][-1] == "output os"
    assert "content of turns.scorer" in found
    assert "content of turns.scorer" not in parameters_of(pipeline_of(labels=False), contents=False)
    for place in ("a", "b"):
        (tmp_path / place / "pool" / "os").mkdir(parents=True)
        (tmp_path / place / "pool" / "os" / "train.parquet").write_text(place)
    (tmp_path / "c.jsonl").write_text("c")
    found = digests_of([tmp_path / "a" / "pool", tmp_path / "b" / "pool", tmp_path / "c.jsonl", tmp_path / "nowhere"])
    assert (
        list(found) == ["pool/os/train.parquet", "pool/os/train.parquet'", "c.jsonl"] and len(set(found.values())) == 3
    )
