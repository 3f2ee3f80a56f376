"""Response models, what they were trained on, and what they are tested on: the matrix of Xie & Pu's Tables 4 and 5, of
EDOS's Table 7, and of the Gutenberg paper (zero-shot and fine-tuned, beside random answers and the truth).

    python evaluation/generation.py --models os=models/empathetic_os edos=models/empathetic_os_edos \
        ed=models/empathetic_os_ed --sets os edos empathetic_dialogues --dialogues FOLDER_OF_EDOS_CURATE --relabel \
        --data-dir "$EDOS_DATA_DIR" --records build/generation --out build/generation

Each model meets each test set: perplexity over the answers of `--test-dialogues` dialogues, and answers by beam search
to `--limit` contexts, one of a dialogue, drawn by the seed. An empathetic model answers under the label of the true
answer, and where it has a predictor, in a row of its own, under the predicted one, as it would for a user. Beside the
models: `RT`, answers of the training part drawn at random; `GT`, the true ones; and a model of single tokens.

`--records` gets a JSON for each cell as soon as it is measured, with the answers, so that a run that was killed goes
on, and one more model costs its own cells alone; at the start it tells how many are lacking, and about how long their
answers take. `--out` gets `generation.json` (figures without texts), `report.md`
and its picture; `--render` makes them anew of the records, without models. `--examples` shows so many contexts of each
test set in the report: texts of others, whose licences forbid that it goes into this repository. Contexts that we wrote
are always shown.
"""

import argparse
import os
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from edos_dataset.encoders.encoder import Encoder, limit_threads
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.metrics.responses.words import Words
from edos_dataset.runs.shards import write_text
from evaluation.generation_measures import judge, labels_of, predictor_scores, words_of
from evaluation.generation_models import Condition, Model
from evaluation.generation_records import MATRIX, Ahead, as_json, kept_cell, read_cell, slug, told_ahead
from evaluation.generation_report import write_report
from evaluation.generation_sets import INVENTED, HeldOut, describe, read_invented, read_set
from training.caches import key_of
from training.examples import report as say

_FORM = 2  # of the records: another one makes them anew


class Matrix:
    """The cells, each measured once.

    Args:
        sets: the test sets, and the contexts that we wrote.
        arguments: of the command line.
    """

    def __init__(self, sets: Sequence[HeldOut], arguments: argparse.Namespace) -> None:
        self.sets, self.arguments = sets, arguments
        self.encoder = Encoder()
        self.vectors: Path | None = arguments.vectors
        shown = f"{self.vectors.name} {self.vectors.stat().st_size}" if self.vectors else ""
        self._words: dict[str, Words] = {}
        self.by = [str(_FORM), load_labeler(arguments.labeler).identity, self.encoder.identity, shown]

    def cell(self, row: str, held: HeldOut, told: Sequence[str], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a cell, measured or kept."""
        made = kept_cell(*self._kept(row, held, told), make)
        figures = made.get("figures") or {}
        ses = figures.get("ses", {}).get("value")
        say(f"{row} on {held.name}: {len(made['answers'])} answers" + ("" if ses is None else f", SES {ses:.3f}"))
        return made

    def _kept(self, row: str, held: HeldOut, told: Sequence[str]) -> tuple[Path, str]:
        """Return the file of a cell, and the key of what it was made of."""
        path = self.arguments.records / f"{slug(held.name)}--{slug(row)}.json"
        return path, key_of([row, held.digest, *self.by, *told])

    def ahead(self, model: Model) -> Ahead:
        """Return what is still to be measured of a model; a few answers tell how long it may take."""
        cells = [(held, condition) for held in self.sets for condition in model.conditions]
        lacking = [
            (held, condition)
            for held, condition in cells
            if read_cell(*self._kept(model.row(condition), held, self._told_of(model))) is None
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
        true = [context.truth for context in held.contexts]
        self.cell("GT", held, [], lambda: self._told("GT", "", held, true, [None] * len(true)))

    def model(self, model: Model, held: HeldOut) -> None:
        """Measure the rows of a model."""
        for number, condition in enumerate(model.conditions):
            row = model.row(condition)

            def make(row: str = row, condition: Condition = condition, first: bool = not number) -> dict[str, Any]:
                perplexity = model.perplexity(held) if first and len(held.test) else None
                answers, under = model.answer(
                    held.contexts,
                    condition,
                    beams=self.arguments.beams,
                    max_tokens=self.arguments.max_tokens,
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
        """Return a record of answers."""
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
    """Measure all cells that the records lack."""
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

    # Models are read one after the other, and twice, since they might not find room together.
    say(told_ahead([matrix.ahead(load(name, folder)) for name, folder in given]))
    for held in sets:
        matrix.references(held)
    for name, folder in given:
        model = load(name, folder)
        for held in sets:
            matrix.model(model, held)


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=[], metavar="NAME=FOLDER", help="folders or Hub ids")
    parser.add_argument("--sets", nargs="+", default=["empathetic_dialogues"], help="sources, as recipes name them")
    parser.add_argument("--dialogues", help="folder or Hub id of the data set whose configs are sets")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"))
    parser.add_argument("--labeler", default="general", help="labels the answers, and turns without a label")
    parser.add_argument(
        "--relabel", action="store_true", help="label all turns so, as recipes with `relabel`, also those with a label"
    )
    parser.add_argument(
        "--vectors", type=Path, help="word vectors (GloVe, fastText) for the four measures that need any"
    )
    parser.add_argument("--test-dialogues", type=int, default=2000, help="for the perplexity; 0 for all")
    parser.add_argument("--limit", type=int, default=500, help="contexts to answer in each set")
    parser.add_argument("--beams", type=int, default=32)
    parser.add_argument("--max-tokens", type=int, default=100, help="of an answer")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing of dialogues and contexts")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trust", action="store_true", help="run code that came with a model")
    parser.add_argument("--records", type=Path, required=True, help="folder of the cells, with all texts")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(""), metavar="DIR")
    parser.add_argument("--examples", type=int, default=0, help="contexts of each test set in the report")
    parser.add_argument("--render", action="store_true", help="measure nothing: make the report of the records")
    arguments = parser.parse_args(given)
    names = [each.partition("=")[0] for each in arguments.models]
    if strange := [each for each in arguments.models if "=" not in each]:
        parser.error(f"--models: expected NAME=FOLDER, got {strange[0]!r}")
    if twice := [name for name in names if [slug(each) for each in names].count(slug(name)) > 1]:
        parser.error(f"--models: two are called {twice[0]!r}: give each a name of its own")
    if not arguments.render and not names:
        parser.error("--models names none: give NAME=FOLDER, or --render to make the report of --records anew")
    for name in ("limit", "beams", "max_tokens", "threads"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {getattr(arguments, name)}")
    return arguments


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
