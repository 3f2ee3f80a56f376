"""Labelled documents for the turn segmenter: all corpora by name, cached as Parquet.

    python -m training.turns.data DATA_DIR CACHE [CORPUS ...]

The columns are those of `labels.LABELLED`.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import Bools, Ints, flags, nest, unnest
from edos_dataset.releases.raw import Reject, read_conversations, read_csv
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.runs.shards import replacing
from edos_dataset.schema import DETAIL, LINE
from edos_dataset.sources.detokenize import detokenize
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.read import ReadFilms
from edos_dataset.sources.subtitles.times import check_times, parse_times
from training.transcripts.alignment import align, boundary_labels, find_scripts
from training.transcripts.scripts import Speech, read_lines, read_script
from training.transcripts.speakers import Cue, read_cues, unify_names
from training.turns.labels import (
    LABELLED,
    Script,
    Trust,
    add_labels,
    doubt_halves,
    join_even_splits,
    label_scripts,
    script_lines,
    split_lines,
    undash,
)
from training.turns.screenplays import read_film_scripts

LEAST_ALIGNED = 0.5
"""Mean confidence of the alignment below which a document and its script are considered different cuts."""

LEAST_SHARED = 0.2
"""Minimum fraction of a film's phrases in its script (`find_scripts`)."""

SITCOM_TRUST = Trust(new=0.94, inside=0.97, first=0.8, later=0.93, again=0.7)
"""Measured on the boundaries of Friends of which MELD has both sides with the same times: many speeches, mostly short
ones, were attributed to the previous speaker.
"""

Split = Callable[[pa.Table], tuple[pa.Table, pa.Table]]

_MERGED = re.compile(r"(?P<show>.+?)\.S(?P<season>\d+)E(?P<episode>\d+)\b.*\.merged", re.IGNORECASE)
_HEBREW = re.compile("[\u05b0-\u05ea][^\x00-\x7f]+")
_CONTRADICTED = 0.3  # factor of the confidence if a dash contradicts the script
_DASHED, _UNDASHED, _NAMED = 0.85, 0.8, 0.7  # confidence in the evidence of subtitles


def read_sitcom(data_dir: Path, show: str, dashes: bool) -> pa.Table:
    """Read the timed cues of a show, in which speakers were assigned automatically from transcripts.

    Their dashes were removed, and a block of two speakers became two adjacent cues of equal duration.

    Args:
        data_dir: contains `sitcom_speakers/*.merged`.
        show: "friends" or "the_big_bang_theory".
        dashes: join such cues into one block again, each beginning with a dash.
    """
    scripts = [
        Script(film, film, join_even_splits(cues) if dashes else [[cue] for cue in cues], dashes)
        for film, cues in read_episodes(data_dir, show).items()
    ]
    return label_scripts(scripts, show + "_dashes" * dashes, SITCOM_TRUST)


def read_episodes(data_dir: Path, show: str) -> dict[str, list[Cue]]:
    """Return the cues of each episode of a show in `sitcom_speakers`, by film, with variants of names merged."""
    films: dict[str, list[Cue]] = {}
    for path in sorted((data_dir / "sitcom_speakers").glob("*.merged")):
        match = _MERGED.fullmatch(path.name)
        if match and match["show"].lower().replace(".", "_") == show:
            films[f"{show}/s{int(match['season']):02d}e{int(match['episode']):02d}"] = read_cues(read_text(path)).cues
    people = unify_names(
        Counter(name for cues in films.values() for cue in cues for name in (*cue.missed, cue.speaker) if name)
    )
    return {film: doubt_halves([_rename(cue, people) for cue in cues]) for film, cues in films.items()}


def _rename(cue: Cue, people: Mapping[str, str | None]) -> Cue:
    return replace(
        cue,
        speaker=people[cue.speaker] if cue.speaker else None,
        missed=tuple(people[name] or name for name in cue.missed),
    )


def read_frasier(data_dir: Path, plain: bool, split: Split = split_lines) -> pa.Table:
    """Read subtitles labelled by the transcripts of the same episodes.

    Each file is paired with the transcript that has its words, since the numbers of the two differ for two episodes in
    three.

    Args:
        data_dir: contains `frasier/subtitles/SS/Episode_E.srt` and `frasier/scripts/SSEE.txt`.
        plain: first remove the dashes, and split the blocks at them, as in the cues of `read_sitcom`.
        split: maps LINES to those that are kept and their SENTENCES.
    """
    paths = sorted((data_dir / "frasier" / "scripts").glob("[0-9][0-9][0-9][0-9].txt"))
    speeches = {f"frasier/s{path.stem[:2]}e{path.stem[2:]}": read_script(read_text(path)) for path in paths}
    lines = read_subtitles([data_dir / "frasier" / "subtitles"])
    flat, offsets = unnest(lines, "lines")
    texts = flat.field("text").to_pylist()
    documents = [texts[start:stop] for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    films = match_films(documents, {film: [speech.text for speech in known] for film, known in speeches.items()})
    lines = _rename_films(lines, films)
    return _label_by_speeches(undash(lines) if plain else lines, speeches, "frasier" + "_plain" * plain, split=split)


def match_films(films: Sequence[Sequence[str]], scripts: Mapping[str, Sequence[str]]) -> list[str | None]:
    """Return the name of each film's script; None if there is none, or if another copy of the film shares more with it.

    Args:
        films: the lines of each film.
        scripts: name of a script → its speeches.
    """
    if not films or not scripts:
        return [None] * len(films)
    names = list(scripts)
    index, share = find_scripts(films, list(scripts.values()))
    best = {int(index[place]): place for place in np.argsort(share, kind="stable")}
    return [
        names[which] if share[place] >= LEAST_SHARED and best[which] == place else None
        for place, which in enumerate(index.tolist())
    ]


def read_friends_srt(data_dir: Path, split: Split = split_lines) -> pa.Table:
    """Read subtitles with dashes, labelled by the speakers of the timed cues of the same episodes.

    Args:
        data_dir: contains `noisy_srt/friends` and `sitcom_speakers/Friends.*.merged`.
        split: maps LINES to those that are kept and their SENTENCES.
    """
    speeches = {film: list(speeches_of(cues)) for film, cues in read_episodes(data_dir, "friends").items()}
    lines = read_subtitles([data_dir / "noisy_srt" / "friends"])
    films = [film if film in speeches else None for film in lines["film"].to_pylist()]
    return _label_by_speeches(_rename_films(lines, films), speeches, "friends_srt", SITCOM_TRUST, split)


def read_named_friends(data_dir: Path, dashes: bool) -> pa.Table:
    """Read the timed cues of Friends, with the names of its scripts laid on anew, word by word.

    The names that come with the cues also stand where the script lacks a line; here a boundary has a label only where
    the words on both of its sides are found in the script.

    Args:
        data_dir: contains `sitcom_speakers/Friends.*.merged` and `sitcom_speakers/friends_lines.csv`.
        dashes: as for `read_sitcom`.
    """
    known = _one_name_each(read_lines(data_dir / "sitcom_speakers" / "friends_lines.csv"))
    episodes = read_episodes(data_dir, "friends")
    blocks = {film: join_even_splits(cues) if dashes else [[cue] for cue in cues] for film, cues in episodes.items()}
    lines = script_lines([Script(film, film, own, dashes) for film, own in blocks.items()])
    flat, offsets = unnest(lines, "lines")
    texts = flat.field("text").to_pylist()
    films = [texts[start:stop] for start, stop in pairwise(offsets)]
    found = match_films(films, {name: [speech.text for speech in own] for name, own in known.items()})
    lines = _rename_films(lines, [name and film for name, film in zip(found, lines["film"].to_pylist(), strict=True)])
    speeches = dict(zip(lines["film"].to_pylist(), [known[name] for name in found if name], strict=True))
    return _label_by_speeches(lines, speeches, "friends_lines" + "_dashes" * dashes)


def _one_name_each(scripts: Mapping[str, Sequence[Speech]]) -> dict[str, list[Speech]]:
    """Return scripts with one name for each person, and none for several at once."""
    people = unify_names(Counter(speech.speaker for own in scripts.values() for speech in own if speech.speaker))
    names = {name: people.get(name) or "" for name in (speech.speaker for own in scripts.values() for speech in own)}
    return {film: [replace(one, speaker=names[one.speaker]) for one in own] for film, own in scripts.items()}


def speeches_of(cues: Sequence[Cue]) -> Iterator[Speech]:
    """Join consecutive cues of one speaker; speeches of unknown speakers have an empty name."""
    for speaker, said in groupby(cues, key=lambda cue: cue.speaker):
        yield Speech(speaker or "", " ".join(line for cue in said for line in cue.lines), 0, 0)


def read_subtitles(sources: Sequence[Path]) -> pa.Table:
    """Read the subtitles in files and folders, the best file of each film, as LINES."""
    return split_rejects(ReadFilms()(find_films(sources, "en").films))[0].drop_columns([DETAIL])


def _rename_films(lines: pa.Table, films: Sequence[str | None]) -> pa.Table:
    """Set the film keys of documents, and drop those without a film."""
    renamed = lines.set_column(lines.column_names.index("film"), "film", pa.array(films, pa.string()))
    return renamed.filter(pc.is_valid(renamed["film"]))


def _label_by_speeches(
    lines: pa.Table,
    speeches: Mapping[str, Sequence[Speech]],
    corpus: str,
    trust: Trust | None = None,
    split: Split = split_lines,
) -> pa.Table:
    """Label the sentences of documents by the speeches of their films; badly aligned documents are dropped.

    The confidence is that of the alignment times that of the speakers, which is 1 if `trust` is None.
    """
    _, sentences = split(lines)
    tables = [LABELLED.empty_table()]
    for row, film in enumerate(sentences["film"].to_pylist()):
        document, known = sentences.slice(row, 1), speeches[film]
        flat, offsets = unnest(document, "sentences")
        alignment = align(flat.field("text").to_pylist(), [speech.text for speech in known])
        if alignment.confidence.mean() < LEAST_ALIGNED:
            continue
        same, confidence = boundary_labels(
            alignment, [speech.speaker for speech in known], [speech.scene for speech in known]
        )
        nobody = np.array([not speech.speaker for speech in known])
        same[nobody[alignment.speech] | np.r_[False, nobody[alignment.last_speech[:-1]]]] = -1
        if trust:
            confidence *= np.select(
                [same == 0, _goes_on_in_block(flat, offsets)], [trust.new, trust.inside], trust.first
            ).astype(np.float32)
        confidence[(same == 1) & inner_dashes(flat, offsets)] *= _CONTRADICTED
        tables.append(add_labels(document, same, confidence, corpus))
    return pa.concat_tables(tables)


def inner_dashes(flat: pa.StructArray, offsets: Ints) -> Bools:
    """Return which sentences begin with a dash in the block in which the previous one ended: two people speak in it."""
    return flags(flat.field("dash")) & _goes_on_in_block(flat, offsets)


def _goes_on_in_block(flat: pa.StructArray, offsets: Ints) -> Bools:
    first, last = (flat.field(name).to_numpy() for name in ("first_block", "last_block"))
    inside: Bools = first == np.r_[-1, last[:-1]]
    inside[offsets[:-1][np.diff(offsets) > 0]] = False
    return inside


def read_weak(data_dir: Path) -> pa.Table:
    """Read subtitles without scripts, labelled by their own marks.

    A dash inside a block, and "NAME:", begin a turn; a sentence without a dash in a block with dashes continues the
    previous turn. All other labels are unknown, so a model that sees the dashes would learn only them: hide them from
    it, as `labels.undash` does.

    Args:
        data_dir: contains `noisy_srt` and `opensubtitles_xml`.
    """
    _, sentences = split_lines(read_subtitles([data_dir / "noisy_srt", data_dir / "opensubtitles_xml"]))
    flat, offsets = unnest(sentences, "sentences")
    dash, inside = flags(flat.field("dash")), _goes_on_in_block(flat, offsets)
    group = np.cumsum(~inside)
    dashed = (np.bincount(group, weights=dash) > 0)[group]
    named = flags(flat.field("speaker").is_valid())
    cases = [named, inside & dash, inside & dashed]
    same = np.select(cases, [0, 0, 1], -1)
    return add_labels(sentences, same, np.select(cases, [_NAMED, _DASHED, _UNDASHED], 0.0), "weak")


def read_text(path: Path) -> str:
    """Read a text file whose wrongly decoded letters `mend` repairs."""
    return mend(decode(path.read_bytes(), None, "en")[0].replace("\r\n", "\n"))


def mend(text: str) -> str:
    """Return a text in which UTF-8 letters that were once decoded as Hebrew (Windows-1255) are repaired."""
    return _HEBREW.sub(_reread, text)


def _reread(match: re.Match[str]) -> str:
    data = b"".join(char.encode("cp1255", "ignore") or char.encode("cp1252", "ignore") for char in match[0])
    return data.decode("utf-8", "ignore") or match[0]


MELD_COLUMNS = ("Utterance", "Speaker", "Dialogue_ID", "Utterance_ID", "Season", "Episode", "StartTime", "EndTime")
_SPLIT_SHORT_FORM = re.compile(r"(?<=\w)['’] (?=(?:s|t|m|ll|re|ve|d|clock)\b)")  # DailyDialog has "I' m" beside "I'm"


def read_meld(data_dir: Path) -> pa.Table:
    """Read the utterances of MELD as cues, one document per dialogue. The boundary at a missing utterance is unknown.

    Args:
        data_dir: contains `meld/*.csv`.
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
    """Return the rows of a MELD file, with letters repaired; rows with too many or too few values are left out."""
    rows = [row for _, row in read_csv(path, MELD_COLUMNS) if not isinstance(row, Reject)]
    return [{name: mend(value) for name, value in row.items()} for row in rows]


def _script_of_dialogue(name: str, rows: Sequence[Mapping[str, str]], people: Mapping[str, str | None]) -> Script:
    spoken = [row for row in rows if row["Utterance"].strip()]
    begun, ended = (parse_times([row[column] for row in spoken]) for column in ("StartTime", "EndTime"))
    times = check_times(begun, ended)
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
    """Read the dialogues of DailyDialog, detokenised, without times and blocks.

    Args:
        data_dir: contains `dailydialog/valid.json`, one dialogue per line.
    """
    lines = read_text(data_dir / "dailydialog" / "valid.json").splitlines()
    dialogues = [[turn["text"] for turn in json.loads(line)["dialogue"]] for line in lines if line.strip()]
    texts = ([_SPLIT_SHORT_FORM.sub("'", " ".join(turn.split())) for turn in dialogue] for dialogue in dialogues)
    return _label_turns(
        {f"dailydialog/{number}": detokenize(turns) for number, turns in enumerate(texts)}, "dailydialog"
    )


def read_empathetic_dialogues(data_dir: Path) -> pa.Table:
    """Read the conversations of EmpatheticDialogues, typed by two people in turn, without times and blocks.

    Args:
        data_dir: contains `empathetic_dialogues/unannotated/*.csv`.
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
    """Label the sentences of dialogues with known turns, in which the speaker changes at every turn.

    Every turn begins with a dash, so that no sentence extends past its end; then dashes and blocks are removed, since
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


CORPORA: dict[str, Callable[[Path], pa.Table]] = {
    "friends": partial(read_sitcom, show="friends", dashes=False),
    "the_big_bang_theory": partial(read_sitcom, show="the_big_bang_theory", dashes=False),
    "frasier": partial(read_frasier, plain=False),
    "frasier_plain": partial(read_frasier, plain=True),
    "friends_dashes": partial(read_sitcom, show="friends", dashes=True),
    "the_big_bang_theory_dashes": partial(read_sitcom, show="the_big_bang_theory", dashes=True),
    "friends_srt": read_friends_srt,
    "meld": read_meld,
    "dailydialog": read_dailydialog,
    "empathetic_dialogues": read_empathetic_dialogues,
    "weak": read_weak,
    "friends_lines": partial(read_named_friends, dashes=False),
    "friends_lines_dashes": partial(read_named_friends, dashes=True),
    "film_scripts": read_film_scripts,
}
"""Name of a corpus → the function that reads it from the data folder."""

_EPISODE = re.compile(r"(?P<show>.+)/s(?P<season>\d+)e(?P<episode>\d+)")


def load_corpora(data_dir: Path, names: Sequence[str], cache: Path) -> pa.Table:
    """Load corpora; those that are not cached are made.

    Args:
        data_dir: folder of the real data.
        names: names in CORPORA.
        cache: folder with one Parquet file per corpus; delete a file to make it again.

    Returns:
        LABELLED, corpus after corpus in the order of the names.

    Raises:
        ValueError: a corpus is unknown, or its files are missing.
    """
    if unknown := [name for name in names if name not in CORPORA]:
        raise ValueError(f"no corpus is named {unknown[0]!r}; there is {', '.join(CORPORA)}")
    tables = [_load_corpus(data_dir, name, cache / f"{name}.parquet") for name in names]
    return pa.concat_tables(tables) if tables else LABELLED.empty_table()


def _load_corpus(data_dir: Path, name: str, path: Path) -> pa.Table:
    """Return a corpus from its file; make it if the file is missing, damaged or has other columns."""
    with suppress(FileNotFoundError, ValueError):
        return pq.read_table(path).cast(LABELLED)
    table = CORPORA[name](data_dir)
    if not table.num_rows:
        raise ValueError(f"no document of the corpus {name!r} in {data_dir}: give the folder that holds the real data")
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
    return table.cast(LABELLED)


def episode_key(corpus: str, film: str) -> str:
    """Return the key that documents in different splits must not share.

    An episode has one key in all corpora, such as "friends S01E05"; a double episode has the key of its first part.
    Documents that are not episodes keep the name of their film.

    Args:
        corpus: name of the corpus, which distinguishes films of one name that are not episodes.
        film: the column `film`.
    """
    match = _EPISODE.match(film.lower())
    return (
        f"{match['show'].replace('_', ' ')} S{int(match['season']):02d}E{int(match['episode']):02d}"
        if match
        else f"{corpus} {film}"
    )


def count_labels(table: pa.Table) -> dict[str, float]:
    """Return counts of documents, sentences and labelled boundaries of a LABELLED table, and fractions of the labelled
    boundaries.

    Returns:
        `documents`, `sentences`, `labelled`; and `new_turn`, `inside` (a block), `new_inside` (of those inside),
        `doubtful` (confidence below 0.5), 0 to 1.
    """
    same = table["same_turn"].combine_chunks().flatten().to_numpy()
    sure = table["label_confidence"].combine_chunks().flatten().to_numpy()
    flat, _ = unnest(table, "sentences")
    first, last = (flat.field(name).fill_null(-1).to_numpy() for name in ("first_block", "last_block"))
    known = same >= 0
    inside = (first == np.r_[-1, last[:-1]]) & (first >= 0)
    shares = {
        "new_turn": same[known] == 0,
        "inside": inside[known],
        "new_inside": same[known & inside] == 0,
        "doubtful": sure[known] < 0.5,
    }
    counts = {"documents": table.num_rows, "sentences": len(same), "labelled": int(known.sum())}
    return counts | {name: round(float(holds.mean()), 3) if len(holds) else 0.0 for name, holds in shares.items()}


def main() -> None:
    """Make the corpora and print their statistics."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", default=list(CORPORA))
    arguments = parser.parse_args()
    for name in arguments.corpora:
        figures = count_labels(load_corpora(arguments.data_dir, [name], arguments.cache))
        print(f"{name:28}" + "  ".join(f"{key} {value}" for key, value in figures.items()), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
