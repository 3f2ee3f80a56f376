"""Teachers for `label_trials.py`: a trained labeler's answers beside or in place of people's, and an encoder that first
learned which turns of subtitles follow each other.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch.nn.functional import cross_entropy, normalize

from edos_dataset.arrays import Floats
from edos_dataset.crowd.splits import plain_text
from edos_dataset.encoders.encoder import model_folder
from edos_dataset.labeling.models.labelers import load_labeler
from training.examples import report as say
from training.heads.fast_sources import read_unlabelled
from training.labels.conventions import convention_of
from training.labels.sources import FILMS, Corpus, Taught, without_copies
from training.labels.targets import Kind, Target

SUBTITLES = ("frasier", "friends")
"""Sources of `fast_sources.UNLABELLED` whose turns stand in the order of their films."""

_WINDOW = 12  # turns of a part of subtitles
_PART = 0.5  # of the teacher in what a labelled turn teaches
_SCALE = 20.0  # of cosines, as sentence-transformers has it
_SAID = {"reader": "general", "crowd": "dialogue", "situations": "weak"}
"""Convention → the answer of the shipped labelers that is nearest to it."""


def distilled(corpus: Corpus) -> Corpus:
    """Return a corpus where shares of labels are half those of the shipped labeler that answers as their makers do."""
    train = {}
    for source, dialogues in corpus.train.items():
        answer = _SAID.get(convention_of(source))
        shares = [target for each in dialogues for target in each.targets if target and target.kind == Kind.SHARES]
        train[source] = dialogues if answer is None or not shares else _mixed(dialogues, _ask(answer, dialogues))
    return replace(corpus, train=train)


def self_trained(corpus: Corpus, folder: Path, short: int) -> Corpus:
    """Return a corpus whose turns of films are others, of subtitles that nobody read, with the labels of the shipped
    labeler for films: as many as were read, or all that there are.

    Args:
        corpus: what is learned from.
        folder: the data folder.
        short: see `LabelsRecipe`.
    """
    wanted = sum(target is not None for each in corpus.train[FILMS] for target in each.targets)
    read = {plain_text(text) for each in corpus.train[FILMS] for text in each.turns}
    windows = [Taught(turns, (None,) * len(turns)) for turns in windows_of(folder, read)]
    kept = without_copies(windows, corpus, short, acted=True)
    taught, count = [], 0
    for number in np.random.default_rng(0).permutation(len(kept)).tolist():
        if count >= wanted:
            break
        taught.append(kept[number])
        count += len(kept[number].turns)
    say(f"{count} turns of films that nobody read, in place of {wanted} read ones")
    return replace(corpus, train={**corpus.train, FILMS: _labelled(taught, _ask("general", taught))})


def windows_of(folder: Path, read: set[str]) -> list[tuple[str, ...]]:
    """Return turns of subtitles that stand side by side, `_WINDOW` at most, without those with words in `read`."""
    windows: list[tuple[str, ...]] = []
    own: list[str] = []
    for source in SUBTITLES:
        for text in [*read_unlabelled(source, folder)[0], ""]:
            if not (words := plain_text(text)) or words in read or len(own) == _WINDOW:
                windows += [tuple(own)] if len(own) > 1 else []
                own = []
            own += [text] if words and words not in read else []
    return windows


def _ask(answer: str, dialogues: Sequence[Taught]) -> Floats:
    """Return a shipped labeler's probabilities of all turns, float32 [turns, 41]."""
    found: Floats = load_labeler(answer).predict_proba([list(each.turns) for each in dialogues])
    return found


def _mixed(dialogues: Sequence[Taught], answers: Floats) -> list[Taught]:
    """Return dialogues whose shares are in part a teacher's."""
    rows = iter(answers)
    return [
        Taught(each.turns, tuple(_mix(target, row) for target, row in zip(each.targets, rows, strict=False)))
        for each in dialogues
    ]


def _mix(target: Target | None, answer: Floats) -> Target | None:
    if target is None or target.kind != Kind.SHARES:
        return target
    return Target(((1 - _PART) * target.values + _PART * answer).astype(np.float32), Kind.SHARES)


def _labelled(dialogues: Sequence[Taught], answers: Floats) -> list[Taught]:
    rows = iter(answers)
    return [Taught(each.turns, tuple(Target(next(rows), Kind.SHARES) for _ in each.turns)) for each in dialogues]


def contrasted(folder: Path, base_model: str, steps: int, batch: int, out: Path) -> str:
    """Train an encoder so that of the turns of a batch the one that follows in its film is nearest (in-batch negatives,
    both ways); return the folder that it was saved to, `out`.

    Args:
        folder: the data folder.
        base_model: the encoder to start from.
        steps: updates, each of `batch` pairs.
        batch: likewise.
        out: a finished one is not trained again.
    """
    if (out / "config.json").is_file():
        return str(out)
    texts = windows_of(folder, set())
    pairs = [pair for window in texts for pair in zip(window[::2], window[1::2], strict=False)]
    order = np.random.default_rng(0).permutation(len(pairs)).tolist()
    torch.manual_seed(0)
    model = SentenceTransformer(str(model_folder(base_model)), device="cpu", trust_remote_code=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    model.train()
    for step in range(steps):
        chosen = [pairs[order[(step * batch + row) % len(order)]] for row in range(batch)]
        with torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported()):
            sides = [model(model.tokenize(list(side)))["sentence_embedding"] for side in zip(*chosen, strict=True)]
        left, right = (normalize(side.float()) for side in sides)
        cosines, truth = _SCALE * left @ right.T, torch.arange(batch)
        loss = (cross_entropy(cosines, truth) + cross_entropy(cosines.T, truth)) / 2
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            say(f"pairs of turns, step {step} of {steps}: loss {loss.item():.3f}")
    model.save_pretrained(str(out))
    return str(out)
