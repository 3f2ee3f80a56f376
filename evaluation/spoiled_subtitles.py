"""Subtitles that were spoiled on purpose: how many dialogues are as in the unspoiled file, and their certainty.

    python evaluation/spoiled_subtitles.py $EDOS_DATA_DIR

A dialogue is as before if its turns, without marks and capitals, follow each other in the turns of the unspoiled file
as `edos segment` writes them; `relative` divides their fraction by that of the unspoiled files, whose cleaning changes
some turns, too. `certainty` is the mean of the dialogues. Also reports the least rank correlation of length and
duration, and the least number of sentence ends a word, of all unspoiled files, from which the thresholds of
`edos_dataset.sources.subtitles.faults` were set. Writes evaluation/spoiled_subtitles.json.
"""

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.machine import command_line
from edos_dataset import curate, segment
from edos_dataset.runs.shards import write_text
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.subtitles.faults import relation_of_times, sentence_ends
from edos_dataset.sources.subtitles.text import parse_subtitles

FOLDERS = ("frasier/subtitles", "noisy_srt")
EVERY = 20  # files between two that are spoiled
Cue = tuple[float, float, str]
_NO_LETTER = re.compile(r"[\W_]+")
_MARK = re.compile(r"[^\w\s']")


def cues_of(data: bytes) -> list[Cue]:
    """Return the cues of a subtitle file, each with its text on one line."""
    parsed = parse_subtitles(data)
    cues: list[Cue] = []
    for start, end, text, block in zip(
        parsed.starts.tolist(), parsed.ends.tolist(), parsed.texts, parsed.first_blocks.tolist(), strict=True
    ):
        if cues and block < len(cues):
            cues[-1] = (*cues[-1][:2], f"{cues[-1][2]} {text}")
        else:
            cues.append((start, end, text))
    return [cue for cue in cues if cue[0] <= cue[1]]


def written(cues: Sequence[Cue]) -> str:
    """Return cues as SubRip."""
    times = [[_stamp(seconds) for seconds in cue[:2]] for cue in cues]
    return "".join(
        f"{number}\n{start} --> {end}\n{cue[2]}\n\n"
        for number, ((start, end), cue) in enumerate(zip(times, cues, strict=True), 1)
    )


def _stamp(seconds: float) -> str:
    whole = max(round(seconds * 1000), 0)
    return f"{whole // 3_600_000:02}:{whole // 60_000 % 60:02}:{whole // 1000 % 60:02},{whole % 1000:03}"


def words_of(cues: Sequence[Cue]) -> list[Cue]:
    """Cut cues into words of equal duration."""
    return [
        (start + (end - start) * place / len(words), start + (end - start) * (place + 1) / len(words), word)
        for start, end, words in ((start, end, text.split()) for start, end, text in cues)
        for place, word in enumerate(words)
    ]


def joined(cues: Sequence[Cue], number: int) -> list[Cue]:
    """Join each `number` cues to one."""
    parts = [cues[at : at + number] for at in range(0, len(cues), number)]
    return [(part[0][0], part[-1][1], " ".join(text for _, _, text in part)) for part in parts]


def bare(cues: Sequence[Cue]) -> list[Cue]:
    """Remove marks and capitals."""
    texts = [(start, end, _MARK.sub("", text).lower().strip()) for start, end, text in cues]
    return [cue for cue in texts if cue[2]]


def segments(cues: Sequence[Cue], seconds: int) -> list[Cue]:
    """Return segments of equal length, as some speech recognition makes them."""
    found: dict[int, list[str]] = {}
    for start, _, word in words_of(cues):
        found.setdefault(int(start // seconds), []).append(word)
    return [(number * seconds, (number + 1) * seconds, " ".join(words)) for number, words in found.items()]


def _shuffled(cues: Sequence[Cue]) -> list[Cue]:
    times = [cue[:2] for cue in cues]
    random.Random(1).shuffle(times)
    return [(*time, cue[2]) for time, cue in zip(times, cues, strict=True)]


def _moved(cues: Sequence[Cue]) -> list[Cue]:
    drawn = random.Random(1)
    return [(start + drawn.uniform(-5, 5), end + drawn.uniform(-5, 5), text) for start, end, text in cues]


WAYS: dict[str, Callable[[list[Cue]], list[Cue]]] = {
    "unspoiled": lambda cues: cues,
    "a word a cue": words_of,
    "a word a cue, without marks": lambda cues: bare(words_of(cues)),
    "two words a cue": lambda cues: joined(words_of(cues), 2),
    "one cue": lambda cues: joined(cues, len(cues)),
    "ten cues": lambda cues: joined(cues, len(cues) // 10 + 1),
    "times shuffled": _shuffled,
    "times moved by up to 5 s": _moved,
    "one time": lambda cues: [(10, 12, text) for _, _, text in cues],
    "a cue a second": lambda cues: [(n, n + 1, text) for n, (_, _, text) in enumerate(cues)],
    "without marks": bare,
    "segments of 10 s": lambda cues: segments(cues, 10),
    "segments of 10 s, without marks": lambda cues: bare(segments(cues, 10)),
}


def _key(text: str) -> str:
    return _NO_LETTER.sub("", text).lower()


def turns_in(folder: Path, out: Path) -> dict[str, str]:
    """Return the turns of each file of a folder as one text."""
    segment(str(folder), str(out), workers=1)
    found: dict[str, dict[int, str]] = {}
    for line in out.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        turns = found.setdefault(Path(row["document_id"]).name, {})
        turns[row["turn_id"]] = turns.get(row["turn_id"], "") + _key(row["text"])
    return {name: f"|{'|'.join(turns.values())}|" for name, turns in found.items()}


def dialogues_in(folder: Path, out: Path) -> list[dict[str, Any]]:
    """Return the dialogues of a folder, of all splits."""
    curate(str(folder), str(out), labels=False, workers=1)
    return [row for path in sorted((out / "os").glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def measure(files: Sequence[Path], folder: Path) -> dict[str, Any]:
    """Spoil files in all ways."""
    found: dict[str, Any] = {}
    turns: dict[str, str] = {}
    for way, spoil in WAYS.items():
        source = folder / f"in {way}"
        source.mkdir()
        for number, path in enumerate(files):
            (source / f"{number}.srt").write_text(written(spoil(cues_of(path.read_bytes()))), encoding="utf-8")
        turns = turns or turns_in(source, folder / "turns.jsonl")
        rows = dialogues_in(source, folder / f"out {way}")
        same = [
            f"|{'|'.join(_key(turn['text']) for turn in row['turns'])}|" in turns[Path(row["document_id"]).name]
            for row in rows
        ]
        found[way] = {
            "dialogues": len(rows),
            "certainty": round(float(np.mean([row["certainty"] for row in rows])), 3),
            "most_certain": round(max(row["certainty"] for row in rows), 3),
            "as_before": round(float(np.mean(same)), 3),
        }
        found[way]["relative"] = round(found[way]["as_before"] / found["unspoiled"]["as_before"], 3)
    return found


def _sound(files: Sequence[Path]) -> Iterator[tuple[float, float]]:
    for path in files:
        try:
            parsed = parse_subtitles(path.read_bytes())
        except ReadError:
            continue
        yield relation_of_times(parsed)[0], sentence_ends(parsed)[0]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=EVERY)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    files = [path for name in FOLDERS for path in sorted((arguments.data / name).rglob("*.srt"))]
    relations, ends = zip(*_sound(files), strict=True)
    with TemporaryDirectory() as folder:
        ways = measure(files[:: arguments.every], Path(folder))
    record = {
        "date": date.today().isoformat(),
        "command": command_line(),
        "files": len(files[:: arguments.every]),
        "sound": {"files": len(relations), "least_correlation": min(relations), "least_ends_per_word": min(ends)},
        "ways": ways,
    }
    write_text(arguments.out, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
