"""Train the two linear heads that the package ships, and write them with the record of their making.

    python training/train_linear_heads.py --data-dir "$EDOS_DATA_DIR" --recipe training/recipes/minilm/linear_heads.yaml \
        --out edos_dataset/labeling/weights

The data folder holds `empathetic_dialogues/weak_labeler/{train,valid}.txt` (the weak labeler's set, of the EmpatheticIntents repository) and
`edos_amt/mturk_groundtruth_labels.csv` (the crowd labels, of the EDOS repository). Each set is split by groups of equal or nearly equal texts; the
validation part chooses the hyper-parameters and the temperature; the shipped weights are then fitted to training and validation part together, and the
test part is looked at once.
"""

import argparse
import csv
import hashlib
import itertools
import os
import platform
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import yaml
from scipy.optimize import minimize_scalar
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from edos_dataset.labeling.encoder import Encoder, limit_threads
from edos_dataset.labeling.heads import Floats, LinearHead, dialogue_features
from edos_dataset.labels import LABEL_IDS, LABELS
from edos_dataset.sources.detokenize import detokenize

Ints = npt.NDArray[np.int64]
WEAK_FILES = ("empathetic_dialogues/weak_labeler/train.txt", "empathetic_dialogues/weak_labeler/valid.txt")
CROWD_FILES = ("edos_amt/mturk_groundtruth_labels.csv",)
WEAK_LICENCE = "EmpatheticDialogues: CC BY-NC 4.0"
CROWD_LICENCE = "EDOS crowd labels: CC BY 4.0; the dialogues are subtitles under their studios' copyright"
SPLITS = ("train", "validation", "test")
MISSING = -1


@dataclass(frozen=True)
class Examples:
    """Labelled dialogues: `label` and `targets` (probabilities over the 41 labels) are of the last turn."""

    dialogues: list[list[str]]
    names: list[str]
    labels: Ints
    targets: Floats


# ---- data -----------------------------------------------------------------------------------------------------------------------------------------------


def read_weak(folder: Path) -> Examples:
    """Read the weak labeler's set: lines `id <SEP> text`. Its labels.txt gives neutral the id 38, its lines 40; the lines agree with `LABELS`."""
    texts, ids = [], []
    for path in (folder / name for name in WEAK_FILES):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = re.fullmatch(r"(\d+) <SEP> (.*)", line)
            if match is None or int(match[1]) >= len(LABELS):
                raise ValueError(f"{path}, line {number}: expected 'id <SEP> text' with an id from 0 to {len(LABELS) - 1}, got {line[:60]!r}")
            ids.append(int(match[1]))
            texts.append(match[2].strip())
    labels = np.array(ids)
    return Examples([[text] for text in texts], [""] * len(texts), labels, one_hot(labels))


def read_crowd(folder: Path) -> Examples:
    """Read the crowd labels on which two of three workers agreed, if the label is one of the 41."""
    dialogues, names, labels, answers = [], [], [], []
    with (folder / CROWD_FILES[0]).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            label, turns = label_id(row["Agreed emotion (2/3 vote)"]), split_turns(row["Dialog"])
            if label != MISSING and turns:
                dialogues.append(turns)
                names.append(row["DialogID"])
                labels.append(label)
                answers.append([label_id(row[f"Worker {worker} answer"]) for worker in (1, 2, 3)])
    votes = np.zeros((len(labels), len(LABELS)), dtype=np.float32)
    for row_number, given in enumerate(answers):
        for answer in given:
            if answer != MISSING:
                votes[row_number, answer] += 1
    return Examples(dialogues, names, np.array(labels), votes / votes.sum(axis=1, keepdims=True))


def label_id(answer: str) -> int:
    """Return the id of a worker's answer, such as "Neutral (Other)", or MISSING if it is none of the 41."""
    return LABEL_IDS.get(answer.replace(" (Other)", "").strip().lower(), MISSING)


def split_turns(dialogue: str) -> list[str]:
    """Return a dialogue's turns as our own sources would give them: one a line, without the leading dashes, detokenised."""
    lines = [re.sub(r"^(?:-(?:\s+|$))+", "", " ".join(line.split())) for line in dialogue.splitlines()]
    return [turn for turn in detokenize([line for line in lines if line]) if turn]


def one_hot(labels: Ints) -> Floats:
    """Return labels as rows of probabilities."""
    return np.eye(len(LABELS), dtype=np.float32)[labels]


def embed(dialogues: Sequence[Sequence[str]], encoder: Encoder, cache: Path | None) -> tuple[Floats, Ints]:
    """Return the embeddings of all turns, one dialogue behind the other, and the dialogues' offsets."""
    texts = [turn for turns in dialogues for turn in turns]
    offsets = np.cumsum([0, *(len(turns) for turns in dialogues)])
    key = hashlib.sha256("\n".join([encoder.identity, *texts]).encode()).hexdigest()[:16]
    path = cache / f"{key}.npy" if cache else None
    if path and path.is_file():
        return np.load(path), offsets
    # Runs store embeddings in half precision, so the heads learn from them as they will see them.
    embeddings = encoder.encode(texts).astype(np.float16).astype(np.float32)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, embeddings)
    return embeddings, offsets


def split(examples: Examples, vectors: Floats, recipe: dict[str, Any]) -> Ints:
    """Return 0, 1 or 2 (train, validation, test) for every example, with the same shares of every label.

    Examples stay together if they have the same name or last turn (letters and digits, lower-cased), or if the embeddings of their last turns are near.
    """
    first: dict[str, int] = {}
    links: list[tuple[int, int]] = []
    for row, (turns, name) in enumerate(zip(examples.dialogues, examples.names, strict=True)):
        keys = ["text " + " ".join(re.findall(r"\w+", turns[-1].lower()))] + (["name " + name] if name else [])
        links += [(row, first.setdefault(key, row)) for key in keys]
    for start in range(0, len(vectors), 2048):
        rows, others = np.nonzero(vectors[start : start + 2048] @ vectors.T >= recipe["near_duplicate"])
        links += zip((rows + start).tolist(), others.tolist(), strict=True)
    graph = coo_array((np.ones(len(links)), tuple(np.array(links).T)), shape=(len(vectors), len(vectors)))
    members: dict[int, list[int]] = defaultdict(list)
    for row, group in enumerate(connected_components(graph)[1].tolist()):
        members[group].append(row)
    by_label: dict[int, list[list[int]]] = defaultdict(list)
    for rows_of_group in members.values():
        by_label[Counter(examples.labels[rows_of_group].tolist()).most_common(1)[0][0]].append(rows_of_group)
    generator = np.random.default_rng(recipe["seed"])
    ends = np.cumsum(recipe["shares"])
    parts = np.zeros(len(vectors), dtype=np.int64)
    for label in sorted(by_label):
        total, done = sum(map(len, by_label[label])), 0
        for choice in generator.permutation(len(by_label[label])):
            group_rows = by_label[label][choice]
            parts[group_rows] = min(int(np.searchsorted(ends, done / total, side="right")), 2)
            done += len(group_rows)
    return parts


# ---- model ----------------------------------------------------------------------------------------------------------------------------------------------


def fit(features: Floats, targets: Floats, l2: float) -> tuple[Floats, Floats]:
    """Fit softmax regression: mean cross-entropy to the targets plus l2 / 2 times the squared weights, the bias free; L-BFGS from zero."""
    x, y = torch.from_numpy(features), torch.from_numpy(targets)
    weight = torch.zeros(x.shape[1], y.shape[1], requires_grad=True)
    bias = torch.zeros(y.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=300, history_size=20, line_search_fn="strong_wolfe", tolerance_grad=1e-6)

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(x @ weight + bias, y) + l2 / 2 * weight.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return weight.detach().numpy(), bias.detach().numpy()


def fit_dialogue(features: Floats, targets: Floats, weak: LinearHead, choice: dict[str, float]) -> tuple[Floats, Floats]:
    """Fit the dialogue head with the weak head's logits as 41 more features, and fold these, being linear in the turn, into its weights."""
    dim = len(weak.weight)
    weak_weight = choice["weak_scale"] * (weak.weight - weak.weight.mean(axis=1, keepdims=True))
    weak_bias = choice["weak_scale"] * (weak.bias - weak.bias.mean())
    context = np.float32(choice["context_scale"])
    extended = np.hstack([features[:, :dim], context * features[:, dim:], features[:, :dim] @ weak_weight + weak_bias]).astype(np.float32)
    weight, bias = fit(extended, targets, choice["l2"])
    own, others, from_weak = np.split(weight, [dim, features.shape[1]])
    return np.vstack([own + weak_weight @ from_weak, context * others]).astype(np.float32), (bias + weak_bias @ from_weak).astype(np.float32)


def cross_entropy(head: LinearHead, features: Floats, labels: Ints) -> float:
    """Return the mean negative log-probability (nats) of the labels."""
    chosen = head.predict_proba(features)[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(chosen, 1e-12)).mean())


def calibrate(weight: Floats, bias: Floats, features: Floats, labels: Ints, decay: float | None) -> tuple[LinearHead, float]:
    """Return the head at the temperature of the lowest cross-entropy on the given rows, and that cross-entropy."""

    def at(log_temperature: float) -> LinearHead:
        return LinearHead(weight, bias, round(float(np.exp(log_temperature)), 4), decay)

    best = minimize_scalar(lambda value: cross_entropy(at(value), features, labels), bounds=(-2, 2), method="bounded")
    return at(best.x), float(best.fun)


def measure(head: LinearHead, features: Floats, labels: Ints) -> dict[str, Any]:
    """Return accuracy, macro-F1, top-3 accuracy, expected calibration error before and after the temperature, and F1 by label."""
    probabilities = head.predict_proba(features)
    predicted = probabilities.argmax(axis=1)
    counts = np.zeros((len(LABELS), len(LABELS)))
    np.add.at(counts, (labels, predicted), 1)
    f1 = 2 * counts.diagonal() / np.maximum(counts.sum(axis=0) + counts.sum(axis=1), 1)
    top = np.argsort(-probabilities, axis=1, kind="stable")[:, :3]
    raw = LinearHead(head.weight, head.bias).predict_proba(features)
    return {
        "examples": len(labels),
        "accuracy": round(float(np.mean(predicted == labels)), 4),
        "macro_f1": round(float(f1.mean()), 4),
        "top_3_accuracy": round(float(np.mean((top == labels[:, None]).any(axis=1))), 4),
        "majority_class_accuracy": round(float(np.bincount(labels).max() / len(labels)), 4),
        "cross_entropy": round(cross_entropy(head, features, labels), 4),
        "ece_before_temperature": round(calibration_error(raw, labels), 4),
        "ece": round(calibration_error(probabilities, labels), 4),
        "f1_by_label": {name: round(float(value), 3) for name, value in zip(LABELS, f1, strict=True)},
    }


def calibration_error(probabilities: Floats, labels: Ints, bins: int = 15) -> float:
    """Return the mean distance between confidence and accuracy over equally wide bins of confidence, weighted by their sizes (Guo et al., 2017)."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, weights=confidence - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(labels))


# ---- the script -----------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What distinguishes the two heads: their data, the grid of the recipe, and for the dialogue head the weak head it builds on."""

    name: str
    files: tuple[str, ...]
    licence: str
    grid: dict[str, list[float]]
    weak: LinearHead | None = None

    def features(self, embeddings: Floats, offsets: Ints, choice: dict[str, float]) -> Floats:
        """Return the features of every dialogue's last turn."""
        rows = offsets[1:] - 1
        return dialogue_features(embeddings, offsets, choice["decay"])[rows] if self.weak else embeddings[rows]

    def fit(self, features: Floats, targets: Floats, choice: dict[str, float]) -> tuple[Floats, Floats]:
        """Return weight and bias."""
        return fit_dialogue(features, targets, self.weak, choice) if self.weak else fit(features, targets, choice["l2"])

    def choices(self) -> list[dict[str, float]]:
        """Return every combination of the grid's values."""
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]


def train(task: Task, examples: Examples, embeddings: Floats, offsets: Ints, recipe: dict[str, Any]) -> LinearHead:
    """Choose on the validation part, fit to training and validation part, measure once on the test part."""
    parts = split(examples, embeddings[offsets[1:] - 1], recipe)
    fitted, held, test = parts == 0, parts == 1, parts == 2
    best: tuple[float, dict[str, float], LinearHead] | None = None
    for choice in task.choices():
        features = task.features(embeddings, offsets, choice)
        targets = mixed_targets(examples, choice)
        weight, bias = task.fit(features[fitted], targets[fitted], choice)
        head, loss = calibrate(weight, bias, features[held], examples.labels[held], choice.get("decay"))
        report(f"{task.name} {choice} validation cross-entropy {loss:.4f}")
        if best is None or loss < best[0]:
            best = loss, choice, head
    assert best is not None, "a grid has at least one choice"
    _, choice, head = best
    features, targets = task.features(embeddings, offsets, choice), mixed_targets(examples, choice)
    validation = measure(head, features[held], examples.labels[held])
    weight, bias = task.fit(features[~test], targets[~test], choice)
    final = LinearHead(weight, bias, head.temperature, head.decay)
    metrics = {"validation (fitted to train)": validation, "test (fitted to train and validation)": measure(final, features[test], examples.labels[test])}
    sizes = {name: int((parts == number).sum()) for number, name in enumerate(SPLITS)}
    return replace(final, record={"name": f"linear-{task.name}", "chosen": choice, "temperature": final.temperature, "split": sizes, "metrics": metrics})


def mixed_targets(examples: Examples, choice: dict[str, float]) -> Floats:
    """Return the agreed labels, mixed with the workers' answers in the share that the choice gives."""
    share = np.float32(choice.get("workers_share", 0))
    return share * examples.targets + (1 - share) * one_hot(examples.labels)


def complete(head: LinearHead, task: Task, encoder: Encoder, args: argparse.Namespace, recipe: dict[str, Any]) -> LinearHead:
    """Return the head with the facts of its making in its record."""
    files = [{"file": name, "sha256": hashlib.sha256((args.data_dir / name).read_bytes()).hexdigest()} for name in task.files]
    facts = {
        "data": files,
        "licence_of_the_data": task.licence,
        "encoder": encoder.identity,
        "seed": recipe["seed"],
        "near_duplicate": recipe["near_duplicate"],
        "command": f"python training/train_linear_heads.py --data-dir $EDOS_DATA_DIR --recipe {args.recipe.as_posix()}",
        "date": datetime.now(timezone.utc).date().isoformat(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "torch", "transformers", "sentence-transformers")}},
    }
    return replace(head, record={**head.record, **facts})


def report(line: str) -> None:
    """Say where the training is."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Train, measure and write both heads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="folder of the data sets (default: $EDOS_DATA_DIR)")
    parser.add_argument("--recipe", type=Path, required=True, help="YAML with the seed, the split and the values to choose from")
    parser.add_argument("--out", type=Path, required=True, help="folder that gets weak/ and dialogue/")
    parser.add_argument("--cache", type=Path, help="folder that keeps the embeddings for the next training")
    args = parser.parse_args()
    if args.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder with empathetic_dialogues/ and edos_amt/")
    recipe, encoder = yaml.safe_load(args.recipe.read_text(encoding="utf-8")), Encoder()
    with limit_threads(1):
        weak = Task("weak", WEAK_FILES, WEAK_LICENCE, recipe["weak"])
        examples = read_weak(args.data_dir)
        weak_head = complete(train(weak, examples, *embed(examples.dialogues, encoder, args.cache), recipe), weak, encoder, args, recipe)
        # The dialogue head learns from both sets: from the first through the weak head's logits.
        both = f"{CROWD_LICENCE}; {WEAK_LICENCE}"
        dialogue = Task("dialogue", CROWD_FILES + WEAK_FILES, both, recipe["dialogue"], weak_head)
        examples = read_crowd(args.data_dir)
        dialogue_head = complete(train(dialogue, examples, *embed(examples.dialogues, encoder, args.cache), recipe), dialogue, encoder, args, recipe)
    for name, head in (("weak", weak_head), ("dialogue", dialogue_head)):
        head.save(args.out / name)
        report(f"{name}: {head.record['metrics']}")


if __name__ == "__main__":
    main()
