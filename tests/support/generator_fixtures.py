"""Invented dialogues, recipes and arguments, for the tests of `train_generator.py`."""

import csv
import random

import yaml

from classifier_fixtures import NOUNS, TRAINING
from edos_dataset.generation.config import IGNORED
from edos_dataset.generation.response_pipeline import pad
from edos_dataset.generation.writers import encode_prompt
from edos_dataset.labels import LABELS

SCRIPT = TRAINING / "train_generator.py"
WORDS = NOUNS[:6]
TINY = {
    "vocabulary": 300,
    "hidden_size": 32,
    "layers": 1,
    "heads": 2,
    "intermediate_size": 64,
    "dropout": 0.0,
    "initial": 0.15,
    "max_tokens": 24,
    "batch_tokens": 120,
    "micro_tokens": 80,
    "pool": 4,
    "precision": "no",
    "epochs": 3,
}


def write_conversations(folder, answer, count=120, turns=2):
    """Write conversations in the form of annotated EmpatheticDialogues.

    Args:
        folder: the data folder.
        answer: the turn before and a source of random numbers → the next turn and its label.
        count: of conversations; no two begin alike.
        turns: of each.
    """
    rng = random.Random(0)
    openings = set()
    while len(openings) < count:
        openings.add(" ".join(rng.choices(WORDS, k=rng.randrange(2, 5))))
    rows = []
    for number, text in enumerate(sorted(openings)):
        said, label = text, LABELS[number % 3]
        for turn in range(turns):
            actor = ("speaker", "listener")[turn % 2]
            rows.append((f"hit:{number}_conv:{number}", "utterance", actor, said, label))
            said, label = answer(said, rng)
    path = folder / "empathetic_dialogues" / "annotated" / "afraid.csv"
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("Dialog_ID", "Type", "Actor", "Text", "Label"), *rows])
    return folder


def copying(text, rng):
    """Answer with what was said, in any of three labels."""
    return text, LABELS[rng.randrange(3)]


def saying_the_label(text, rng):
    """Answer with the name of a label that is drawn: who knows the label knows the answer."""
    label = LABELS[rng.randrange(4)]
    return label, label


def labelled_by_opening(text, rng):
    """Answer anything, with a label that the first word decides."""
    return "well", LABELS[WORDS.index(text.split()[0]) if text != "well" else 0]


def write_recipe(path, **settings):
    """Write a recipe of a tiny model without dropout."""
    path.write_text(yaml.safe_dump(TINY | settings))
    return path


def arguments(recipe, data, out, *more):
    """Return the script's arguments."""
    return ["--recipe", str(recipe), "--data-dir", str(data), "--out", str(out), "--threads", "1", *map(str, more)]


def make_backbone(folder, kind):
    """Write a tiny model of others, "gpt2" or "t5", with a tokenizer of bytes."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    from training.generator.tokenizer import train_tokenizer

    tokenizer = train_tokenizer([" ".join(WORDS)], 300)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    size = {"vocab_size": len(tokenizer), "initializer_range": 0.15}
    if kind == "gpt2":
        config = GPT2Config(n_positions=256, n_embd=32, n_layer=1, n_head=2, **size, **ends)
        model = GPT2LMHeadModel(config)
    else:
        sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 1}
        model = T5ForConditionalGeneration(T5Config(**size, **sizes, **ends))
    model.save_pretrained(folder)
    return folder


def encode_pair(
    tokenizer,
    lines,
    response,
    *,
    causal,
    max_tokens=512,
    response_tokens=100,
):
    """Return a training example: `input_ids` and `labels`, which are -100 for tokens of the prompt.

    Args:
        tokenizer: the model's tokenizer.
        lines: the prompt, as `PromptFormat.lines` returns them.
        response: the answer.
        causal: whether the model is a decoder: then prompt and answer are one sequence, and both results have equal
            length; else the first is the prompt and the second the answer.
        max_tokens: maximum number of tokens of a sequence.
        response_tokens: maximum number of tokens of the answer, the end included.
    """
    words = tokenizer([f" {' '.join(response.split())}"], add_special_tokens=False)["input_ids"][0]
    answer = [*words[: response_tokens - 1], tokenizer.eos_token_id]
    if not causal:
        return encode_prompt(tokenizer, lines, max_tokens), answer
    prompt = encode_prompt(tokenizer, lines, max_tokens - len(answer))
    return [*prompt, *answer], [*[IGNORED] * len(prompt), *answer]


def batch_responses(responses, start, padding):
    """Return the decoder's inputs and targets, each [answers, longest], padded at the right.

    Args:
        responses: targets, as `encode_response` returns them.
        start: id of the token that begins an answer.
        padding: id of the padding token.

    Returns:
        `decoder_input_ids` and `labels`, which is -100 after the end.
    """
    return {
        "decoder_input_ids": pad([[start, *response[:-1]] for response in responses], padding),
        "labels": pad(responses, IGNORED),
    }
