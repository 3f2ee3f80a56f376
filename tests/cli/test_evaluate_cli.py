"""`edos evaluate`: figures of files of responses, what is left out, and what is wrong with files."""

import json
import re

import numpy as np
import pytest

from command_line import edos
from edos_dataset.commands import evaluate as evaluating
from edos_dataset.labeling.models import base
from edos_dataset.labels import LABELS
from edos_dataset.metrics.responses.dialog_eval import NEEDS, OLD_BLEU, evaluate
from edos_dataset.metrics.responses.words import Words

CONTENT = {
    "mine": ["i am sorry", "oh no", "", "i am sorry"],
    "contexts": ["i lost it", "he fell", "why ?", "she left"],
    "references": ["i am so sorry", "oh dear no", "because", "that is sad"],
    "train": ["i lost my job", "oh no he fell", "i am sad"],
    "vocabulary": ["sorry", "oh"],
    "targets": ["i am sorry", "I am sorry.", "what ?"],
    "labels": ["consoling", "", "afraid", "sympathizing"],
}
VECTORS = {"i": [1.0, 0.5], "am": [0.2, -1.0], "oh": [0.3, 0.3], "no": [-1.0, 2.0], "lost": [2.0, 0.1]}
INPUTS = ("contexts", "references", "train", "vectors", "vocabulary")


@pytest.fixture
def files(tmp_path):
    """Paths of files with the content above."""
    paths = {name: tmp_path / name for name in (*CONTENT, "vectors")}
    for name, lines in CONTENT.items():
        paths[name].write_text("".join(f"{line}\n" for line in lines))
    paths["vectors"].write_text("".join(f"{word} {one} {two}\n" for word, (one, two) in VECTORS.items()))
    return paths


def options(files, *names):
    return [part for name in names for part in (f"--{name}", files[name])]


def figures_of(lines):
    vectors = {word: np.array(vector) for word, vector in VECTORS.items()}
    words = Words.of(vectors, CONTENT["vocabulary"], CONTENT["train"])
    return evaluate(lines, CONTENT["references"], CONTENT["contexts"], words)


def test_all_seventeen(files):
    done = edos("evaluate", files["mine"], *options(files, *INPUTS), "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    expected = figures_of(CONTENT["mine"])
    assert {name: told["metrics"][name] for name in (*NEEDS, *OLD_BLEU)} == expected
    assert set(told["metrics"]["length"]) == {"mean", "std", "confidence", "n"}
    assert told["left_out"] == {"generic-train": "not given: --train-targets"} and told["made_by"] == {}
    assert told["metrics"]["generic"]["mean"] == 0


def test_several_files_and_the_reference_rows(files):
    more = [*options(files, *INPUTS), "--train-targets", files["targets"], "--reference-rows"]
    told = json.loads(edos("evaluate", files["mine"], files["references"], *more, "--json").stdout)
    truth = figures_of(CONTENT["references"])
    assert list(told["files"]) == [str(files["mine"]), str(files["references"])] and "metrics" not in told
    for found in (told["files"][str(files["references"])], told["reference_rows"]["GT"]):
        assert {name: found["metrics"][name] for name in truth} == truth
    random = told["reference_rows"]["RT"]["metrics"]
    assert random["length"]["n"] == 4 and random["BLEU-4"]["n"] == 4
    assert told["files"][str(files["mine"])]["metrics"]["generic-train"]["mean"] == 0.5
    again = json.loads(edos("evaluate", files["mine"], *more, "--json").stdout)
    assert again["reference_rows"]["RT"]["metrics"] == random and "metrics" in again
    table = edos("evaluate", files["mine"], *more).stdout
    assert all(name in table for name in ("mine", "RT", "GT", "utterance-bigram", "BLEU-4-nltk-3.5"))
    assert "2.0000 ± 1.2064 (4)" in table.split("length")[1].splitlines()[0]


def test_what_is_left_out_is_said(files):
    done = edos("evaluate", files["mine"], *options(files, "train"), "--reference-rows", "--ses", "--json")
    told = json.loads(done.stdout)
    assert set(told["metrics"]) == {
        "length",
        "generic",
        "distinct-1",
        "distinct-2",
        *(name for name, needs in NEEDS.items() if needs == ("train",)),
    }
    assert told["left_out"]["coherence"] == "not given: --contexts, --vectors"
    assert told["left_out"]["SES"] == told["left_out"]["GT"] == "not given: --references"
    assert "left out coherence: not given: --contexts, --vectors" in done.stderr
    assert "left out generic-train, RT: not given: --train-targets" in done.stderr
    assert edos("--quiet", "evaluate", files["mine"]).stderr == ""


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("mine", "a\nb\n", r"mine has 2 lines, but .*contexts of --contexts has 4: give files"),
        ("references", "a\n" * 5, r"mine has 4 lines, but .*references of --references has 5: give files"),
        ("mine", "", "mine is empty: give a file with a response a line"),
        ("vectors", "i 1 2\nam 1\n", "vectors, line 2: 1 numbers behind the word 'am', not 2 as before"),
        ("contexts", b"a\nb\xff\n", "contexts, line 2: not UTF-8"),
        ("targets", "", "targets of --train-targets is empty"),
        ("labels", "afraid\nhappy\n\n\n", "labels, line 2: 'happy' is no label: give one of afraid, angry"),
        ("labels", "afraid\n", "labels of --labels has 1: give files"),
        ("train", None, "train cannot be read: No such file or directory"),
        ("mine", None, "mine cannot be read: No such file or directory"),
    ],
)
def test_bad_files(files, name, content, told):
    if content is None:
        files[name].unlink()
    else:
        files[name].write_bytes(content if isinstance(content, bytes) else content.encode())
    more = ["--train-targets", files["targets"], *options(files, *INPUTS, "labels")]
    done = edos("evaluate", files["mine"], *more)
    assert done.exit_code == 1 and done.stdout == "" and done.stderr.startswith("error ")
    assert re.search(told, done.stderr.replace("\n", " ")), done.stderr


class Labeler(base.Labeler):
    """Labels a response by its length, and a context never as its response."""

    identity = "lengths"
    seen: list

    def predict_proba(self, dialogues):
        Labeler.seen = dialogues
        rows = [[len(turn.split()) + 33] for turns in dialogues for turn in turns]
        return np.eye(41)[np.array(rows)[:, 0]]


@pytest.mark.parametrize("with_contexts", [False, True])
def test_label_accuracy(files, monkeypatch, with_contexts):
    files["labels"].write_text(f"{LABELS[36]}\n\n{LABELS[33]}\n{LABELS[0]}\n")  # right, none, right, wrong
    monkeypatch.setattr("edos_dataset.commands.evaluate.load_labeler", lambda name, device: Labeler())
    given = options(files, *(["labels", "contexts"] if with_contexts else ["labels"]))
    told = json.loads(edos("evaluate", files["mine"], *given, "--json").stdout)
    figure = told["metrics"]["label-accuracy"]
    assert (figure["mean"], figure["n"]) == (pytest.approx(2 / 3), 3) and told["made_by"]["label-accuracy"] == "lengths"
    assert len(Labeler.seen[0]) == 1 + with_contexts


def test_judges_are_asked_by_their_options(files, monkeypatch):
    def near(responses, references, model, device):
        return evaluating.Measured(np.ones(len(responses)), f"{model} on {device}")

    monkeypatch.setattr(evaluating, "measure_bertscore", near)
    monkeypatch.setattr(evaluating.Encoder, "encode", lambda self, texts: np.ones((len(texts), 2)))
    monkeypatch.setattr(evaluating.Encoder, "identity", "same")
    told = json.loads(
        edos(
            *("evaluate", files["mine"], *options(files, "references")),
            *("--ses", "--bertscore", "--bertscore-model", "m", "--json"),
        ).stdout
    )
    assert told["metrics"]["SES"]["mean"] == told["metrics"]["BERTScore"]["mean"] == pytest.approx(1)
    assert told["made_by"]["BERTScore"].startswith("m on ") and told["made_by"]["SES"] == "same"


def test_sacrebleu_and_chrf(files):
    pytest.importorskip("sacrebleu")
    told = json.loads(edos("evaluate", files["mine"], *options(files, "references"), "--sacrebleu", "--json").stdout)
    figure = told["metrics"]["chrF"]
    assert 0 < figure["mean"] < 100 and figure["n"] == 1 and figure["std"] == 0
    assert "tok:13a" in told["made_by"]["sacreBLEU"] and "nc:6" in told["made_by"]["chrF"]


@pytest.mark.parametrize("asked", ["--sacrebleu", "--bertscore"])
def test_a_missing_library_names_its_extra(files, monkeypatch, asked):
    def missing(*_):
        raise ModuleNotFoundError('it is not installed: pip install "edos-dataset[evaluation]"')

    monkeypatch.setattr("edos_dataset.metrics.responses.libraries._library", missing)
    done = edos("evaluate", files["mine"], *options(files, "references"), asked)
    assert done.exit_code == 1 and 'pip install "edos-dataset[evaluation]"' in done.stderr
