"""Invented texts, a tiny backbone and runs of the training, for the tests of `train_classifier.py`."""

import json
import os
import random
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from unittest import mock

import psutil
import yaml
from accelerate.utils import is_cuda_available

from edos_dataset.labels import LABELS

TRAINING = Path(__file__).parents[2] / "training"
SCRIPT = TRAINING / "train_classifier.py"
WEAK = Path("empathetic_dialogues") / "weak_labeler"
CROWD = Path("edos_amt") / "mturk_groundtruth_labels.csv"
NOUNS = [
    "river",
    "stone",
    "boat",
    "house",
    "garden",
    "winter",
    "letter",
    "window",
    "music",
    "bread",
    "train",
    "forest",
    "candle",
    "horse",
    "bridge",
    "island",
]
USED = 8  # of the 41 labels
ENVIRONMENT = {"ACCELERATE_USE_CPU": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def make_backbone(folder, width=32):
    """Write a BERT of two layers that knows the labels and a few nouns."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LABELS, *NOUNS]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    BertModel(config).save_pretrained(folder)
    return folder


def write_weak(folder, first_word_tells=True, texts=240):
    """Write a weak labeler's set: a label's name and some nouns. The label is that of the first word, or drawn."""
    generator, drawn = random.Random(0), random.Random(1)
    lines = []
    for row in range(texts):
        label = row % USED
        text = " ".join([LABELS[label], *generator.choices(NOUNS, k=generator.randrange(3, 12))])
        lines.append(f"{label if first_word_tells else drawn.randrange(USED)} <SEP> {text}")
    (folder / WEAK).mkdir(parents=True)
    (folder / WEAK / "train.txt").write_text("".join(f"{line}\n" for line in lines[: texts * 5 // 6]))
    (folder / WEAK / "valid.txt").write_text("".join(f"{line}\n" for line in lines[texts * 5 // 6 :]))
    return folder


def write_recipe(path, **settings):
    """Write a recipe; without dropout unless the settings say so."""
    silent = dict.fromkeys(("dropout", "encoder_dropout", "attention_dropout"), settings.pop("all_dropouts", 0.0))
    rates = {"learning_rate": 0.002, "head_learning_rate": 0.005, "layer_decay": 1.0}
    data = {"context": 0, "frequent_turns": 0, "near_duplicate": 0.999, "shares": [0.6, 0.2, 0.2]}
    path.write_text(yaml.safe_dump(silent | rates | data | settings))
    return path


def arguments(recipe, data, out, *more):
    """Return the script's arguments."""
    return ["--recipe", str(recipe), "--data-dir", str(data), "--out", str(out), "--threads", "1", *map(str, more)]


def run_here(*values, script=SCRIPT):
    """Run a script of training/ in this process."""
    from accelerate.state import AcceleratorState, GradientState

    main = import_module(f"training.{script.stem}").main
    with mock.patch.object(sys, "argv", [str(script), *values]), mock.patch.dict(os.environ, ENVIRONMENT):
        try:
            main()
        finally:
            AcceleratorState._reset_state(reset_partial_state=True)
            GradientState._reset_state()


def start_process(python, *values, processes=1, script=SCRIPT):
    """Start a script as a user would, by this Python and in a session of its own: kept on the CPU only where it
    could find a GPU.
    """
    own = {name: value for name, value in ENVIRONMENT.items() if name != "ACCELERATE_USE_CPU" or is_cuda_available()}
    around = {name: value for name, value in os.environ.items() if name != "ACCELERATE_USE_CPU"}
    launch, started = [python], [str(script)]
    if processes == 2:
        launch += [
            "-m",
            "accelerate.commands.launch",
            "--config_file",
            str(TRAINING / "recipes" / "two_cpu_processes.yaml"),
            "--main_process_port",
            "0",
            "--no_python",
        ]
        started = [str(python), *started]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([*launch, *started, *values], env=around | own, start_new_session=True, **output)


def kill_after(process, checkpoint, folder, patience=900):
    """Kill a training and all its processes as soon as a checkpoint of at least that update is whole."""
    end = time.monotonic() + patience
    while not any(
        int(path.parent.name.rpartition("-")[2]) >= checkpoint for path in folder.glob("checkpoint-*/progress.json")
    ):
        if process.poll() is not None or time.monotonic() > end:
            raise AssertionError(
                f"no checkpoint {checkpoint}: {process.communicate()[0] if process.poll() is not None else 'too slow'}"
            )
        time.sleep(0.005)
    for member in [*psutil.Process(process.pid).children(recursive=True), process]:
        member.kill()
    process.communicate()


def read_log(folder):
    """Return the lines of a log without their times."""
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{name: value for name, value in entry.items() if name != "seconds"} for entry in entries]
