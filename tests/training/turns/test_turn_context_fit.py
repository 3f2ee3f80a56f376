"""Learning the encoder that reads around: from windows of all documents, a rule, and the same after a kill."""

import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
import torch
from accelerate import Accelerator

from edos_dataset.segmentation.turns.context import MARGIN, TOKENS, ContextScorer, Marks, batch_of
from edos_dataset.segmentation.turns.net import OF_TIME, UNKNOWN_ROWS
from labelled_films import flat, labelled
from small_models import save_backbone
from training.turns import context_fit as training
from training.turns.boundaries import forms_of
from training.turns.context_fit import ContextSettings, draw_batches, read_lessons

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["and", "but", "the", "boats", "rivers", "stones", ".", "?"]
MARKS = Marks(2, 3, 0)


def by_opening(table):
    """Return documents in which a turn goes on with every "And", which is seen at once."""
    lists, texts = table["same_turn"].combine_chunks(), table["sentences"].combine_chunks().flatten().field("text")
    goes_on = np.array([text.startswith("And") for text in texts.to_pylist()])
    same = pa.array(np.where(flat(table, "same_turn") < 0, -1, goes_on), pa.int8())
    place = table.schema.get_field_index("same_turn")
    return table.set_column(place, "same_turn", pa.ListArray.from_arrays(lists.offsets, same))


def films(count, corpus="mill"):
    return [(corpus, f"d{number}", f"f{number}") for number in range(count)]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    backbone = save_backbone(tmp_path_factory.mktemp("backbone"), WORDS)
    return ContextSettings(backbone, updates=60, rate=3e-3, head_rate=3e-3, warmup=5, tokens=1024)


@pytest.fixture(autouse=True)
def nobody_elses_dice():
    """Accelerate seeds the global generators."""
    with torch.random.fork_rng():
        yield


def fit(table, settings, folder, **more):
    return training.fit_context(table, settings, Accelerator(cpu=True), folder, **more)


def weights(net):
    return {name: value.clone() for name, value in net.state_dict().items()}


def same(one, other):
    return all(torch.equal(value, other[name]) for name, value in one.items())


def test_learns_a_rule_from_few_documents(settings, tmp_path):
    net = fit(by_opening(labelled(films(16))), settings, tmp_path)
    unseen = by_opening(labelled(films(8), seed=1))
    labels, scores = flat(unseen, "same_turn"), ContextScorer.of(net, settings.backbone).same_turn(unseen)
    known = labels >= 0
    assert ((scores >= 0.5) == (labels == 1))[known].mean() > 0.98
    assert scores[labels == 1].mean() > 0.8 > 0.2 > scores[labels == 0].mean()
    losses = [json.loads(line)["loss"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert len(losses) == 60 and np.mean(losses[-5:]) < 0.3 < losses[0]


def test_a_killed_training_goes_on_to_the_same_weights(settings, tmp_path, monkeypatch):
    table, few = labelled(films(6)), replace(settings, updates=9)
    whole = weights(fit(table, few, tmp_path / "whole"))
    count, usual = [], training._loss

    def until_killed(*arguments):
        count.append(1)
        if len(count) == 8:
            raise KeyboardInterrupt
        return usual(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(training, "_loss", until_killed)
        with pytest.raises(KeyboardInterrupt):
            fit(table, few, tmp_path / "killed", every=3)
        assert [path.name for path in (tmp_path / "killed").glob("checkpoint-*")] == ["checkpoint-6"]
        again = weights(fit(table, few, tmp_path / "killed", every=3))
    assert len(count) == 8 + 3, "it began behind the last checkpoint"
    assert same(again, whole)
    logs = [(tmp_path / name / "log.jsonl").read_text().splitlines() for name in ("whole", "killed")]
    losses = [[json.loads(line)["loss"] for line in log] for log in logs]
    assert losses[0] == losses[1] and len(losses[0]) == 9
    assert not same(weights(fit(table, replace(few, seed=1), tmp_path / "other")), whole)


@pytest.mark.parametrize("change", ["settings", "documents", "start"])
def test_the_checkpoint_of_another_training_is_refused(change, settings, tmp_path):
    table, few = labelled(films(3)), replace(settings, updates=2)
    net, start = fit(table, few, tmp_path / "first"), None
    if change == "settings":
        few = replace(few, rate=1e-3)
    elif change == "documents":
        table = labelled(films(3), seed=1)
    else:
        training.keep_state(net, tmp_path)
        start = tmp_path
    with pytest.raises(ValueError, match="belongs to another training"):
        fit(table, few, tmp_path / "first", start=start)


def test_word_embeddings_stay_and_all_else_is_learned(settings, tmp_path):
    before = weights(training.begin(settings, None))
    after = weights(fit(labelled(films(3)), replace(settings, updates=2), tmp_path))
    still = {name for name, value in before.items() if torch.equal(value, after[name])}
    assert {name for name in still if "word_embeddings" in name} == still != set()


def test_a_training_begins_where_another_ended(settings, tmp_path):
    net = fit(labelled(films(3)), replace(settings, updates=2), tmp_path)
    training.keep_state(net, tmp_path)
    assert same(weights(training.begin(settings, tmp_path)), weights(net))
    still = fit(labelled(films(3)), replace(settings, updates=0), tmp_path / "still", start=tmp_path)
    assert same(weights(still), weights(net)), "without updates it is only there to be measured"
    with pytest.raises(ValueError, match="elsewhere/model.pt is no state to begin with"):
        training.begin(settings, tmp_path / "elsewhere")
    torch.save({"head.0.bias": torch.zeros(32)}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match="is no state to begin with: .* Missing key"):
        training.begin(settings, tmp_path)


def test_adapters_are_merged_and_change_no_embedding(settings, tmp_path):
    before = weights(training.begin(settings, None))
    net = fit(labelled(films(3)), replace(settings, updates=2, lora_rank=2), tmp_path)
    after = weights(net)
    assert after.keys() == before.keys()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert {name for name in changed if name.startswith("encoder.")}
    assert all(".dense." in name or ".attention.self." in name for name in changed if name.startswith("encoder."))
    assert not any(name.endswith("bias") for name in changed if name.startswith("encoder."))


def test_the_rate_cools_down_at_the_end(settings):
    half = replace(settings, updates=40, warmup=10, cooldown=0.5)
    rates = [training._rate(update, half) for update in range(41)]
    assert rates[:10] == pytest.approx([each / 10 for each in range(1, 11)]) and rates[10:21] == [1.0] * 11
    assert rates[20:] == pytest.approx(np.linspace(1, 0, 21))
    assert training._rate(39, replace(half, cooldown=0.0)) == 1.0


def test_the_layout_of_screenplays_is_never_read(settings):
    """Times of the others are hidden in a part of them only."""
    table = labelled([*films(6, "film_scripts"), *films(6, "harbour")], sentences=30)
    lessons = read_lessons(table, settings.backbone)
    assert [lesson.laid_out for lesson in lessons] == [True] * 6 + [False] * 6
    forms = forms_of(table)
    found = [part for batch in islice(draw_batches(lessons, forms, settings), 20) for part in batch]
    hidden = {kind: [] for kind in (True, False)}
    for lesson, _ in found:
        times = lesson.sentences.evidence[:, OF_TIME]
        hidden[lesson.laid_out].append(bool((times == UNKNOWN_ROWS[OF_TIME]).all()))
    assert all(hidden[True]) and not all(hidden[False])


def test_updates_are_of_windows_that_are_labelled_and_fit(settings):
    table = labelled([*films(5), *films(5, "mill_dashes"), *films(10, "harbour")], sentences=90)
    lessons = read_lessons(table, settings.backbone)
    lessons[3].weight[:] = 0
    chosen = replace(settings, share={"harbour": 0.5})
    found = list(islice(draw_batches(lessons, forms_of(table), chosen), 60))
    again = list(islice(draw_batches(lessons, forms_of(table), chosen), 60))
    for batch, other in zip(found, again, strict=True):
        assert [window for _, window in batch] == [window for _, window in other]
        sizes = [lesson.sentences.size(window) for lesson, window in batch]
        assert len(sizes) * max(sizes) <= settings.tokens
        assert all(lesson.weight[window.first : window.stop].any() for lesson, window in batch)
    firsts = {window.first for batch in found for _, window in batch if window.begin}
    assert len(firsts) > 20, "borders move"


def test_the_loss_is_of_the_boundaries_inside_a_window(settings):
    """Before its first sentence nothing is read; what has no label or is less sure counts nothing, or less."""
    lessons = read_lessons(labelled(films(1), sentences=90), settings.backbone)
    net = training.begin(settings, None).eval()
    net.train = lambda *_: net  # no dropout
    (lesson,) = lessons
    window = list(lesson.sentences.windows())[1]
    assert window.first - window.begin == MARGIN
    mean = training._loss(net, [(lesson, window)], MARKS, torch.device("cpu"))
    batch = batch_of([(lesson.sentences, window)], MARKS)
    arrays = (batch.ids, batch.mask, batch.marks, batch.evidence)
    log_odds = net(*map(torch.from_numpy, arrays)).detach().numpy()[1:]
    label, weight = (each[window.begin + 1 : window.end] for each in (lesson.label, lesson.weight))
    expected = np.logaddexp(0, np.where(label == 1, -log_odds, log_odds))
    np.testing.assert_allclose(float(mean.detach()), (expected * weight).sum() / weight.sum(), rtol=1e-3)
    weight[: len(weight) // 2] = 0
    half = training._loss(net, [(lesson, window)], MARKS, torch.device("cpu"))
    kept = expected[len(weight) // 2 :]
    np.testing.assert_allclose(float(half.detach()), kept.mean(), rtol=1e-3)


def test_impossible_settings_and_losses_are_refused(settings, tmp_path):
    changes = (
        ({"updates": -1}, "updates must be at least 0"),
        ({"tokens": 100}, f"at least {TOKENS}"),
        ({"lora_rank": -1}, "lora_rank must be at least 0"),
        ({"cooldown": 1.5}, "cooldown must be from 0 to 1, got 1.5"),
    )
    for change, message in changes:
        with pytest.raises(ValueError, match=message):
            replace(settings, **change)
    with pytest.raises(ValueError, match="the loss of update .* is nan: lower the rates"):
        fit(labelled(films(3)), replace(settings, rate=1e30, warmup=1), tmp_path)
