"""Whether copies of films are found: real ones under two names, planted ones, and what two different films share.

    python evaluation/same_films.py $EDOS_DATA_DIR

Subtitles come from three sources, two of which share episodes of one show. Whole sentences, not MinHash signatures,
decide which are the same film: two documents are copies if they share at least half of the shorter one's distinct
sentences of six or more words. Measured are: how many of these the step "films" finds, and what else it removes; how
often copies are in two splits before and after; planted copies with damaged letters, other sentence boundaries, or
parts; and the fraction of word runs that is common to independently made subtitles and transcripts of one episode, and
of different ones, from which `DropSameFilms.share` and `WIDTH` were chosen. Writes evaluation/same_films.json.
"""

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.machine import describe_machine, write_result
from edos_dataset.arrays import unnest
from edos_dataset.cleaning.duplicates import DropSameFilms
from edos_dataset.cleaning.shingles import words_of
from edos_dataset.publishing.splits import split_of
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.pipeline import Stage
from edos_dataset.runs.run import run_stage
from edos_dataset.runs.shards import write_shard
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.inventory import find_films
from training.transcripts.scripts import read_script
from training.transcripts.speakers import read_cues

SUBTITLES = ("noisy_srt", "frasier/subtitles", "opensubtitles_xml")
LEAST_WORDS, HALF = 6, 0.5
SHARD = 40
Films = dict[str, list[str]]


def read_subtitles(source: Path) -> Films:
    """Return the sentences of each document in a folder."""
    table = find_films([source], "en").films
    for stage in [item for item in subtitles_to_dialogues() if isinstance(item, Stage)][:3]:
        table, _, _ = run_stage(stage, stage, table)
    sentences, offsets = unnest(table, "sentences")
    texts, names = sentences.field("text").to_pylist(), table["document_id"].to_pylist()
    return {f"{source.name}/{name}": texts[offsets[at] : offsets[at + 1]] for at, name in enumerate(names)}


def read_speakers(folder: Path) -> Films:
    """Return the sentences of each file of timed cues with speakers, read as the original subtitle."""
    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / "speakers"
        target.mkdir()
        for path in sorted(folder.glob("*.merged")):
            cues = read_cues(path.read_text(encoding="utf-8", errors="replace")).cues
            blocks = [
                f"{number}\n{_clock(cue.start)} --> {_clock(cue.end or cue.start + 2)}\n" + "\n".join(cue.lines)
                for number, cue in enumerate(cues, 1)
                if cue.start is not None
            ]
            (target / f"{path.stem}.srt").write_text("\n\n".join(blocks), encoding="utf-8")
        return read_subtitles(target)


def _clock(seconds: float) -> str:
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d},{thousandths:03d}"


def removed(films: Mapping[str, Sequence[str]], step: DropSameFilms) -> set[str]:
    """Return the names of the documents that the step removes."""
    names = list(films)
    parts = [names[start : start + SHARD] for start in range(0, len(names), SHARD)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.parquet" for number in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            sentences = pa.array([[{"text": text} for text in films[name]] for name in part])
            columns = {"document_id": part, "language": ["en"] * len(part), "sentences": sentences}
            write_shard(path, pa.table(columns))
        tables = list(step.decide(paths))
    return {part[row] for part, table in zip(parts, tables, strict=True) for row in table["row"].to_pylist()}


def shared(sets: Mapping[str, set[Any]]) -> dict[tuple[str, str], float]:
    """Return, for each pair of sets that share anything, the fraction of the smaller one that is in the other."""
    holders = defaultdict(list)
    for name, members in sets.items():
        for member in members:
            holders[member].append(name)
    counts = Counter(pair for names in holders.values() for pair in combinations(sorted(names), 2))
    return {(a, b): count / min(len(sets[a]), len(sets[b])) for (a, b), count in counts.items()}


def copies_of(films: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Return the copies of each document that has any, by whole sentences."""
    sets = {}
    for name, sentences in films.items():
        words = (tuple(words_of(text)) for text in sentences)
        sets[name] = {said for said in words if len(said) >= LEAST_WORDS}
    copies = defaultdict(set)
    for (a, b), share in shared(sets).items():
        if share >= HALF:
            copies[a].add(b)
            copies[b].add(a)
    return dict(copies)


def judge_found(films: Mapping[str, Sequence[str]], step: DropSameFilms) -> dict[str, Any]:
    """Compare the documents that the step removes with the copies by whole sentences."""
    copies, gone = copies_of(films), removed(films, step)
    stay = films.keys() - gone
    pairs = {(a, b) for a, others in copies.items() for b in others if a < b}
    left = {pair for pair in pairs if stay.issuperset(pair)}
    right = sum(bool(copies.get(name, set()) & stay) for name in gone)
    return {
        "documents": len(films),
        "pairs_of_copies": len(pairs),
        "across_splits": {
            "before": sum(split_of(a) != split_of(b) for a, b in pairs),
            "after": sum(split_of(a) != split_of(b) for a, b in left),
        },
        "left": len(gone),
        "precision": right / max(len(gone), 1),
        "pairs_parted": 1 - len(left) / max(len(pairs), 1),
    }


def plant(sentences: Sequence[str], kind: str, dice: random.Random) -> list[str]:
    """Return a modified copy of a film; `kind` names the modification."""
    words = " ".join(sentences).split()
    for part, count in (("half", 2), ("fifth", 5), ("twentieth", 20)):
        if part in kind:
            start = dice.randrange(len(words) - len(words) // count)
            words = words[start : start + len(words) // count]
    for letters, share in (("2 %", 0.02), ("5 %", 0.05), ("10 %", 0.1)):
        if letters in kind:
            text = " ".join(words)
            words = "".join(
                dice.choice("aeinorst") if sign.isalpha() and dice.random() < share else sign for sign in text
            ).split()
    return [" ".join(words[start : start + 11]) for start in range(0, len(words), 11)]


KINDS = (
    "other borders",
    "2 %",
    "5 %",
    "10 %",
    "half",
    "half, 2 %",
    "fifth",
    "fifth, 2 %",
    "twentieth",
    "twentieth, 2 %",
)


def judge_planted(films: Films, step: DropSameFilms, number: int, seed: int) -> dict[str, dict[str, float]]:
    """Plant copies of some films, one kind at a time; return how often one of a pair is removed, and how often the
    copy.
    """
    dice = random.Random(seed)
    chosen = dice.sample(sorted(films), number)
    results = {}
    for kind in KINDS:
        planted = {f"{dice.random()}/{name}": plant(films[name], kind, dice) for name in chosen}
        names = {name.partition("/")[2]: name for name in planted}
        gone = removed({**films, **planted}, step)
        results[kind] = {
            "found": sum(bool({name, names[name]} & gone) for name in chosen) / number,
            "original_stays": sum(name not in gone for name in chosen) / number,
            "others_left": len(gone - planted.keys() - set(chosen)),
        }
    return results


def judge_shares(films: Films, scripts: Films) -> dict[str, dict[str, list[float]]]:
    """Return, for each width of a word run, what subtitles share with the transcript of their episode (the one that
    shares most), and with the others: minimum, 5 %, median; then median, 99.9 %, maximum.
    """
    results = {}
    for width in (3, 4, 5):
        ours, theirs = ({name: _runs(texts, width) for name, texts in given.items()} for given in (films, scripts))
        shares = np.array([[len(a & b) / max(1, min(len(a), len(b))) for b in theirs.values()] for a in ours.values()])
        shares.sort(axis=1)
        results[str(width)] = {
            "same": _rounded(np.quantile(shares[:, -1], [0, 0.05, 0.5])),
            "others": _rounded(np.quantile(shares[:, :-1], [0.5, 0.999, 1])),
        }
    return results


def _runs(texts: Sequence[str], width: int) -> set[tuple[bytes, ...]]:
    words = words_of(" ".join(texts))
    return {tuple(words[start : start + width]) for start in range(len(words) - width + 1)}


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 3) for value in values]


def read_scripts(folder: Path) -> Films:
    """Return the speech of each script in a folder; texts without speech are skipped."""
    scripts = {}
    for path in sorted(folder.glob("*.txt")):
        try:
            scripts[path.stem] = [speech.text for speech in read_script(decode(path.read_bytes(), None, "en")[0])]
        except ValueError:
            continue
    return scripts


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--planted", type=int, default=60, help="number of films with a planted copy of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    films: Films = {}
    for source in SUBTITLES:
        films |= read_subtitles(arguments.data / source)
    films |= read_speakers(arguments.data / "sitcom_speakers")
    step = DropSameFilms()
    gone = removed(films, step)
    unique = {name: texts for name, texts in films.items() if name not in gone}
    frasier = {name: texts for name, texts in films.items() if name.startswith("subtitles/")}
    result = {
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "share": step.share,
        "true_copies": judge_found(films, step),
        "true_copies_by_share": {
            str(share): judge_found(films, DropSameFilms(share=share)) for share in (0.05, 0.1, 0.2, 0.45, 0.6, 0.9)
        },
        "planted": judge_planted(unique, step, arguments.planted, arguments.seed),
        "subtitles_and_transcripts_by_width": judge_shares(
            frasier, read_scripts(arguments.data / "frasier" / "scripts")
        ),
    }
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
