"""Sentences per second from OPUS XML to cleaned dialogues, compared with a bare lxml parse-and-walk of the same bytes
in the same run.

    python benchmarks/curate.py FOLDER_WITH_OPUS_XML --copies 120 --repeats 3

The files are copied as separate films, each with many words replaced, so that neither duplicate removal nor the cap of
100 empties the corpus. Each repeat times the walk, the walk in two processes, one worker and two workers, one after
another; the ratios are those of the minima, which other work on the machine disturbed least, and the JSON has all
times. `--scorer` selects another scorer of turns than the recipe's. Writes benchmarks/curate.json.
"""

import argparse
import multiprocessing
import re
import resource
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

from lxml import etree

from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.commands.curate import curate
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.segmentation.turns.stage import SegmentTurns

OPUS_WORD = re.compile(rb"(?<=[^'>]</w>)(\s*<w [^>]*>)([a-z]{3,}|[A-Z]{3,})(?=</w>\s*<w [^>]*>[^'])")
"""Words of OPUS in lower case or, in films in capitals, in upper case; no parts of "don't" and "we'll"."""


def make_corpus(source: Path, target: Path, copies: int) -> list[Path]:
    """Copy the XML files `copies` times into an OPUS tree.

    In each copy many words are replaced by other words of the files, since equal copies would be one film, and invented
    words would look like damage by character recognition.
    """
    sources = sorted(source.rglob("*.xml"))
    words = words_of([path.read_bytes() for path in sources])
    written = []
    for number, path in enumerate(sources):
        data = path.read_bytes()
        for copy in range(copies):
            changed = change_words(data, words, number * copies + copy)
            file = target / "en" / "2000" / str(1000 + number * copies + copy) / f"{copy}.xml"
            file.parent.mkdir(parents=True)
            file.write_bytes(changed)
            written.append(file)
    return written


def words_of(files: Sequence[bytes], pattern: re.Pattern[bytes] = OPUS_WORD) -> list[bytes]:
    """Return the interchangeable words of files; `pattern` matches what precedes a word, and the word."""
    return sorted({word for data in files for _, word in pattern.findall(data) if word.islower()})


def change_words(data: bytes, words: Sequence[bytes], seed: int, pattern: re.Pattern[bytes] = OPUS_WORD) -> bytes:
    """Return a file with two in five of its words replaced."""
    dice = Random(seed)

    def other(found: re.Match[bytes]) -> bytes:
        if dice.random() >= 0.4:
            return found[0]
        word = dice.choice(words)
        return found[1] + (word.upper() if found[2].isupper() else word)

    return pattern.sub(other, data)


def bare_walk(files: list[Path]) -> float:
    """Parse each file with lxml and access every element's tag and text; return seconds."""
    began = time.perf_counter()
    for file in files:
        for element in etree.fromstring(file.read_bytes()).iter():
            element.tag  # noqa: B018 - looking is what is timed
            element.text  # noqa: B018
    return time.perf_counter() - began


def shared_walk(files: list[Path]) -> float:
    """Walk half of the files in each of two running processes; return seconds, the best that two cores of this machine
    can reach.
    """
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(bare_walk, [files[:1], files[:1]])
        began = time.perf_counter()
        pool.map(bare_walk, [files[::2], files[1::2]], chunksize=1)
        return time.perf_counter() - began


def run(folder: Path, workers: int, scorer: str) -> tuple[float, dict[str, Any]]:
    """Curate into a new folder; return the seconds, including the search for files, and the manifest."""
    pipeline = pipeline_of(labels=False, settings=[f"turns.scorer={scorer}"])
    with tempfile.TemporaryDirectory() as out:
        began = time.perf_counter()
        manifest = curate(folder, Path(out) / "edos", pipeline, workers=workers)
        return time.perf_counter() - began, dict(manifest)


def main() -> None:
    """Time and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--copies", type=int, default=120)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scorer", default=SegmentTurns.scorer, help="scorer of turns")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = make_corpus(arguments.source, Path(folder) / "opus", arguments.copies)
        size = sum(file.stat().st_size for file in files)
        walks, walks_of_two, ones, twos = [], [], [], []
        manifest: dict[str, Any] = {}
        for _ in range(arguments.repeats):
            walks.append(bare_walk(files))
            walks_of_two.append(shared_walk(files))
            seconds, manifest = run(Path(folder) / "opus", 1, arguments.scorer)
            ones.append(seconds)
            twos.append(run(Path(folder) / "opus", 2, arguments.scorer)[0])
    sentences = next(stage["read"] for stage in manifest["stages"] if stage["unit"] == "sentences")
    walk, one, two = map(min, (walks, ones, twos))
    result = {
        "command": command_line(),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "input": {"files": len(files), "bytes": size, "sentences": sentences},
        "dialogues": manifest["configs"]["os"]["dialogues"],
        "seconds": {"walk": walks, "walk_in_two_processes": walks_of_two, "one_worker": ones, "two_workers": twos},
        "sentences_per_second": {
            "walk": round(sentences / walk),
            "one_worker": round(sentences / one),
            "two_workers": round(sentences / two),
        },
        "times_the_walk": round(one / walk, 2),
        "scaling_1_to_2": round(one / two, 2),
        "scaling_of_the_walk": round(walk / min(walks_of_two), 2),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
