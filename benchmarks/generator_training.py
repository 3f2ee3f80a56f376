"""Training tokens per second of a response model, compared with a bare `transformers.Trainer` for a BART of the same
layers, widths, vocabulary and dropout, post-layer-norm as ours, on the same pairs in the same run.

    python benchmarks/generator_training.py "$EDOS_DATA_DIR" --updates 12 --repeats 3

Tokens are those of histories and answers, without padding. An update has the same mean number of pairs in all three
variants: ours with `training.generator`, Trainer with pairs in random order (its default) and with
`train_sampling_strategy="group_by_length"`. They alternate; times are processor seconds of one process, from the end of
the first update to the end of the last, with collating, gradients and optimizer. Writes
benchmarks/generator_training.json.
"""

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    DataCollatorForSeq2Seq,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from benchmarks.machine import command_line, describe_machine, write_result
from training.generator.corpus import load_corpus
from training.generator.fit import plan, take_step
from training.generator.model import build_learner
from training.generator.pairs import Pairs, pairs_of, updates_in_epoch
from training.generator.recipe import GeneratorRecipe, read_recipe
from training.generator.tasks import Learner
from training.loop import precision_of

RECIPE = Path(__file__).parents[1] / "training" / "recipes" / "small" / "plain.yaml"


class Clock(TrainerCallback):
    """Processor seconds at the end of every update."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *arguments: object, **named: object) -> None:
        """Record the time."""
        self.ends.append(time.process_time())


@dataclass
class CountingCollator(DataCollatorForSeq2Seq):
    """Pads a batch as users of Trainer do, and counts the tokens without padding."""

    counts: list[int] = field(default_factory=list)

    def __call__(self, features: list[dict[str, Any]], return_tensors: str | None = None) -> Any:  # noqa: ANN401
        """Return the padded batch."""
        self.counts.append(sum(len(row["input_ids"]) + len(row["labels"]) for row in features))
        padded: Any = super().__call__
        return padded([{name: row[name] for name in ("input_ids", "labels")} for row in features])


def ours(learner: Learner, pairs: Pairs, recipe: GeneratorRecipe, updates: int, precision: str) -> float:
    """Return tokens per processor second of our training."""
    accelerator = Accelerator(mixed_precision=precision, cpu=True)
    optimizer = torch.optim.AdamW(learner.model.parameters(), lr=1e-4, fused=True)
    model, optimizer = accelerator.prepare(learner.model, optimizer)
    size = pairs.history_tokens + pairs.answer_tokens
    begun, tokens = 0.0, 0
    for number, rows in zip(range(updates), plan(pairs, recipe, 0), strict=False):
        take_step(model, optimizer, rows, pairs, learner.task, recipe, accelerator)
        if number == 0:
            begun = time.process_time()
        else:
            tokens += int(size[rows].sum())
    return tokens / (time.process_time() - begun)


def trainers(
    model: torch.nn.Module, learner: Learner, pairs: Pairs, batch: int, updates: int, precision: str, sampling: str
) -> float:
    """Return tokens per processor second of a bare Trainer."""
    AcceleratorState._reset_state(reset_partial_state=True)
    clock, collator = Clock(), CountingCollator(learner.tokenizer, model)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=batch,
            max_steps=updates,
            learning_rate=1e-4,
            bf16=precision == "bf16",
            use_cpu=True,
            train_sampling_strategy=sampling,
            remove_unused_columns=False,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        rows = rows_of(pairs)
        Trainer(model, arguments, data_collator=collator, train_dataset=rows, callbacks=[clock]).train()
    AcceleratorState._reset_state(reset_partial_state=True)
    return sum(collator.counts[1:updates]) / (clock.ends[-1] - clock.ends[0])


class Rows(torch.utils.data.Dataset[dict[str, Any]]):
    """The pairs as a dataset for Trainer."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        return self.rows[place]


def rows_of(pairs: Pairs) -> Rows:
    """Return the same pairs as lists of token ids."""
    begin, answer = pairs.begin, pairs.bounds[pairs.answer] + pairs.before[pairs.answer]
    stretches = zip(begin, pairs.history_tokens, answer, pairs.answer_tokens, strict=True)
    tokens = pairs.tokens
    return Rows(
        [{"input_ids": tokens[a : a + n].tolist(), "labels": tokens[b : b + m].tolist()} for a, n, b, m in stretches]
    )


def bart(learner: Learner, recipe: GeneratorRecipe) -> torch.nn.Module:
    """Return a BART of the recipe's size."""
    config = BartConfig(
        vocab_size=len(learner.tokenizer),
        d_model=recipe.hidden_size,
        encoder_layers=recipe.layers,
        decoder_layers=recipe.layers,
        encoder_attention_heads=recipe.heads,
        decoder_attention_heads=recipe.heads,
        encoder_ffn_dim=recipe.intermediate_size,
        decoder_ffn_dim=recipe.intermediate_size,
        dropout=recipe.dropout,
        attention_dropout=recipe.dropout,
        max_position_embeddings=recipe.max_tokens,
        pad_token_id=learner.tokenizer.pad_token_id,
        bos_token_id=learner.tokenizer.bos_token_id,
        eos_token_id=learner.tokenizer.eos_token_id,
        decoder_start_token_id=learner.tokenizer.bos_token_id,
        tie_word_embeddings=True,
    )
    model: torch.nn.Module = BartForConditionalGeneration(config)
    return model


def main() -> None:
    """Time and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path, help="folder that contains empathetic_dialogues/")
    parser.add_argument("--updates", type=int, default=12, help="number of updates of each; the first is not timed")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    recipe = read_recipe(RECIPE, ["label_smoothing=0.0", "tie_output=true"])
    with tempfile.TemporaryDirectory() as folder:
        corpus = load_corpus(recipe, arguments.data_dir, None, Path(folder))
        learner = build_learner(recipe, corpus.parts["train"], None, Path(folder))
    pairs = pairs_of(corpus.parts["train"], learner.tokenizer, recipe.max_tokens)
    batch, precision = round(len(pairs) / updates_in_epoch(pairs, recipe)), precision_of("auto", on_cpu=True)
    theirs = bart(learner, recipe)
    speeds: dict[str, list[float]] = {"ours": [], "Trainer": [], "Trainer, group_by_length": []}
    for _ in range(arguments.repeats):
        speeds["ours"].append(ours(learner, pairs, recipe, arguments.updates, precision))
        for name, sampling in (("Trainer", "random"), ("Trainer, group_by_length", "group_by_length")):
            speeds[name].append(trainers(theirs, learner, pairs, batch, arguments.updates, precision, sampling))
    medians = {name: statistics.median(found) for name, found in speeds.items()}
    report = {
        "command": command_line(),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "versions": {name: version(name) for name in ("torch", "transformers", "accelerate")},
        "precision": precision,
        "pairs_an_update": batch,
        "mean_tokens_a_pair": round(float(np.mean(pairs.history_tokens + pairs.answer_tokens)), 1),
        "parameters": {
            name: sum(parameter.numel() for parameter in model.parameters())
            for name, model in (("ours", learner.model), ("Trainer", theirs))
        },
        "tokens_a_processor_second": {name: [round(each) for each in found] for name, found in speeds.items()},
        "ratio": {name: round(medians["ours"] / medians[name], 2) for name in speeds if name != "ours"},
    }
    write_result(arguments.out, report)


if __name__ == "__main__":
    main()
