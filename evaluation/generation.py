"""The matrix of response models by training data and test sets: Xie & Pu's Tables 4 and 5, EDOS's Table 7, and the
Gutenberg paper (zero-shot and fine-tuned, compared with random and true answers).

    python evaluation/generation.py --models os=models/empathetic_os edos=models/empathetic_os_edos \
        ed=models/empathetic_os_ed --sets os edos empathetic_dialogues --dialogues FOLDER_OF_EDOS_CURATE --relabel \
        --data-dir "$EDOS_DATA_DIR" --records build/generation --out build/generation

Each model is measured on each test set: perplexity over the answers in `--test-dialogues` dialogues, and answers by
beam search to `--limit` contexts, one per dialogue, drawn with the seed. An empathetic model answers with the label of
the true answer and, if it has a predictor, in a separate row with the predicted label, as it would for a user. The
table also has `RT`, random answers of the training split; `GT`, the true answers; and a unigram model.

Each cell is written to `--records` as JSON with its answers as soon as it is measured, so that an interrupted run
resumes, and a further model only adds its own cells; at the start the number of missing cells and an estimate of their
time are printed. `--how` adds rows with other decoding, such as the best of eight answers by the labeler; `--nearest`
one with the answer to the most similar training context that has the label asked for.

`--out` gets `generation.json` (figures without texts), `report.md` and its chart; `--render` makes them from the
records, without models. `--examples` shows that number of contexts of each test set in the report: their
texts are licensed by others, so such a report must not be added to this repository. Contexts that we wrote are always
shown.
"""

import argparse
import os
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from edos_dataset.encoders.encoder import Encoder, limit_threads
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.metrics.responses.words import Words
from edos_dataset.runs.shards import write_text
from evaluation.generation_models import (
    Condition,
    Model,
    judge,
    labels_of,
    nearest_answers,
    predictor_scores,
    words_of,
)
from evaluation.generation_report import write_report
from evaluation.generation_sets import (
    INVENTED,
    MATRIX,
    NEAREST,
    Ahead,
    HeldOut,
    as_json,
    describe,
    kept_cell,
    read_cell,
    read_invented,
    read_set,
    slug,
    told_ahead,
)
from training.caches import key_of
from training.examples import report as say

_FORM = 2  # version of the records: a change makes them invalid


class Matrix:
    """The cells of the matrix, each measured once.

    Args:
        sets: the test sets, and the contexts that we wrote.
        arguments: the command line.
    """

    def __init__(self, sets: Sequence[HeldOut], arguments: argparse.Namespace) -> None:
        self.sets, self.arguments = sets, arguments
        self.encoder = Encoder()
        self.vectors: Path | None = arguments.vectors
        shown = f"{self.vectors.name} {self.vectors.stat().st_size}" if self.vectors else ""
        self._words: dict[str, Words] = {}
        self.by = [str(_FORM), load_labeler(arguments.labeler).identity, self.encoder.identity, shown]

    def cell(
        self, row: str, held: HeldOut, made_of: Sequence[str], make: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return a cell, measured or from the records."""
        made = kept_cell(*self._kept(row, held, made_of), make)
        figures = made.get("figures") or {}
        ses = figures.get("ses", {}).get("value")
        say(f"{row} on {held.name}: {len(made['answers'])} answers" + ("" if ses is None else f", SES {ses:.3f}"))
        return made

    def _kept(self, row: str, held: HeldOut, made_of: Sequence[str]) -> tuple[Path, str]:
        """Return the file of a cell, and the key of its inputs."""
        path = self.arguments.records / f"{slug(held.name)}--{slug(row)}.json"
        return path, key_of([row, held.digest, *self.by, *made_of])

    def ahead(self, model: Model) -> Ahead:
        """Return what remains to be measured for a model, with the time estimated from a few answers."""
        cells = [
            (held, condition, how) for held in self.sets for condition in model.conditions for how in self.arguments.how
        ]
        lacking = [
            (held, condition)
            for held, condition, how in cells
            if read_cell(*self._kept(model.row(condition, how), held, self._told_of(model))) is None
        ]
        answers = sum(len(held.contexts) for held, _ in lacking)
        pace = 0.0
        if lacking:
            held, condition = lacking[0]
            pace = model.pace(held.contexts, condition, self.arguments.beams, self.arguments.max_tokens)
        return Ahead(len(cells), len(lacking), answers, answers * pace)

    def _told_of(self, model: Model) -> list[str]:
        return [model.digest, str(self.arguments.beams), str(self.arguments.max_tokens)]

    def references(self, held: HeldOut) -> None:
        """Measure the rows RT and GT."""
        if held.name != INVENTED:
            said = [turn for texts in held.train["texts"].to_pylist() for turn in texts[1:]]
            drawn = random.Random(self.arguments.seed).choices(said, k=len(held.contexts))
            self.cell("RT", held, [], lambda: self._told("RT", "", held, drawn, [None] * len(drawn)))
        if held.name != INVENTED and self.arguments.nearest:
            self.cell(NEAREST, held, [], lambda: self._nearest(held))
        true = [context.truth for context in held.contexts]
        self.cell("GT", held, [], lambda: self._told("GT", "", held, true, [None] * len(true)))

    def _nearest(self, held: HeldOut) -> dict[str, Any]:
        answers = nearest_answers(held, self.encoder)
        return self._told(NEAREST, "", held, answers, [context.label for context in held.contexts])

    def model(self, model: Model, held: HeldOut) -> None:
        """Measure the rows of a model."""
        rows = [(condition, how) for condition in model.conditions for how in self.arguments.how]
        for number, (condition, how) in enumerate(rows):
            row = model.row(condition, how)

            def make(
                row: str = row, condition: Condition = condition, how: str = how, first: bool = not number
            ) -> dict[str, Any]:
                perplexity = model.perplexity(held) if first and len(held.test) else None
                answers, under = model.answer(
                    held.contexts,
                    condition,
                    beams=self.arguments.beams,
                    max_tokens=self.arguments.max_tokens,
                    how=settings_of(how),
                    say=say if len(held.contexts) > 100 else None,
                )
                setting = model.setting(held) if held.name != INVENTED else ""
                return {
                    **self._told(row, setting, held, answers, under),
                    "model": model.name,
                    "kind": model.record.get("task", "model of others"),
                    "parameters": model.record.get("parameters"),
                    "path": model.path,
                    "condition": condition,
                    "perplexity": perplexity,
                }

            self.cell(row, held, self._told_of(model), make)

    def _told(
        self, row: str, setting: str, held: HeldOut, answers: Sequence[str], under: Sequence[int | None]
    ) -> dict[str, Any]:
        labels = labels_of(held.contexts, answers, self.arguments.labeler)
        found: dict[str, Any] = {"row": row, "set": held.name, "digest": held.digest, "setting": setting}
        if held.name != INVENTED:
            if held.name not in self._words:
                self._words = {held.name: words_of(held, self.vectors)}
            found["figures"] = judge(held.contexts, answers, labels, self._words[held.name], self.encoder, under)
            if row.endswith("predicted label"):
                true = [context.label for context in held.contexts]
                found["predictor"] = predictor_scores([own or 0 for own in under], true)
        return found | {"answers": list(answers), "under": list(under), "labels": labels}


def measure_all(arguments: argparse.Namespace) -> None:
    """Measure all cells that are missing in the records."""
    check_labeler(load_labeler(arguments.labeler))
    cache = arguments.records / "cache"
    sets = [
        read_set(
            name,
            arguments.data_dir,
            arguments.dialogues,
            labeler=arguments.labeler,
            cache=cache,
            most=arguments.test_dialogues,
            limit=arguments.limit,
            seed=arguments.seed,
            relabel=arguments.relabel,
        )
        for name in arguments.sets
    ]
    sets.append(read_invented())
    matrix = Matrix(sets, arguments)
    given = [each.split("=", 1) for each in arguments.models]
    content = {
        "labeler": arguments.labeler,
        "beams": arguments.beams,
        "seed": arguments.seed,
        "vectors": arguments.vectors.name if arguments.vectors else None,
        "sets": describe(sets),
        "models": [name for name, _ in given],
    }
    write_text(arguments.records / MATRIX, as_json(content))

    def load(name: str, folder: str) -> Model:
        return Model.load(name, folder, arguments.trust, arguments.device, arguments.labeler)

    # Models are loaded one after another, and twice, since two might not fit in memory.
    say(told_ahead([matrix.ahead(load(name, folder)) for name, folder in given]))
    for held in sets:
        matrix.references(held)
    for name, folder in given:
        model = load(name, folder)
        for held in sets:
            matrix.model(model, held)


_HOW = re.compile(r"\w+=[^,=]+(,\w+=[^,=]+)*")


def _way(text: str) -> str:
    if text and not _HOW.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE,..., got {text!r}")
    return text


def settings_of(how: str) -> dict[str, Any]:
    """Return the arguments of `Responder.respond` in a value of `--how`."""
    return {key: yaml.safe_load(value) for key, value in (each.split("=") for each in how.split(",") if each)}


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=[], metavar="NAME=FOLDER", help="folders or Hub ids")
    parser.add_argument("--sets", nargs="+", default=["empathetic_dialogues"], help="sources, as recipes name them")
    parser.add_argument("--dialogues", help="folder or Hub id of the dataset whose configs are test sets")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"))
    parser.add_argument("--labeler", default="general", help="labels the answers, and turns without a label")
    parser.add_argument(
        "--relabel", action="store_true", help="label all turns with it, also labelled ones, as `relabel` in recipes"
    )
    parser.add_argument(
        "--vectors", type=Path, help="word vectors (GloVe, fastText) for the four metrics that need them"
    )
    parser.add_argument("--test-dialogues", type=int, default=2000, help="dialogues for the perplexity; 0 for all")
    parser.add_argument("--limit", type=int, default=500, help="number of contexts to answer in each set")
    parser.add_argument("--beams", type=int, help="by default each model's own number: 32, for a language model 4")
    parser.add_argument(
        "--how",
        nargs="+",
        type=_way,
        default=[""],
        metavar="KEY=VALUE,...",
        help="further rows of each model: settings of `edos_dataset.respond`, such as rerank=8 or "
        "sample=true,temperature=0.7; '' for beam search alone",
    )
    parser.add_argument(
        "--nearest", action="store_true", help="a row with the answer of the most similar training context"
    )
    parser.add_argument("--max-tokens", type=int, default=100, help="maximum length of an answer")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample of dialogues and contexts")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trust", action="store_true", help="run the code in a model's folder or repository")
    parser.add_argument("--records", type=Path, required=True, help="folder of the cells with all texts")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(""), metavar="DIR")
    parser.add_argument("--examples", type=int, default=0, help="number of contexts of each test set in the report")
    parser.add_argument("--render", action="store_true", help="only make the report from the records")
    arguments = parser.parse_args(given)
    _check_models(parser, arguments)
    numbers = {name: getattr(arguments, name) for name in ("limit", "beams", "max_tokens", "threads")}
    if small := [name for name, value in numbers.items() if value is not None and value < 1]:
        parser.error(f"--{small[0].replace('_', '-')} must be at least 1, got {numbers[small[0]]}")
    return arguments


def _check_models(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """End with a message if the models are not named, or twice alike."""
    names = [each.partition("=")[0] for each in arguments.models]
    if strange := [each for each in arguments.models if "=" not in each]:
        parser.error(f"--models: expected NAME=FOLDER, got {strange[0]!r}")
    if twice := [name for name in names if [slug(each) for each in names].count(slug(name)) > 1]:
        parser.error(f"--models: two are called {twice[0]!r}: give each a name of its own")
    if not arguments.render and not names:
        parser.error("--models names none: give NAME=FOLDER, or --render to make the report from --records again")


def main(given: Sequence[str] | None = None) -> None:
    """Measure and report."""
    arguments = parse_arguments(given)
    try:
        if not arguments.render:
            with limit_threads(arguments.threads):
                measure_all(arguments)
        write_report(arguments.records, arguments.out, arguments.examples)
    except (OSError, ValueError, ModuleNotFoundError) as error:
        sys.exit(f"error: {error}")
    say(str(arguments.out / "report.md"))


if __name__ == "__main__":
    main()
