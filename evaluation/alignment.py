"""How much of real subtitles the alignment with scripts labels, how well, and how fast.

    python evaluation/alignment.py DATA_DIR --sample seams.txt --count 100 --seed 7 --least 0.5 --most 0.9

reads `frasier/subtitles` with the transcripts in `frasier/scripts`, and `noisy_srt/friends` with the speakers of
`sitcom_speakers/Friends.*.merged`. Writes evaluation/alignment.json, and to the sample random labelled seams of Frasier
with both sides, to be checked by hand; what is found goes into the JSON under "checked_by_hand", which this script
leaves as it is.

The dashes of the subtitles, which the alignment does not see, are a second opinion: a dash inside a block is a new
turn; where other blocks have dashes, a block without any is one turn. They err too, so the shares of agreement are
lower bounds.
"""

import argparse
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Bools, flags
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.alignment import align, seam_labels
from evaluation.aligned_films import Film, align_show, read_cue_speeches, read_transcripts

THRESHOLDS = (0.01, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 0.98)
RECOMMENDED = 0.5
# share of a file's seams that dashes part inside blocks, below which the file means nothing by leaving them out
_MOST_INSIDE = 0.02


def measure(films: Sequence[Film]) -> dict[str, Any]:
    """Return coverage, agreement with the dashes, and speed."""
    same, confidence = (np.concatenate([getattr(film, name)[1:] for film in films]) for name in ("same", "confidence"))
    parted, joined = (
        np.concatenate([flags_of[1:] for flags_of in column]) for column in zip(*map(_by_dashes, films), strict=True)
    )
    aligned = np.concatenate([film.alignment.speech >= 0 for film in films])
    seconds = np.array([film.seconds for film in films])
    rows = []
    for least in THRESHOLDS:
        sure = confidence >= least
        row = {"confidence": least, "labelled": sure.mean(), "new_turn": (same[sure] == 0).mean()}
        row |= {"dash_agrees": (same[sure & parted] == 0).mean(), "no_dash_agrees": (same[sure & joined] == 1).mean()}
        rows.append({name: round(float(value), 4) for name, value in row.items()})
    return {
        "sentences": len(aligned),
        "aligned": round(float(aligned.mean()), 4),
        "seams": len(same),
        "seams_with_dash": int(parted.sum()),
        "seams_without": int(joined.sum()),
        "at": rows,
        "least_aligned": sorted(f"{(film.alignment.speech >= 0).mean():.2f} {film.file}" for film in films)[:5],
        "processor_seconds_a_film": {"mean": round(float(seconds.mean()), 3), "most": round(float(seconds.max()), 3)},
        "sentences_a_second": round(len(aligned) / float(seconds.sum())),
    }


def _by_dashes(film: Film) -> tuple[Bools, Bools]:
    """Return bool [sentences] twice: that the dashes part a sentence from the one before it, and that they do not
    though both share a block.
    """
    first, last = (film.sentences.field(name).to_numpy() for name in ("first_block", "last_block"))
    inside = np.r_[False, first[1:] == last[:-1]]
    parted = inside & flags(film.sentences.field("dash"))
    dashed = np.isin(first, first[parted])
    return parted, inside & ~parted & ~dashed & (parted.mean() > _MOST_INSIDE)


def time_long_film(films: Sequence[Film], sentences: int = 10_000) -> dict[str, float]:
    """Time a film as long as several episodes together."""
    texts: list[str] = []
    speeches: list[str] = []
    for film in films:
        if len(texts) < sentences:
            texts += film.sentences.field("text").to_pylist()
            speeches += [speech.text for speech in film.speeches]
    began = time.process_time()
    alignment = align(texts, speeches)
    return {
        "sentences": len(texts),
        "processor_seconds": round(time.process_time() - began, 2),
        "aligned": round(float((alignment.speech >= 0).mean()), 4),
    }


def measure_strangers(films: Sequence[Film]) -> dict[str, float]:
    """Align every tenth film with the script of another; nothing of it should be labelled surely."""
    aligned, labelled, sure = [], [], []
    for film, other in zip(films[::10], films[1::10], strict=False):
        alignment = align(film.sentences.field("text").to_pylist(), [speech.text for speech in other.speeches])
        same, confidence = seam_labels(
            alignment, [speech.speaker for speech in other.speeches], [speech.scene for speech in other.speeches]
        )
        aligned.append((alignment.speech >= 0).mean())
        labelled.append((same >= 0).mean())
        sure.append((confidence >= RECOMMENDED).mean())
    return {
        name: round(float(np.mean(shares)), 4)
        for name, shares in (("aligned", aligned), ("labelled", labelled), ("labelled_surely", sure))
    }


def sample_seams(films: Sequence[Film], count: int, seed: int, least: float, most: float) -> str:
    """Write random labelled seams of a confidence of `least` to below `most` out, with their neighbours and the
    script's passage.
    """
    seams = [
        (film, int(at))
        for film in films
        for at in np.flatnonzero((film.same >= 0) & (film.confidence >= least) & (film.confidence < most))
    ]
    chosen = np.random.default_rng(seed).choice(len(seams), min(count, len(seams)), replace=False)
    return "\n".join(_show_seam(number, *seams[index]) for number, index in enumerate(chosen, 1))


def _show_seam(number: int, film: Film, at: int) -> str:
    texts = film.sentences.field("text").to_pylist()
    before, after = int(film.alignment.last_speech[at - 1]), int(film.alignment.speech[at])
    lines = [f"#{number} {film.script} {'SAME' if film.same[at] else 'NEW'} {film.confidence[at]:.2f}"]
    lines += [f"   {text}" for text in texts[max(at - 2, 0) : at]]
    lines += [" > " + texts[at], *(f"   {text}" for text in texts[at + 1 : at + 2])]
    near = f"{texts[at - 1][-60:]} {texts[at][:60]}"
    lines += [
        f"        {speech.scene} {speech.speaker}: {_excerpt(speech.text, near)}"
        for speech in film.speeches[before : after + 1][:4]
    ]
    return "\n".join(lines)


def _excerpt(text: str, near: str, width: int = 110) -> str:
    """Return the part of a speech that is about the words near the seam."""
    if len(text) <= 2 * width:
        return text
    middle = SequenceMatcher(None, text.lower(), near.lower(), autojunk=False).find_longest_match()
    begin = max(middle.a + middle.size // 2 - width, 0)
    return "…" * (begin > 0) + text[begin : begin + 2 * width] + "…" * (begin + 2 * width < len(text))


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--sample", type=Path, help="file for the seams to check by hand")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=RECOMMENDED, help="least confidence of the seams of the sample")
    parser.add_argument("--most", type=float, default=2.0, help="confidence that they are all below")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    result: dict[str, Any] = {"date": date.today().isoformat(), "recommended_confidence": RECOMMENDED}
    with suppress(OSError, ValueError, KeyError):
        result["checked_by_hand"] = json.loads(arguments.out.read_text(encoding="utf-8"))["checked_by_hand"]
    frasier, pairing = align_show(
        arguments.data_dir / "frasier" / "subtitles", read_transcripts(arguments.data_dir / "frasier" / "scripts")
    )
    result["frasier"] = {"pairing": pairing, **measure(frasier)}
    cues = sorted((arguments.data_dir / "sitcom_speakers").glob("Friends.*.merged"))
    friends, pairing = align_show(arguments.data_dir / "noisy_srt" / "friends", read_cue_speeches(cues))
    result["friends"] = {"pairing": pairing, **measure(friends)}
    result["script_of_another_film"] = measure_strangers(frasier)
    result["long_film"] = time_long_film(frasier)
    write_text(arguments.out, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if arguments.sample:
        seams = sample_seams(frasier, arguments.count, arguments.seed, arguments.least, arguments.most)
        write_text(arguments.sample, seams + "\n")
    print(json.dumps(result, indent=1, ensure_ascii=False))  # noqa: T201


if __name__ == "__main__":
    main()
