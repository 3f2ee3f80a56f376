"""What a command writes appears together: the set before stays until it is whole, and nothing is added afterwards."""

import json
import shutil

import numpy as np
import pytest

import edos_dataset
from crowd_tables import ByFirstWord, crowd
from edos_dataset.augmentation.labelled import read_labelled
from edos_dataset.augmentation.steps import SpreadStep
from edos_dataset.commands.crowd import write_seed
from edos_dataset.commands.curate import curate
from edos_dataset.commands.extend import extend
from edos_dataset.commands.hydrate import hydrate
from edos_dataset.commands.label import label
from edos_dataset.commands.labels_only import labels_only
from edos_dataset.crowd import seed as seeds
from edos_dataset.crowd.seed import SeedRules
from edos_dataset.hub.contents import read_data
from edos_dataset.publishing import published
from edos_dataset.publishing.front_matter import stated_content
from edos_dataset.recipes.subtitles import subtitles_to_dialogues, subtitles_to_edos
from edos_dataset.runs.folder import FolderError, OutputFolder
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.sources.inventory import find_films
from sudden_death import DeathError, files_in, untimed
from two_scenes import FILM


class Letters:
    """An encoder that is there at once."""

    identity, device, token_budget = "letters@1", "cpu", None

    def check(self):
        """It is."""

    def encode(self, texts):
        return np.array([[text.count(letter) + 0.1 for letter in "eotvn"] for text in texts], np.float32).reshape(-1, 5)


EDOS, OTHERS = ("ferry", "train", "wagon"), ("boat", "train", "wagon")


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Neither the picture nor the encoder is what is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "draw_labels", lambda labels, config, path, of: path.write_text(str(labels)))
        patch.setattr(seeds, "Encoder", ByFirstWord)
        yield


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Two of everything that a command may be given."""
    folder = tmp_path_factory.mktemp("given")
    for variant, names in enumerate((EDOS, OTHERS)):
        films = folder / str(variant) / "films"
        films.mkdir(parents=True)
        for name in names:
            (films / f"{name}.srt").write_text(FILM.format(name=name), encoding="utf-8")
        (films / "bad.srt").write_bytes(b"\0\1")
        curate(find_films([films], "en"), films.with_name("edos"), subtitles_to_edos("fast", "fast"))
        labels_only(films.with_name("edos"), films.with_name("labels"))
        write_seed(crowd(), films.with_name("seed"), SeedRules(seed=variant))
        dialogue = {"dialogue_id": "near", "turns": ["Well?", f"word{variant} it is."]}
        films.with_name("pool.jsonl").write_text(json.dumps(dialogue) + "\n")
    return folder


def to_dialogues(given, out):
    """Of the set before, the labelled configs and their picture go."""
    variant = int(given.name)
    films = find_films([given / "films"], "en")
    curate(films, out, subtitles_to_dialogues() if variant else subtitles_to_edos("fast", "fast"), force=True)


def labelling(given, out):
    label(given / "edos", "fast", out=out, config="os", force=True)


def extending_seed(given, out):
    extend(given / "seed", [given / "pool.jsonl"], out, [SpreadStep(threshold=0.5)], encoder=Letters(), force=True)


COMMANDS = {
    "curate": to_dialogues,
    "label": labelling,
    "labels-only": lambda given, out: labels_only(given / "edos", out, force=True),
    "hydrate": lambda given, out: hydrate(given / "labels", [given / "films"], out, force=True),
    "crowd seed": lambda given, out: write_seed(crowd(), out, SeedRules(seed=int(given.name)), force=True),
    "extend": extending_seed,
}


def dies(monkeypatch, act, before):
    """Let a command die just before or just after its commit."""
    real = OutputFolder.commit

    def commit(folder):
        if not before:
            real(folder)
        raise DeathError

    with monkeypatch.context() as patch:
        patch.setattr(OutputFolder, "commit", commit)
        with pytest.raises(DeathError):
            act()


@pytest.mark.parametrize("name", COMMANDS)
def test_all_that_a_command_writes_is_committed_together(given, tmp_path, monkeypatch, name):
    command, out = COMMANDS[name], tmp_path / "out"
    command(given / "0", out)
    before = files_in(out)
    dies(monkeypatch, lambda: command(given / "1", out), before=True)
    assert files_in(out) == before, "something was changed before the commit"
    dies(monkeypatch, lambda: command(given / "1", out), before=False)
    after = untimed(out)
    assert after != before and stated_content(after["README.md"].decode())
    command(given / "1", out)
    assert untimed(out) == after, "something was written after the commit"
    fresh = tmp_path / "fresh" / "out"
    command(given / "1", fresh)
    assert untimed(fresh) == after, "something of the set before is left"


READERS = {
    "load": ("edos", lambda folder, out: edos_dataset.load(str(folder), cache_dir=str(out))),
    "inspect": ("edos", lambda folder, out: read_manifest(folder)),
    "label": ("edos", lambda folder, out: label(folder, "fast", out=out)),
    "labels-only": ("edos", lambda folder, out: labels_only(folder, out)),
    "hydrate": ("labels", lambda folder, out: hydrate(folder, [folder], out)),
    "publish": ("edos", lambda folder, out: read_data(folder)),
    "extend": ("seed", lambda folder, out: extend(folder, [], out)),
    "train": ("seed", lambda folder, out: read_labelled(folder, "train")),
}


@pytest.mark.parametrize("name", READERS)
def test_no_command_reads_a_folder_of_which_not_all_is_in_place(given, tmp_path, name):
    kind, read = READERS[name]
    shutil.copytree(given / "0" / kind, tmp_path / kind)
    (tmp_path / kind / ".run" / "commit.json").write_text("{}")
    command = {"edos": "curate", "labels": "labels-only", "seed": "crowd seed"}[kind]
    with pytest.raises(FolderError, match=rf"{kind} is unfinished: `edos {command}` is putting its files in place"):
        read(tmp_path / kind, tmp_path / "out")
    assert not (tmp_path / "out").exists()
