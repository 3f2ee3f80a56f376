"""How good labelers are on turns of every kind that nobody showed them: all models, all held-out sets, one report.

    python evaluation/domain.py --data-dir "$EDOS_DATA_DIR" --models fast linear-dialogue dialogue

The sets: people's labels on dialogues of subtitles (crowd), the weak labeler's test part (weak), and what
`training/held_out.py` keeps from training: of other makers' sets, whose labels each stand for some of ours, and of the
turns that language models labelled by reading (films). Turns are labelled in their dialogue, with their history.

`--labelled` adds a file of one's own: JSON lines, `{"dialogue_id", "turns": [{"text", "label"}, ...]}`, or CSV with
columns text, label and, where turns belong together, dialogue_id. A label is one of ours or several that are all right,
"annoyed|angry"; a turn without one is history. `--sets` without names leaves nothing but these files.

Out come `domain.json`, `report.md` and its pictures; same inputs, same bytes. With `--cache`, what was predicted before
an end is not predicted again.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats, Ints
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.embedded import EmbeddedLabeler
from edos_dataset.labeling.models.labelers import Labeler, check_labeler, load_labeler
from edos_dataset.runs.shards import replacing, write_text
from evaluation.domain_measures import describe, measure
from evaluation.domain_pictures import draw
from evaluation.domain_report import render
from evaluation.domain_sets import SETS, HeldOut, read_labelled_file, read_set
from training.caches import kept, key_of
from training.examples import report as say


def predict(labeler: Labeler, held: HeldOut, cache: Path | None = None) -> Floats:
    """Return the probabilities of the judged turns of a set, float32 [n, 41], each seen with its history, from the
    cache if they are there.
    """
    dialogues, rows = held.dialogues, held.judged
    if isinstance(labeler, EmbeddedLabeler):
        return labeler.on_embeddings(*embed(labeler, dialogues, cache))[rows]
    if labeler.context == 0:  # then the others need not be read
        turns = [turn for dialogue in dialogues for turn in dialogue]
        dialogues, rows = [[turns[row]] for row in rows], np.arange(len(rows))
    key = key_of([labeler.identity, json.dumps(dialogues), json.dumps(rows.tolist())])
    return kept(cache and cache / f"{key}.npy", len(rows), lambda: labeler.predict_proba(dialogues)[rows])


def embed(labeler: EmbeddedLabeler, dialogues: Sequence[Sequence[str]], cache: Path | None) -> tuple[Floats, Ints]:
    """Return the embeddings of all turns, float32 [turns, dim], as `predict_proba` makes them, and the offsets of the
    dialogues. Several models stand on one encoder, so these are what the cache keeps.
    """
    turns = [turn for dialogue in dialogues for turn in dialogue]
    key = key_of([labeler.encoder.identity, *turns])
    path = cache and cache / f"{key}.npy"
    found = kept(path, len(turns), lambda: labeler.encoder.encode(turns).astype(np.float16))
    return found.astype(np.float32), np.cumsum([0, *map(len, dialogues)])


def evaluate(labelers: Mapping[str, Labeler], sets: Sequence[HeldOut], cache: Path | None = None) -> dict[str, Any]:
    """Return the content of `domain.json`: `models` and `sets`, each described, with the `results` of every model."""
    content: dict[str, Any] = {
        "models": {name: {"source": each.source, "identity": each.identity} for name, each in labelers.items()},
        "sets": {held.name: {**describe(held), "results": {}} for held in sets},
    }
    for name, labeler in labelers.items():
        for held in sets:
            figures = measure(held, predict(labeler, held, cache))
            content["sets"][held.name]["results"][name] = figures
            say(f"{name} on {held.name}: {100 * figures['accuracy']:.1f} % of {len(held.right)} right")
    return content


def write_report(content: Mapping[str, Any], folder: Path, command: str) -> None:
    """Write `domain.json`, `report.md` and the pictures into a folder, made if missing; each is whole or absent."""
    shown = {"command": command, "models": content["models"], "sets": {}}
    for name, held in content["sets"].items():
        pictures = draw(file_name(name), held["results"])
        for file, (_, picture) in pictures.items():
            with replacing(folder / file) as temporary:
                temporary.write_bytes(picture)
        shown["sets"][name] = {**held, "pictures": {file: caption for file, (caption, _) in pictures.items()}}
    write_text(folder / "report.md", render(shown))
    write_text(folder / "domain.json", json.dumps({"command": command, **content}, indent=1, ensure_ascii=False) + "\n")


def file_name(name: str) -> str:
    """Return the name of a set as files can have it."""
    return re.sub(r"[^\w.-]+", "-", name)


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the data sets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--models", nargs="+", required=True, help="shipped models, model folders, Hub ids")
    parser.add_argument(
        "--sets",
        nargs="*",
        choices=SETS,
        default=list(SETS),
        metavar="SET",
        help=f"of {', '.join(SETS)} (default: all)",
    )
    parser.add_argument(
        "--labelled", type=Path, action="append", default=[], metavar="FILE", help="a file of one's own labels"
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps embeddings and predictions for the next run")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(""), metavar="DIR")
    arguments = parser.parse_args(given)
    if arguments.data_dir is None and arguments.sets:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    if not arguments.sets and not arguments.labelled:
        parser.error("--sets names none and there is no --labelled: nothing is to be measured")
    names = [*arguments.sets, *(path.stem for path in arguments.labelled)]
    files = [file_name(name) for name in names]
    if twice := [name for name in names if files.count(file_name(name)) > 1]:
        parser.error(f"two sets are called {twice[0]!r}: rename the file")
    return arguments


def main(given: Sequence[str] | None = None) -> None:
    """Measure and report."""
    arguments = parse_arguments(given)
    files = [word for path in arguments.labelled for word in ("--labelled", path.name)]
    command = ["python", "evaluation/domain.py", "--models", *arguments.models, "--sets", *arguments.sets, *files]
    with limit_threads(1):
        try:
            labelers = {name: load_labeler(name) for name in arguments.models}
            for labeler in labelers.values():
                check_labeler(labeler)
            sets = [read_set(name, arguments.data_dir, arguments.cache) for name in arguments.sets]
            sets += [read_labelled_file(path) for path in arguments.labelled]
            content = evaluate(labelers, sets, arguments.cache)
            write_report(content, arguments.out, " ".join(command))
        except (OSError, ValueError, ModuleNotFoundError) as error:
            sys.exit(f"error: {error}")
    say(str(arguments.out / "report.md"))


if __name__ == "__main__":
    main()
