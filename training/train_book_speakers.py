"""Train the networks that say who speaks in books (`edos_dataset/segmentation/books/attribution.py`), and measure them
on novels that they were not trained on.

    python training/train_book_speakers.py DATA/pdnc --out edos_dataset/segmentation/books/weights/speakers.json

FOLDER has a folder for each novel, as in the Project Dialogism Novel Corpus (`evaluation/novels.py`). Novels are
divided into --folds parts; the speakers of each part are named by networks that were fitted to the others. From their
probabilities the least one is taken above which --right of the named turns are right, and the networks that are written
are fitted to all novels. Writes evaluation/book_speakers.json.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.arrays import Floats
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.books.attribution import Attributor, Layer, neighbour_probabilities, softmax
from edos_dataset.segmentation.books.extraction import Speech, conversations
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.segmentation.books.scenes import Scene, scene_of
from edos_dataset.sources.formats import read_book
from evaluation.novels import KINDS, WORD, Novel, lay, turn_of

HIDDEN, EPOCHS, TURNS, RATE = 24, 8, 256, 3e-3


@dataclass(frozen=True)
class Example:
    """A novel with the candidates of its turns.

    Attributes:
        name: of the novel.
        scene: candidates and features.
        right: which candidates are right; "nobody of them" is where no other one is.
        known: turns whose speaker the corpus names.
        kinds: how the text names the speaker of each turn.
        published: turns that stand in a dialogue of two turns or more.
    """

    name: str
    scene: Scene
    right: np.ndarray
    known: np.ndarray
    kinds: np.ndarray
    published: np.ndarray


def example_of(folder: Path) -> Example:
    """Return the novel of a folder of the corpus."""
    novel, rules = Novel.load(folder), load_rules("en")
    book = read_book(novel.path.read_bytes(), novel.path.name, "en")
    dialogues = conversations(book.blocks, rules, Speech())
    scene = scene_of(dialogues, rules)
    if scene is None:
        raise ValueError(f"{folder}: no dialogue tag names anybody")
    words = [WORD.findall(turn.text().lower()) for dialogue in dialogues for turn in dialogue]
    turns = [turn_of(novel, places, len(each), None) for places, each in zip(lay(novel, words), words, strict=True)]
    speakers = [turn.speaker for turn in turns]
    persons = [turn.person for dialogue in dialogues for turn in dialogue]
    kinds = [novel.quotations[turn.quoted.most_common(1)[0][0]].kind if turn.quoted else "" for turn in turns]
    return Example(
        folder.name,
        scene,
        right_candidates(novel, scene, speakers, persons),
        np.array([speaker is not None for speaker in speakers]),
        np.array(kinds),
        np.array([len(dialogue) > 1 for dialogue in dialogues for _ in dialogue]),
    )


def right_candidates(
    novel: Novel, scene: Scene, speakers: Sequence[str | None], persons: Sequence[str | None]
) -> np.ndarray:
    """Return which candidates are right, given the speakers that the corpus names, and the persons of dialogue tags."""
    names = [character.name for character in scene.cast.characters]
    tagged = Counter(speaker for speaker, person in zip(speakers, persons, strict=True) if person == "i" and speaker)
    narrator = max(tagged, key=tagged.__getitem__, default=None)
    right = np.zeros(len(scene.turns), bool)
    for place, (turn, character) in enumerate(zip(scene.turns.tolist(), scene.characters.tolist(), strict=True)):
        speaker = speakers[turn]
        if character >= 0 and speaker is not None:
            right[place] = novel.names(names[character], speaker) if names[character] else speaker == narrator
    any_right = np.bincount(scene.turns, right, minlength=len(speakers)) > 0
    return np.asarray(right | ((scene.characters < 0) & ~any_right[scene.turns]))


def fit(examples: Sequence[Example], seed: int = 0) -> Attributor:
    """Fit both networks to novels."""
    features = [example.scene.features for example in examples]
    first = _fit(examples, features, seed)
    wider = []
    for example in examples:
        scene = example.scene
        found = softmax(first.scores(scene.features), scene.turns)
        shape = len(scene.dialogues), len(scene.cast.characters)
        wider.append(np.hstack([scene.features, neighbour_probabilities(scene, found, shape)]))
    return Attributor(first, _fit(examples, wider, seed), 0.5)


def _fit(examples: Sequence[Example], features: Sequence[Floats], seed: int) -> Layer:
    """Fit one network: the logarithm of the probability of all right candidates of a turn is as large as possible."""
    torch.manual_seed(seed)
    used = [example.known[example.scene.turns] for example in examples]
    rows = np.concatenate([each[keep] for each, keep in zip(features, used, strict=True)])
    right = np.concatenate([example.right[keep] for example, keep in zip(examples, used, strict=True)])
    before = np.cumsum([0, *(len(example.known) for example in examples)])
    pairs = zip(examples, used, before, strict=False)
    turns = np.concatenate([example.scene.turns[keep] + first for example, keep, first in pairs])
    _, turns = np.unique(turns, return_inverse=True)
    count = int(turns.max()) + 1
    begins = np.r_[0, np.flatnonzero(np.diff(turns)) + 1, len(turns)]
    mean, scale = rows.mean(0), 1 / (rows.std(0) + 1e-3)
    inputs, wanted = torch.tensor((rows - mean) * scale), torch.tensor(right.astype(np.float32))
    of_turn = torch.tensor(turns)
    net = torch.nn.Sequential(
        torch.nn.Linear(rows.shape[1], HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(HIDDEN, 1, bias=False),
    )
    parts = [(begin, min(begin + TURNS, count)) for begin in range(0, count, TURNS)]
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=EPOCHS * len(parts))
    generator = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        for number in generator.permutation(len(parts)):
            begin, end = parts[number]
            chosen = slice(int(begins[begin]), int(begins[end]))
            powers = torch.exp(net(inputs[chosen]).squeeze(1).clamp(-30, 30))
            at = of_turn[chosen] - begin
            whole = torch.zeros(end - begin).index_add(0, at, powers)
            good = torch.zeros(end - begin).index_add(0, at, powers * wanted[chosen])
            loss = (torch.log(whole) - torch.log(good + 1e-9)).mean()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
    net.eval()
    weights = [parameter.detach().numpy().astype(np.float32) for parameter in net.parameters()]
    return Layer(mean.astype(np.float32), scale.astype(np.float32), weights[0].T.copy(), weights[1], weights[2][0])


@dataclass(frozen=True)
class Named:
    """The published turns of novels: the probability of the best candidate of each, and whether it is right.

    Attributes:
        probability: 0 to 1.
        right: whether the candidate is the speaker.
        known: whether the corpus names the speaker.
        kinds: how the text names the speaker.
    """

    probability: Floats
    right: np.ndarray
    known: np.ndarray
    kinds: np.ndarray

    @classmethod
    def of(cls, example: Example, attributor: Attributor) -> "Named":
        """Name the speakers of a novel."""
        scene = example.scene
        probabilities = attributor.probabilities(scene)
        named = np.array([bool(character.name) for character in scene.cast.characters] + [False])[scene.characters]
        begins = np.searchsorted(scene.turns, np.arange(len(scene.dialogues)))
        ends = np.r_[begins[1:], len(scene.turns)]
        best = [begin + int(probabilities[begin:end].argmax()) for begin, end in zip(begins, ends, strict=True)]
        use = example.published
        values = np.where(named[best], probabilities[best], 0)
        return cls(values[use], (example.right & named)[best][use], example.known[use], example.kinds[use])

    @classmethod
    def joined(cls, parts: Sequence["Named"]) -> "Named":
        """Return the turns of several novels."""
        names = ("probability", "right", "known", "kinds")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def least(self, right: float) -> float:
        """Return the least probability from which a fraction of the named turns is right."""
        order = np.argsort(-self.probability)
        known, good = self.known[order], (self.right & self.known)[order]
        fractions = np.cumsum(good) / np.maximum(np.cumsum(known), 1)
        enough = np.flatnonzero(fractions >= right)
        return float(self.probability[order][enough[-1]]) if len(enough) else 1.0

    def row(self, least: float) -> dict[str, Any]:
        """Return the percentages of named turns and of right ones among them."""
        named = self.probability >= least
        row = {"named": _percent(named), "right": _percent(self.right[named & self.known])}
        for kind in KINDS:
            own = self.kinds == kind
            row[f"named, {kind.lower()}"] = _percent(named[own])
            row[f"right, {kind.lower()}"] = _percent(self.right[named & self.known & own])
        return row


def _percent(flags: np.ndarray) -> float | None:
    return round(100 * float(flags.mean()), 1) if len(flags) else None


def unseen(examples: Sequence[Example], number: int, folds: int) -> dict[str, Named]:
    """Return the named turns of the novels of a part, by networks that were fitted to the others."""
    fitted = fit([example for place, example in enumerate(examples) if place % folds != number])
    return {example.name: Named.of(example, fitted) for example in examples[number::folds]}


def report(parts: Mapping[str, Named], right: float) -> dict[str, Any]:
    """Return what is named and right at the least probability from which a fraction is right, and at others."""
    whole = Named.joined(list(parts.values()))
    least = round(whole.least(right), 3)
    facts = {"date": str(date.today()), "command": command_line(), "machine": describe_machine(), "least": least}
    curve = {str(each): whole.row(whole.least(each)) for each in (0.85, 0.9, 0.92, 0.95, 0.97)}
    by_novel = {name: part.row(least) for name, part in sorted(parts.items())}
    return {**facts, "percent": whole.row(least), "curve": curve, "by_novel": by_novel}


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="novels of the Project Dialogism Novel Corpus")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--right", type=float, default=0.922, help="fraction of the named turns that are right")
    parser.add_argument("--out", type=Path, help="file of the networks that are fitted to all novels")
    parser.add_argument("--report", type=Path, default=Path("evaluation/book_speakers.json"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    examples = [example_of(path.parent) for path in sorted(given.folder.glob("*/quotation_info.csv"))]
    parts: dict[str, Named] = {}
    for number in range(given.folds):
        parts |= unseen(examples, number, given.folds)
    result = report(parts, given.right)
    write_result(given.report, result)
    if given.out:
        write_text(given.out, replace(fit(examples), least=result["least"]).dump() + "\n")


if __name__ == "__main__":
    main()
