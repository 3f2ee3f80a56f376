"""Corpora of dialogues rather than films: MELD, DailyDialog, EmpatheticDialogues."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import nest, unnest
from edos_dataset.releases.conversations import read_conversations
from edos_dataset.releases.raw import Reject, read_csv
from edos_dataset.schema import LINE
from edos_dataset.sources.detokenize import detokenize
from edos_dataset.sources.speakers import Cue, unify_names
from edos_dataset.sources.subtitles.times import check_times, parse_times
from training.turns.labels import label_scripts
from training.turns.scripts import Script
from training.turns.sources import mend, read_text

MELD_COLUMNS = ("Utterance", "Speaker", "Dialogue_ID", "Utterance_ID", "Season", "Episode", "StartTime", "EndTime")
_SPLIT_SHORT_FORM = re.compile(r"(?<=\w)['’] (?=(?:s|t|m|ll|re|ve|d|clock)\b)")  # DailyDialog has "I' m" beside "I'm"


def read_meld(data_dir: Path) -> pa.Table:
    """Read the utterances of MELD as cues, a dialogue a document; where an utterance is left out of a dialogue the seam
    is unknown.

    Args:
        data_dir: holds `meld/*.csv`.
    """
    rows = {
        path.stem.partition("_")[0]: read_utterances(path)
        for path in sorted((data_dir / "meld").glob("*_sent_emo.csv"))
    }
    people = unify_names(Counter(row["Speaker"] for part in rows.values() for row in part))
    scripts = []
    for part, utterances in rows.items():
        utterances.sort(key=lambda row: (int(row["Dialogue_ID"]), int(row["Utterance_ID"])))
        for number, dialogue in groupby(utterances, key=lambda row: row["Dialogue_ID"]):
            scripts.append(_script_of_dialogue(f"meld/{part}/{number}", list(dialogue), people))
    return label_scripts([script for script in scripts if script.blocks], "meld")


def read_utterances(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file of MELD, letters put right; rows of too many or too few values are left out."""
    rows = [row for _, row in read_csv(path, MELD_COLUMNS) if not isinstance(row, Reject)]
    return [{name: mend(value) for name, value in row.items()} for row in rows]


def _script_of_dialogue(name: str, rows: Sequence[Mapping[str, str]], people: Mapping[str, str | None]) -> Script:
    spoken = [row for row in rows if row["Utterance"].strip()]
    times = check_times(*(parse_times([row[column] for row in spoken]) for column in ("StartTime", "EndTime")))
    starts, ends = ([None if np.isnan(time) else time for time in column.tolist()] for column in times)
    texts = [(" ".join(row["Utterance"].split()),) for row in spoken]
    cues = [
        Cue(start, end, text, people[row["Speaker"]])
        for row, start, end, text in zip(spoken, starts, ends, texts, strict=True)
    ]
    numbers = np.array([int(row["Utterance_ID"]) for row in spoken])
    film = f"friends/s{int(rows[0]['Season']):02d}e{int(rows[0]['Episode']):02d}"
    return Script(
        name, film, [[cue] for cue in cues], breaks=frozenset((np.flatnonzero(np.diff(numbers) != 1) + 1).tolist())
    )


def read_dailydialog(data_dir: Path) -> pa.Table:
    """Read the dialogues of DailyDialog, detokenised; they have neither times nor blocks.

    Args:
        data_dir: holds `dailydialog/valid.json`, a dialogue a line.
    """
    lines = read_text(data_dir / "dailydialog" / "valid.json").splitlines()
    dialogues = [[turn["text"] for turn in json.loads(line)["dialogue"]] for line in lines if line.strip()]
    texts = ([_SPLIT_SHORT_FORM.sub("'", " ".join(turn.split())) for turn in dialogue] for dialogue in dialogues)
    return _label_turns(
        {f"dailydialog/{number}": detokenize(turns) for number, turns in enumerate(texts)}, "dailydialog"
    )


def read_empathetic_dialogues(data_dir: Path) -> pa.Table:
    """Read the conversations of EmpatheticDialogues, typed by two people in turn; they have neither times nor blocks.

    Args:
        data_dir: holds `empathetic_dialogues/unannotated/*.csv`.
    """
    turns: dict[str, list[str]] = {}
    for path in sorted((data_dir / "empathetic_dialogues" / "unannotated").glob("*.csv")):
        for row in read_conversations(path, annotated=False):
            if not isinstance(row, Reject):
                said = groupby(row["turns"], key=lambda turn: turn["speaker"])
                joined = [" ".join(turn["text"] for turn in group) for _, group in said]
                turns.setdefault(f"empathetic_dialogues/{row['dialogue_id']}", joined)
    return _label_turns(turns, "empathetic_dialogues")


def _label_turns(dialogues: Mapping[str, Sequence[str]], corpus: str) -> pa.Table:
    """Label the sentences of dialogues whose turns are known, each being one of another speaker than that before.

    Every turn begins with a dash, so that no sentence goes over its end; afterwards the dashes go, and the blocks, as
    no subtitle showed these turns.
    """
    scripts = []
    for name, turns in dialogues.items():
        cues = [
            Cue(None, None, ("- " + turn.lstrip("- "),), str(number))
            for number, turn in enumerate(turns)
            if turn.strip("- ")
        ]
        scripts.append(Script(name, name, [[cue] for cue in cues]))
    table = label_scripts(scripts, corpus)
    flat, offsets = unnest(table, "sentences")
    unknown = {
        "first_block": pa.nulls(len(flat), pa.int32()),
        "last_block": pa.nulls(len(flat), pa.int32()),
        "dash": np.zeros(len(flat), bool),
    }
    sentences = nest(offsets, LINE, {item.name: flat.field(item.name) for item in LINE} | unknown)
    return table.set_column(table.column_names.index("sentences"), table.schema.field("sentences"), sentences)
