"""What goes to the Hub is what is named: no link, no stray file, nothing that changed since it was looked at."""

import json
import os
import shutil
import threading
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from typer.testing import CliRunner

from edos_dataset.cli.app import app
from edos_dataset.hub.composition import reading
from edos_dataset.hub.contents import REPORT, REPORT_PICTURES, read_data
from edos_dataset.hub.remote import HubError, HubUnreachable
from edos_dataset.hub.versions import CHANGELOG
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.runs.folder import FolderError
from local_hub.server import LocalHub
from published_folder import FILMS, REPO, V1, V11, films_of, run
from published_versions import KEY, assert_published, paths, publish, state

STRAYS = ("id_rsa", "token.txt", "page.html", "notes.md", "os/optimizer.pt", "deep/er/secret.yaml", ".env")
MODEL_STRAYS = (
    *("id_rsa", "token.txt", "optimizer.pt", "optimizer.safetensors", "training_args.bin", "predictions.npz", "x.pkl"),
    *(
        "checkpoint-10/model.safetensors",
        "tensorboard/events",
        "embeddings/a.npy",
        "scratch.py",
        ".env",
        "wandb/run.json",
    ),
)


def litter(folder, names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")


def test_what_no_command_wrote_stays_here(hub, folder):
    litter(folder, STRAYS)
    (folder / "missing.jsonl").write_text("{}")  # of `edos hydrate`
    plan, _ = publish(hub, folder)
    assert set(plan.contents.left_out) == {name for name in STRAYS if not name.startswith(".")} | {"missing.jsonl"}
    for name in (*STRAYS, "missing.jsonl"):
        path = folder / name
        path.unlink()
    assert_published(hub, folder)


def test_a_report_goes_with_texts_and_never_with_labels_alone(folder, tmp_path):
    made = {*REPORT, *REPORT_PICTURES}
    card = read_data(folder).files["README.md"].content.decode()
    litter(folder, made)
    (folder / "report_pictures" / "labels.svg").write_text("not shown")
    contents = read_data(folder)
    assert made <= set(contents.files) and "report_pictures/labels.svg" in contents.left_out
    shown = contents.files["README.md"].content.decode()
    assert all(f"]({name})" in shown for name in made) and "report.html" not in card
    section = shown[shown.index("## What the data look like") : shown.index("## Load")]
    assert shown.replace(section, "") == card
    labels = tmp_path / "labels"
    write_labels_only(folder, labels, "edos", {"fingerprint": "f00d", "versions": {}}, "stages: []\n", {})
    litter(labels, made)
    contents = read_data(labels)
    assert set(contents.left_out) == made and not made & set(contents.files)


def test_of_a_model_what_is_known_goes(tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"auto_map": {"AutoModel": "classifier.Model"}}')
    (model / "classifier.py").write_text("from .layers import Layer\nimport scratch\n")
    (model / "layers.py").write_text("")
    (model / "README.md").write_text("---\nlicense: mit\npipeline_tag: x\nlibrary_name: y\n---\n")
    known = ("tokenizer.json", "vocab.txt", "record.json", "metrics.json", "log.jsonl")
    litter(model, (*known, *MODEL_STRAYS))
    (model / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with reading([model]) as found:
        assert sorted(found.files) == sorted(
            ["config.json", "classifier.py", "layers.py", "README.md", "model.safetensors", *known]
        )
        assert set(found.left_out) == {name for name in MODEL_STRAYS if not name.startswith(".")}


def test_of_a_space_what_its_card_lists_goes(tmp_path):
    space = tmp_path / "space"
    litter(space, ("app.py", "page.css", "seed.jsonl", "token.txt", "requirements.txt"))
    (space / "README.md").write_text("---\nsdk: gradio\nfiles:\n- page.css\n---\n# Space\n")
    with reading([space]) as found:
        assert sorted(found.files) == ["README.md", "app.py", "page.css", "requirements.txt"]
        assert found.left_out == ["seed.jsonl", "token.txt"]
    (space / "README.md").write_text("---\nsdk: gradio\nfiles:\n- ../../etc/passwd\n---\n# Space\n")
    with (
        pytest.raises(FolderError, match=r"has no \.\./\.\./etc/passwd, which README\.md names under files"),
        reading([space]),
    ):
        pass


def link_file(folder):
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").symlink_to("/etc/passwd")
    return "manifest.json"


def link_data(folder):
    path = next(folder.glob("os/train-*"))
    shutil.move(path, folder.parent / "elsewhere.parquet")
    path.symlink_to(folder.parent / "elsewhere.parquet")
    return path.name


def link_folder(folder):
    shutil.move(folder / "os", folder.parent / "elsewhere")
    (folder / "os").symlink_to(folder.parent / "elsewhere")
    return "os"


def link_stray(folder):
    (folder / "extra.txt").symlink_to("/etc/passwd")
    return "extra.txt"


@pytest.mark.parametrize("make", [link_file, link_data, link_folder, link_stray])
def test_a_link_is_refused_by_its_name(folder, make):
    name = make(folder)
    with pytest.raises(FolderError, match=f"{name} is a link, which may lead anywhere"), reading([folder]):
        pass


def test_a_folder_that_is_a_link_or_holds_a_pipe_is_refused(folder, tmp_path):
    (tmp_path / "way").symlink_to(folder)
    with (
        pytest.raises(FolderError, match=f"way is a link: give its target, {folder}"),
        reading([tmp_path / "way"]),
    ):
        pass
    (folder / "recipe.yaml").unlink(missing_ok=True)
    os.mkfifo(folder / "recipe.yaml")
    with pytest.raises(FolderError, match=r"recipe\.yaml is not a plain file"), reading([folder]):
        pass


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 300 + "1" + "}" * 300 + "}", "\udcff"])
def test_a_manifest_of_others_is_no_traceback(folder, text):
    (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FolderError, match=r"manifest\.json is damaged"), reading([folder]):
        pass


# Without the Hub.


@pytest.mark.parametrize("offline", [True, False])
def test_a_dry_run_of_a_first_version_needs_no_hub(folder, tmp_path, monkeypatch, offline):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
    with LocalHub(tmp_path / "gone") as gone:
        pass
    plan, commit = publish(gone, folder, dry_run=True)
    assert commit is None and ("HF_HUB_OFFLINE is set" if offline else "cannot be reached") in plan.unasked
    assert sorted(plan.uploads) == sorted([CHANGELOG, "croissant.json", *paths(folder)])
    with pytest.raises(HubUnreachable):
        publish(gone, folder)


def test_the_command_says_what_it_could_not_ask_and_what_stays(folder, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("COLUMNS", "400")
    litter(folder, ("token.txt", *(f"logs/{number}" for number in range(5))))
    arguments = ["publish", str(folder), "--repo", REPO, "--version", "1.0.0", "--dry-run"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert "the Hub could not be asked what is there (HF_HUB_OFFLINE is set" in done.output
    assert "1.0.0, the first version: edos 10, os 10 dialogues" in done.output
    assert "stays here token.txt" in done.output and "stays here logs/ (5 files)" in done.output
    lines = CliRunner().invoke(app, [*arguments, "--json"]).output
    report = json.loads(lines[lines.index("{") : lines.rindex("}") + 1])
    assert report["asked"] is False and "token.txt" in report["left_out"]


# Two at once.


def other(folder, tmp_path):
    return run(tmp_path / "other" / "edos", [*FILMS, *films_of("train", 7)[6:]])


@pytest.mark.parametrize("step", ["asking for the user", "comparing", "uploading", "verifying"])
@pytest.mark.parametrize("new", [True, False], ids=["new", "there"])
def test_of_two_publishers_one_wins_and_no_commit_stays_without_its_tag(hub, folder, tmp_path, step, new):
    """The second one publishes the same version, of other data, at any moment of the first one's."""
    version = V1 if new else V11
    if not new:
        publish(hub, run(tmp_path / "before" / "edos", FILMS[:-1]))
    second, lines = other(folder, tmp_path), []

    def between(said):
        if said.startswith(step) and not lines:
            lines.append(said)
            try:
                publish(hub, second, version)
            except (HubError, ValueError) as error:
                lines.append(error)

    try:
        publish(hub, folder, version, say=between)
    except (HubError, ValueError) as error:
        lines.append(error)
    assert sum(isinstance(entry, HubError) for entry in lines) == 1, lines
    branches, tags = state(hub)
    assert branches["main"] == tags[version.tag]
    assert len(hub.repos[KEY].commits) == (2 if new else 3)


def test_two_threads_at_once(hub, folder, tmp_path):
    second, errors = other(folder, tmp_path), []

    def one(what):
        try:
            publish(hub, what)
        except HubError as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(what,)) for what in (folder, second)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    branches, tags = state(hub)
    assert len(errors) == 1 and branches["main"] == tags["v1.0.0"]


def test_a_version_that_was_cut_off_is_finished_by_its_own_command_or_covered_later(hub, folder, tmp_path):
    hub.fail("tag", 500, times=99)
    with pytest.raises(HubError, match="could not create the tag"):
        publish(hub, folder)
    hub.fail("tag", 500, times=0)
    second = other(folder, tmp_path)
    with pytest.raises(HubError, match=r"'Release 1\.0\.0', has no tag yet: .* the same command with the same folders"):
        publish(hub, second)
    repo = hub.repos[KEY]
    untagged = repo.branches["main"]
    _, commit = publish(hub, folder)
    assert state(hub)[1] == {"v1.0.0": untagged} and commit == untagged
    repo.tags.clear()
    old = (datetime.now(timezone.utc) - timedelta(minutes=11)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    repo.commits[untagged] = replace(repo.commits[untagged], date=old)
    publish(hub, second)
    assert_published(hub, second)
