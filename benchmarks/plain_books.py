"""Books → dialogues, line by line, word by word and utterance by utterance: the reference for recipe `papers`, for its
speed in `benchmarks/books.py` and for its values.

It follows the steps of the code behind the Gutenberg Dialogue Dataset (dictionaries of words, books line by line, every
utterance written, read, cleaned and split into words with NLTK if installed), reimplemented, except for avoidable
slowness (its copies of lists). English only. It shares nothing with the module to which it is compared.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

WEIGHTS = {'"': 1, "“": 2, "‘": 2}
_DELETED = re.compile(r"[^a-z0-9 .?!'\",:/-]")
_MARK = re.compile(r"([.?!,:\"-])")
_WORD = re.compile(r"\w+|[^\w\s]")


def run(paths: Sequence[Path], folder: Path) -> list[list[str]]:
    """Return the dialogues of all kept books, in the order of the books.

    Args:
        paths: UTF-8 texts without header and licence.
        folder: for the files between the steps.
    """
    kept = pre_filter(paths)
    extract(kept, folder / "dialogues.txt")
    post_filter(folder / "dialogues.txt", folder / "dialogues_clean.txt")
    return create(folder / "dialogues.txt", folder / "indices.txt")


def pre_filter(paths: Sequence[Path]) -> list[Path]:
    """Return the books whose word distribution is near that of all books."""
    total: Counter[str] = Counter()
    books: list[Counter[str]] = []
    for path in paths:
        words: Counter[str] = Counter()
        with path.open(encoding="utf-8", errors="ignore") as lines:
            for line in lines:
                words.update(line.split())
        books.append(words)
        total.update(words)
    everything = sum(total.values())
    kept = []
    for path, words in zip(paths, books, strict=True):
        size = sum(words.values())
        divergence = sum(
            count / size * math.log((count / size) / (total[word] / everything)) for word, count in words.items()
        )
        if divergence < 2 or size < 20_000:
            kept.append(path)
    return kept


def extract(paths: Sequence[Path], out: Path) -> None:
    """Write the dialogues of all books: one utterance per line after the name of its book, with blank lines between
    dialogues.
    """
    with out.open("w", encoding="utf-8") as file:
        for path in paths:
            for dialogue in dialogues_of(path):
                file.writelines(f"{path.stem}.txt:  {utterance}\n" for utterance in dialogue)
                file.write("\n")


def dialogues_of(path: Path) -> Iterator[list[str]]:
    """Yield the dialogues of a book."""
    paragraphs, words = [""], 0
    counts = dict.fromkeys(WEIGHTS, 1)
    with path.open(encoding="utf-8", errors="ignore") as lines:
        for line in lines:
            words += len(line.split())
            for delimiter, weight in WEIGHTS.items():
                counts[delimiter] += weight * line.count(delimiter)
            if line == "\n":
                paragraphs.append("")
            else:
                paragraphs[-1] += line.rstrip("\n") + " "
    delimiter = max(counts, key=counts.__getitem__)
    if not words or counts[delimiter] / words * 10_000 <= 150:
        return
    found = in_quotes(paragraphs, delimiter)
    if len(found) / words * 10_000 < 15:
        return
    for dialogue in found:
        piece: list[str] = []
        for utterance in [*dialogue, "long " * 100]:
            if len(f"name.txt:  {utterance}".split()) <= 100:
                piece.append(utterance)
            else:
                if len(piece) > 1:
                    yield piece
                piece = []


def in_quotes(paragraphs: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the dialogues of English paragraphs, before the length filter."""
    found: list[list[str]] = []
    gap = 151
    for paragraph in paragraphs:
        if delimiter == "“":
            paragraph = paragraph.replace("”", "“")
        elif delimiter == "‘":
            paragraph = paragraph.replace("’ ", "‘ ")
        if delimiter not in paragraph:
            gap += len(paragraph)
            continue
        if gap > 150:
            found.append([])
        pieces = paragraph.split(delimiter)
        if len(pieces) % 2 == 0:
            gap = len(pieces[-1])
        elif not pieces[1] or pieces[1][0] == pieces[1][0].lower():
            gap += len(paragraph)
        else:
            found[-1].append(" ".join(pieces[1::2]))
            gap = len(pieces[-1])
    return found


def word_tokenizer() -> tuple[str, Callable[[str], list[str]]]:
    """Return the function that splits an utterance into words, and its name: NLTK's if installed, with sentence
    splitting by an untrained Punkt, as in the quoted run of the authors' code.
    """
    if find_spec("nltk") is None:
        return "regular expression", _WORD.findall
    from nltk.tokenize import NLTKWordTokenizer, PunktSentenceTokenizer

    sentences, words = PunktSentenceTokenizer(), NLTKWordTokenizer()
    return f"nltk {version('nltk')}", lambda text: [
        word for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)
    ]


def post_filter(dialogues: Path, cleaned: Path) -> None:
    """Write the cleaned dialogues, and the line numbers of those with few rare words."""
    split = word_tokenizer()[1]
    counts: Counter[str] = Counter()
    with dialogues.open(encoding="utf-8") as lines, cleaned.open("w", encoding="utf-8") as file:
        for line in lines:
            words = split(_MARK.sub(r" \1 ", _DELETED.sub("", line.partition(".txt:")[2].lower())).strip())
            counts.update(words)
            file.write(" ".join(words) + "\n" if line != "\n" else "\n")
    known = {word for word, _ in counts.most_common(100_000)}
    with cleaned.open(encoding="utf-8") as lines, cleaned.with_name("indices.txt").open("w", encoding="utf-8") as file:
        numbers: list[int] = []
        unknown = size = 0
        for number, line in enumerate(lines):
            words = line.split()
            if line != "\n":
                numbers.append(number)
                unknown += sum(word not in known for word in words)
                size += len(words)
                continue
            if unknown < 0.2 * size:
                file.writelines(f"{each}\n" for each in numbers)
            numbers, unknown, size = [], 0, 0


def create(dialogues: Path, indices: Path) -> list[list[str]]:
    """Return the dialogues with the given line numbers."""
    with indices.open(encoding="utf-8") as lines:
        chosen = {int(line) for line in lines}
    made: list[list[str]] = [[]]
    with dialogues.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if line == "\n":
                made.append([])
            elif number in chosen:
                made[-1].append(line.partition(".txt:")[2].strip())
    return [dialogue for dialogue in made if dialogue]
