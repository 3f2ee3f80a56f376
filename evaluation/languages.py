"""The error rates and cost of language detection: wanted files that are rejected, and unwanted ones that are
recognised.

    python evaluation/languages.py $EDOS_DATA_DIR --repeats 5

English subtitles are used whole; other texts of a given length are made of the subtitle sentences of XED and of
Gutenberg's books. Each text is judged against its own language (a rejection is wrong) and against the others (a
rejection is right). The cost is the CPU time of the stage "read" with and without detection, with no words cached
between passes. Writes evaluation/languages.json.
"""

import argparse
import json
import re
import time
from collections.abc import Iterator
from datetime import date
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.machine import describe_machine
from edos_dataset.languages import detection
from edos_dataset.languages.detection import contradict_language
from edos_dataset.runs.shards import write_text
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.read import OTHER_LANGUAGE, ReadFilms

ENGLISH = ("noisy_srt", "frasier/subtitles", "opensubtitles_xml")
LANGUAGES = ("en", "de", "es", "hu", "it", "nl", "pt")
WORDS = (30, 100, 300, 1000)
TEXTS = 100


def xed_sentences(data: Path, language: str) -> list[str]:
    """Return the sentences of XED in a language, in order; lines that are file names are skipped."""
    name = "en-annotated.tsv" if language == "en" else f"{language}-projections.tsv"
    lines = (data / "xed" / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[0] for line in lines if line.strip() and ".xml" not in line]


def book_sentences(data: Path, language: str) -> list[str]:
    """Return sentences of the books in a language, without the beginning and the end of each file."""
    sentences: list[str] = []
    for path in sorted((data / "gutenberg" / language).iterdir()):
        content = path.read_bytes()
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
        if path.suffix == ".xml":
            text = re.sub(r"<[^<>]*>", " ", text)
        found = re.split(r"(?<=[.!?])\s+", " ".join(text.split()))
        sentences += found[100 : min(3000, len(found) - 200)]
    return sentences


def texts_of(sentences: list[str], words: int, random: Random) -> Iterator[list[str]]:
    """Yield TEXTS texts of about this number of words, each of consecutive sentences."""
    for _ in range(TEXTS):
        place, text, length = random.randrange(len(sentences)), [], 0
        while length < words:
            text.append(sentences[place % len(sentences)])
            length += len(text[-1].split())
            place += 1
        yield text


def judge(data: Path) -> dict[str, Any]:
    """Return for each source and length how many texts are rejected: in their own language, and in another one."""
    results: dict[str, Any] = {}
    for (name, source), words in product((("xed", xed_sentences), ("gutenberg", book_sentences)), WORDS):
        false: dict[str, int] = {}
        recognised: dict[str, dict[str, int]] = {}
        for language in LANGUAGES:
            texts = list(texts_of(source(data, language), words, Random(words)))
            rejected = {
                wanted: sum(contradict_language(text, wanted) is not None for text in texts) for wanted in LANGUAGES
            }
            false[language] = rejected.pop(language)
            recognised[language] = rejected
        results[f"{name}, {words} words"] = {"texts_a_language": TEXTS, "left_out_falsely": false, "told": recognised}
    return results


def real_files(data: Path) -> dict[str, Any]:
    """Return how many of the real English files are rejected."""
    found = {}
    for name in ENGLISH:
        table = ReadFilms()(find_films([data / name], "en").films)
        count = pc.sum(pc.equal(table["reason"], OTHER_LANGUAGE)).as_py() or 0
        found[name] = {"files": table.num_rows, "left_out_falsely": count}
    return found


def cost(films: pa.Table, repeats: int) -> dict[str, Any]:
    """Return the CPU seconds of reading films with and without detection, in alternating passes, and their ratio."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    ReadFilms()(films.slice(0, 1))  # load the dictionary, which the stage "turns" needs too
    for detect in (False, True) * repeats:
        detection._known.cache_clear()
        began = time.process_time()
        ReadFilms(detect_language=detect)(films)
        seconds[detect].append(time.process_time() - began)
    return {
        "films": films.num_rows,
        "seconds_without": seconds[False],
        "seconds_with": seconds[True],
        "ratio": round(min(seconds[True]) / min(seconds[False]), 3),
    }


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the real data")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    results: dict[str, Any] = {
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "real_english_files": real_files(arguments.data),
        "texts": judge(arguments.data),
        "cost": {name: cost(find_films([arguments.data / name], "en").films, arguments.repeats) for name in ENGLISH},
    }
    write_text(arguments.out, json.dumps(results, indent=1) + "\n")
    print(json.dumps({name: results[name] for name in ("real_english_files", "cost")}, indent=1))  # noqa: T201
    for name, row in results["texts"].items():
        recognised = sum(count for counts in row["told"].values() for count in counts.values())
        print(f"{name}: falsely {row['left_out_falsely']}, recognised {recognised / (TEXTS * 42):.1%}")  # noqa: T201


if __name__ == "__main__":
    main()
