"""What the training of the response models is made of: sources, labels, parts, pairs, batches, figures."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from accelerate import Accelerator

from edos_dataset.generation.responder import Responder
from edos_dataset.generation.response_pipeline import encode_history, encode_response
from edos_dataset.generation.writers import PromptFormat
from edos_dataset.labels import LABELS
from edos_dataset.schema import SPLITS
from generator_fixtures import copying, write_conversations
from training.generator import corpus, fit
from training.generator.corpus import CONVERSATIONS
from training.generator.model import build_learner
from training.generator.pairs import by_lengths, epoch, forward_passes, pairs_of, updates_in_epoch, without_overlap
from training.generator.recipe import GeneratorRecipe
from training.generator.tasks import AnswerTask, LabelTask, WholeTask, prompt_pairs, token_losses
from training.generator.tokenizer import train_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")
TEXTS = [
    ["I lost my job.", "Oh no! What happened there?", "They closed.", "I am so sorry to hear that."],
    ["Hello", "Good morning to you, and to all of your friends and their friends", "Thanks"],
    ["one two three four five six seven eight nine ten eleven twelve thirteen fourteen", "ok"],
]


def table_of(texts, labels=None, split=None, documents=None):
    count = range(len(texts))
    given = labels or [[(3 * row + turn) % len(LABELS) for turn in range(len(texts[row]))] for row in count]
    names = [f"d{row}" for row in count]
    columns = [names, documents or names, [split] * len(texts), texts, given]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, CONVERSATIONS, strict=True)]
    return pa.table(arrays, schema=CONVERSATIONS)


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([text for dialogue in TEXTS for text in dialogue], 300)


@pytest.mark.parametrize("most_turns", [None, 1, 2])
@pytest.mark.parametrize("max_tokens", [12, 20, 30, 100])
def test_pairs_are_what_the_models_read_of_texts(tokenizer, max_tokens, most_turns):
    table = table_of(TEXTS)
    task = AnswerTask(tokenizer, conditioned=True)
    pairs = pairs_of(table, tokenizer, max_tokens, most_turns)
    expected = []
    for texts, labels in zip(TEXTS, table["labels"].to_pylist(), strict=True):
        for turn in range(1, len(texts)):
            answer = encode_response(tokenizer, texts[turn], 1000)
            if len(answer) <= max_tokens:
                history = encode_history(tokenizer, texts[:turn], labels[:turn], max_tokens, most_turns)
                expected.append((history, answer, labels[turn], turn % 2))
    assert len(pairs) == len(expected) == 6 - pairs.left_out["answer too long"]
    batch = task.batch(pairs, np.arange(len(pairs)))
    for row, (history, answer, label, segment) in enumerate(expected):
        for name, values in history._asdict().items():
            assert batch[name][row, : len(values)].tolist() == values, name
        length = len(history.input_ids)
        assert batch["attention_mask"][row].tolist() == [1] * length + [0] * (batch["input_ids"].shape[1] - length)
        assert (batch["input_ids"][row, length:] == tokenizer.pad_token_id).all()
        assert batch["targets"][row][batch["targets"][row] != -100].tolist() == answer
        assert batch["decoder_input_ids"][row, : len(answer)].tolist() == [tokenizer.bos_token_id, *answer[:-1]]
        assert (int(batch["response_labels"][row]), int(batch["response_segments"][row])) == (label, segment)
        assert pairs.history_tokens[row] == length and pairs.answer_tokens[row] == len(answer)


def test_long_histories_are_cut_or_dropped(tokenizer):
    cut, dropped = (pairs_of(table_of(TEXTS), tokenizer, 40, drop=drop) for drop in (False, True))
    assert cut.left_out["history too long"] == 0 < dropped.left_out["history too long"] == len(cut) - len(dropped)
    single = pairs_of(table_of(TEXTS), tokenizer, 100, history_turns=1)
    assert (single.answer - single.first == 1).all() and len(single) == 6


def test_a_model_remembers_how_much_history_it_learned_from(tmp_path):
    """Else it would be asked with more than it ever saw; a fine-tuning may change it."""
    recipe = GeneratorRecipe(vocabulary=300, hidden_size=32, layers=1, heads=2, intermediate_size=64, history_turns=1)
    learner = build_learner(recipe, table_of(TEXTS), None, tmp_path / "out")
    for part in (learner.model, learner.tokenizer):
        part.save_pretrained(tmp_path / "model")
    writer = Responder.load(tmp_path / "model").writer
    long, short = (writer.read([turns], [[0] * len(turns)], [1]) for turns in (["no", "so", "what"], ["what"]))
    assert long["input_ids"].equal(short["input_ids"])
    tuned = build_learner(replace(recipe, history_turns=None), table_of(TEXTS), tmp_path / "model", tmp_path / "out")
    assert tuned.model.config.history_turns is None


def test_dialogues_of_another_config_are_left_out(tmp_path, monkeypatch):
    """By their ids: the papers train on OS without EDOS."""
    tables = {"os": table_of([[f"Hello {row}.", "Yes!"] for row in range(6)])}
    tables["edos"] = tables["os"].slice(1, 1)
    splits = ["train", "train", "train", "validation", "test", "test"]
    column = tables["os"].column_names.index("split")
    tables["os"] = tables["os"].set_column(column, CONVERSATIONS.field("split"), pa.array(splits))
    monkeypatch.setattr(corpus, "read_source", lambda name, data_dir, dialogues: tables[name])
    recipe = GeneratorRecipe(kind="plain", data=("os",))
    for without, left in ((None, ["d0", "d1", "d2"]), ("edos", ["d0", "d2"])):
        found = corpus.load_corpus(replace(recipe, without=without), None, "x", tmp_path)
        assert found.parts["train"]["dialogue_id"].to_pylist() == left


def test_pairs_that_are_tested_too_are_left_out(tokenizer):
    """As the Gutenberg paper does with DailyDialog; the same answer after another turn stays."""
    train, test = (
        table_of(TEXTS),
        table_of([["Hm.", "they closed", "I am SO sorry to hear that!"], ["Hello", "Thanks"]]),
    )
    pairs = without_overlap(pairs_of(train, tokenizer, 100), train, test)
    assert pairs.left_out["also tested"] == 1
    assert [train["texts"].combine_chunks().flatten()[turn].as_py() for turn in pairs.answer][2] != TEXTS[0][3]
    assert len(pairs) == 5


def test_a_tokenizer_of_lower_case_knows_no_other():
    small = train_tokenizer(["Hello THERE"] * 3, 300, lower_case=True)
    assert small.decode(small("Hello There", add_special_tokens=False)["input_ids"]) == "hello there"


def test_a_predictor_is_asked_for_the_label_of_the_answer(tokenizer):
    task = LabelTask(tokenizer)
    pairs = pairs_of(table_of(TEXTS), tokenizer, 100)
    batch = task.batch(pairs, np.array([0, 2]))
    assert batch["targets"].tolist() == [1, 3] and task.targets(pairs).tolist() == [1] * 6
    assert "decoder_input_ids" not in batch and "response_labels" not in batch


class Bytes:
    """A tokenizer of bytes, each text of which begins with a token of its own."""

    eos_token_id = 1

    def __call__(self, text, add_special_tokens=True):
        one = [text] if isinstance(text, str) else text
        ids = [[2] * add_special_tokens + [3 + byte for byte in each.encode()] for each in one]
        return {"input_ids": ids[0] if isinstance(text, str) else ids}


@pytest.mark.parametrize("style", ["words", "none"])
def test_a_whole_conversation_is_read_once_for_all_of_its_answers(style):
    """The last answer follows what `PromptWriter` reads; turns but the first are learned, not how their lines begin."""
    table, form, tokenizer = table_of(TEXTS), PromptFormat(style), Bytes()
    task = WholeTask(tokenizer, form, padding=0)
    pairs = task.pairs(table, replace(GeneratorRecipe(), max_tokens=500))
    batch = task.batch(pairs, np.arange(len(pairs)))
    single = prompt_pairs(table, tokenizer, form, 500)
    last = np.cumsum([len(texts) - 1 for texts in TEXTS]) - 1
    for row, texts in enumerate(TEXTS):
        ids = batch["input_ids"][row][batch["attention_mask"][row] == 1].tolist()
        prompt, answer = (
            single.tokens[slice(*single.bounds[turn : turn + 2])].tolist()
            for turn in (single.first[last[row]], single.answer[last[row]])
        )
        assert ids == [*prompt, *answer[:-1], 3 + ord("\n")], "a line break ends it"
        learned = bytes(each - 3 for each in batch["targets"][row].tolist() if each >= 0).decode()
        assert learned == "".join(f" {text}\n" for text in texts[1:])
        assert task.targets(pairs)[row] == len(learned)
    assert pairs.words[pairs.answer].tolist() == [sum(len(text.split()) for text in texts[1:]) for texts in TEXTS]


def test_of_a_long_conversation_the_beginning_is_learned():
    form, tokenizer = PromptFormat("none"), Bytes()
    first_two = len(tokenizer(f"A: {TEXTS[0][0]}\nB: {TEXTS[0][1]}\n")["input_ids"])
    for most, kept, left_out in ((first_two, 2, 2), (first_two - 1, 0, 3)):
        pairs = WholeTask(tokenizer, form, 0).pairs(table_of(TEXTS[:1]), replace(GeneratorRecipe(), max_tokens=most))
        assert (len(pairs.places), pairs.left_out["answer too long"]) == (kept, left_out)


def fake_pairs(count=500, seed=0):
    """Pairs of which nothing but the lengths counts."""
    rng = np.random.default_rng(seed)
    history, answer = rng.integers(3, 100, count), rng.integers(2, 40, count)

    class Fake(SimpleNamespace):
        def __len__(self):
            return count

    return Fake(history_tokens=history, answer_tokens=answer)


@pytest.mark.parametrize("settings", [{"batch_tokens": 700}, {"batch_tokens": 700, "pool": 1}, {"batch": 32}])
def test_an_epoch_takes_every_pair_once_in_equal_updates_and_another_order_each_time(settings):
    pairs, recipe = fake_pairs(), GeneratorRecipe(**settings)
    updates = list(epoch(pairs, recipe, 0))
    assert len(updates) == updates_in_epoch(pairs, recipe)
    assert sorted(np.concatenate(updates).tolist()) == list(range(500))
    sizes = [
        len(rows) if recipe.batch else (pairs.history_tokens + pairs.answer_tokens)[rows].sum() for rows in updates
    ]
    wanted = recipe.batch or recipe.batch_tokens
    assert min(sizes) > wanted * 0.6 and max(sizes) < wanted * 1.4
    again, other = list(epoch(pairs, recipe, 0)), list(epoch(pairs, recipe, 1))
    assert all(np.array_equal(one, two) for one, two in zip(updates, again, strict=True))
    assert not np.array_equal(np.concatenate(updates), np.concatenate(other))


def test_an_epoch_touches_no_global_generator():
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    list(epoch(fake_pairs(), GeneratorRecipe(), 0))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("budget", [1, 150, 1000, 10**9])
def test_forward_passes_take_every_row_once_within_the_budget(budget):
    pairs, rows = fake_pairs(), np.arange(100, 300)
    passes = forward_passes(rows, pairs, budget)
    assert sorted(np.concatenate(passes).tolist()) == rows.tolist()
    for batch in passes:
        padded = len(batch) * int(pairs.history_tokens[batch].max() + pairs.answer_tokens[batch].max())
        assert padded <= budget or len(batch) == 1


def test_pools_leave_little_padding():
    pairs = fake_pairs(4000)

    def filled(pool):
        passes = [
            batch
            for rows in epoch(pairs, GeneratorRecipe(pool=pool, batch_tokens=2000), 0)
            for batch in forward_passes(rows, pairs, 2000)
        ]
        longest = sum(len(b) * (pairs.history_tokens[b].max() + pairs.answer_tokens[b].max()) for b in passes)
        return (pairs.history_tokens + pairs.answer_tokens).sum() / longest

    assert filled(1) < 0.72 < 0.88 < filled(50)


def test_neighbours_in_the_order_are_alike():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 100, 400), rng.integers(0, 40, 400)
    order = by_lengths(first, second, 16)
    assert sorted(order.tolist()) == list(range(400))
    assert np.abs(np.diff(second[order])).mean() < np.abs(np.diff(second)).mean() / 5


def test_documents_are_shared_out_whole_the_same_in_every_data_set():
    documents = [f"film{row // 4}" for row in range(400)]
    one, stated = corpus.with_splits(table_of([["a", "b"]] * 400, documents=documents), 0)
    assert stated == "80/10/10 by document_id, seed 0"
    sides = {}
    for document, split in zip(documents, one["split"].to_pylist(), strict=True):
        assert sides.setdefault(document, split) == split
    shares = [list(sides.values()).count(split) / 100 for split in SPLITS]
    assert shares[0] == pytest.approx(0.8, abs=0.1) and min(shares[1:]) > 0.03
    part, _ = corpus.with_splits(table_of([["c", "d"]] * 200, documents=documents[:200]), 0)
    assert part["split"].to_pylist() == one["split"].to_pylist()[:200]


@pytest.mark.parametrize(("count", "by"), [(3, "document_id"), (5, "document_id"), (1, "dialogue_id")])
def test_few_documents_still_make_three_parts(count, by):
    table = table_of([["a", "b"]] * 12, documents=[f"film{row % count}" for row in range(12)])
    for seed in range(5):
        shared, stated = corpus.with_splits(table, seed)
        assert set(shared["split"].to_pylist()) == set(SPLITS) and by in stated


def test_splits_of_the_data_are_kept_where_all_are_there():
    table = pa.concat_tables([table_of([["a", "b"]], split=split) for split in ("test", "train", "validation")])
    shared, stated = corpus.with_splits(table, 0)
    assert shared["split"].to_pylist() == ["test", "train", "validation"] and stated == "as given"


class Teller:
    """A labeler that says 7, and counts how often it is asked."""

    identity, asked = "teller@1", 0

    def predict_proba(self, dialogues):
        Teller.asked += 1
        return np.eye(len(LABELS), dtype=np.float32)[[7] * sum(map(len, dialogues))]


def test_missing_labels_are_given_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "load_labeler", lambda name: Teller())
    table = table_of([["a", "b"], ["c", "d", "e"]], labels=[[1, None], [None, 2, 3]])
    recipe = GeneratorRecipe(labeler="teller")
    for asked in (1, 1):
        labelled, stated = corpus.with_labels(table, recipe, "films", tmp_path)
        assert labelled["labels"].to_pylist() == [[1, 7], [7, 2, 3]] and Teller.asked == asked
    assert stated == "teller@1, 2 of 5 turns" and len(list(tmp_path.glob("labels-*.parquet"))) == 1
    whole, _ = corpus.with_labels(table, GeneratorRecipe(labeler="teller", relabel=True), "films", tmp_path)
    assert whole["labels"].to_pylist() == [[7, 7], [7, 7, 7]]
    with pytest.raises(ValueError, match="films: 2 of 5 turns have no label, and the recipe names no la"):
        corpus.with_labels(table, GeneratorRecipe(labeler=None), "films", tmp_path)
    with pytest.raises(ValueError, match="a turn has the label 41"):
        corpus.with_labels(table_of([["a", "b"]], labels=[[1, 41]]), recipe, "films", tmp_path)


def test_empathetic_dialogues_come_with_labels_and_the_splits_of_the_original(tmp_path):
    write_conversations(tmp_path, copying, count=6, turns=3)
    table = corpus.read_source("empathetic_dialogues", tmp_path, None)
    assert table["split"].null_count == len(table) == 6
    assert table["document_id"].to_pylist()[2] == "hit:2" and table["labels"].to_pylist()[1][0] == 1
    original = tmp_path / "empathetic_dialogues" / "original"
    original.mkdir()
    header = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"
    lines = "".join(f"hit:2_conv:2,{turn},afraid,p,{turn % 2},text,5|5|5,\n" for turn in (1, 2))
    (original / "test.csv").write_text(header + lines)
    assert corpus.read_source("empathetic_dialogues", tmp_path, None)["split"].to_pylist()[1:4] == [None, "test", None]


def test_dailydialog_has_no_splits_unless_all_are_there(tmp_path):
    (tmp_path / "dailydialog").mkdir()
    turn = {"text": "Fine , thanks .", "emotion": "no_emotion", "act": "inform"}
    for name in ("valid", "train", "test"):
        (tmp_path / "dailydialog" / f"{name}.json").write_text(json.dumps({"dialogue": [turn, turn]}) + "\n")
        splits = corpus.read_source("dailydialog", tmp_path, None)["split"].to_pylist()
        assert splits == ([None] * len(splits) if name != "test" else ["train", "validation", "test"])
    assert corpus.read_source("dailydialog", tmp_path, None)["texts"].to_pylist()[0] == ["Fine, thanks."] * 2


@pytest.mark.parametrize("config", ["os", "edos"])
def test_a_config_of_ours_is_read_with_its_labels(tmp_path, config):
    turns = [{"text": text, "label": 5} if config == "edos" else {"text": text} for text in ("Hi.", "Hello.", "Bye.")]
    (tmp_path / config).mkdir()
    for split in ("train", "test"):
        rows = [{"dialogue_id": f"{split}-1", "document_id": "film", "turns": turns}]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / config / f"{split}-00000-of-00001.parquet")
    table = corpus.read_source(config, None, str(tmp_path))
    assert table["split"].to_pylist() == ["train", "test"] and table["texts"].to_pylist()[0] == [
        "Hi.",
        "Hello.",
        "Bye.",
    ]
    assert table["labels"].to_pylist()[0] == ([5] * 3 if config == "edos" else [None] * 3)
    with pytest.raises(ValueError, match=f"has no config 'books'; it has {config}"):
        corpus.read_source("books", None, str(tmp_path))


def test_labelled_lines_are_read(tmp_path):
    turns = [{"text": "Hi.", "label": "caring"}, {"text": "Hello."}]
    path = tmp_path / "labelled.jsonl"
    path.write_text(json.dumps({"dialogue_id": "a", "turns": turns, "split": "test"}) + "\n")
    (row,) = corpus.read_source("edos", None, str(path)).to_pylist()
    assert (row["labels"], row["split"]) == ([LABELS.index("caring"), None], "test")


def test_figures_are_those_of_their_definitions(tokenizer):
    task = AnswerTask(tokenizer, conditioned=False)
    pairs = pairs_of(table_of(TEXTS), tokenizer, 100)
    rows = np.array([0, 2])
    targets = task.targets(pairs)[rows]
    figures = fit.figures_of(task, pairs, rows, np.array([3.0, 5.0]), np.array([1, 2]))
    assert figures["perplexity"] == pytest.approx(math.exp(8 / targets.sum()))
    assert figures["perplexity_per_word"] == pytest.approx(math.exp(8 / (5 + 7)))
    assert figures["accuracy"] == pytest.approx(3 / targets.sum())
    counted = fit.unigram(task, pairs, pairs, len(tokenizer), of_labels=False)
    found = np.concatenate([encode_response(tokenizer, text, 1000) for dialogue in TEXTS for text in dialogue[1:]])
    counts = 1 + np.bincount(found, minlength=len(tokenizer))
    assert counted["cross_entropy"] == pytest.approx(-np.log(counts[found] / counts.sum()).mean(), abs=1e-4)


def test_at_the_end_as_many_pairs_are_measured_as_the_recipe_says(tmp_path):
    size = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 16, "vocabulary": 300}
    recipe, table = GeneratorRecipe(kind="plain", max_tokens=40, **size), table_of(TEXTS * 4)
    learner = build_learner(recipe, table, None, tmp_path)
    pairs, accelerator = learner.task.pairs(table, recipe), Accelerator(cpu=True)
    few = replace(recipe, final_pairs=5)
    assert fit.measured_rows(pairs, few).tolist() == [0, 5, 11, 17, 23] and len(pairs) == 24
    part, whole = (fit.measured(learner.model, learner.task, pairs, each, accelerator) for each in (few, recipe))
    assert (part["pairs"], part["of_pairs"], whole["pairs"], whole["of_pairs"]) == (5, 24, 24, 24)
    assert part["targets"] == learner.task.targets(pairs)[[0, 5, 11, 17, 23]].sum() < whole["targets"]
    assert part["cross_entropy"] != whole["cross_entropy"]
    prints = [fit.fingerprint(each, pairs, pairs, SimpleNamespace(start=None)) for each in (few, recipe)]
    assert prints[0] == prints[1], "it changes nothing of the training, which can be resumed"


def test_frequencies_of_whole_conversations_are_those_of_all_their_answers(tokenizer):
    task = WholeTask(tokenizer, PromptFormat("words"), tokenizer.pad_token_id)
    pairs = task.pairs(table_of(TEXTS), GeneratorRecipe(max_tokens=400))
    said = [f" {text}\n" for dialogue in TEXTS for text in dialogue[1:]]
    found = np.concatenate(tokenizer(said, add_special_tokens=False)["input_ids"])
    counts = 1 + np.bincount(found, minlength=len(tokenizer))
    counted = fit.unigram(task, pairs, pairs, len(tokenizer), of_labels=False)
    assert len(found) == task.targets(pairs).sum()
    assert counted["cross_entropy"] == pytest.approx(-np.log(counts[found] / counts.sum()).mean(), abs=1e-4)


def test_losses_are_summed_by_row_and_smoothed_as_torch_does():
    torch.manual_seed(0)
    logits, targets = torch.randn(3, 4, 9), torch.randint(0, 9, (3, 4))
    targets[0, 2:] = -100
    targets[2] = -100
    nats, right = token_losses(logits, targets, 0.1)
    expected = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), targets, label_smoothing=0.1, reduction="none", ignore_index=-100
    ).sum(1)
    assert torch.allclose(nats, expected, atol=1e-5) and nats[2] == 0
    assert right.tolist() == ((logits.argmax(2) == targets) & (targets != -100)).sum(1).tolist()


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "training" / "recipes").glob("**/*.yaml")))
def test_the_recipes_of_response_models_can_be_read(path):
    from edos_dataset.runs.untrusted import read_yaml
    from training.generator.recipe import read_recipe

    settings = read_yaml(path)
    if isinstance(settings, dict) and "kind" in settings:
        assert read_recipe(path).kind == settings["kind"]
