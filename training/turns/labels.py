"""Documents whose sentences are labelled with "same turn" or "new turn": the table, and the labels by who says the cues
of a script.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Bools, Floats, Ints, flags, unnest
from edos_dataset.schema import SENTENCES
from edos_dataset.sources.speakers import Cue
from training.turns.blocks import is_even_split
from training.turns.scripts import Script, cues_of_sentences, script_lines, split_lines

LABELLED = pa.schema(
    [
        *SENTENCES,
        pa.field(
            "same_turn", pa.list_(pa.int8())
        ),  # 1 the speaker of the sentence before goes on, 0 another one begins, -1 unknown or nothing before
        pa.field(
            "label_confidence", pa.list_(pa.float32())
        ),  # about the probability that the label is right; 0 where it is unknown
        pa.field("corpus", pa.string()),
    ]
)
"""A labelled document. Where the source has no blocks (`first_block`, `last_block`) or times they are null: unknown,
which is neither "same" nor "other".
"""


@dataclass(frozen=True)
class Trust:
    """How often labels by the speakers of cues are right, 0 to 1.

    Attributes:
        new: another speaker.
        inside: the same cue.
        first: the same speaker, at the first cue for which the source names none, so that the one before goes on.
        later: the same speaker, at a later such cue.
        again: the same speaker, who is named anew.
    """

    new: float = 0.95
    inside: float = 0.95
    first: float = 0.95
    later: float = 0.95
    again: float = 0.95


_DOUBT = {
    "spans": 0.5,  # the sentence before or after the seam goes over a change of speakers
    # somebody spoke in between by the source, but has no cue: were the words cut, or could the source not place them?
    "missed": 0.5,
    "half": 0.9,  # a block was split evenly because it held two speakers, but the source does not say who the second is
    "named": 0.9,  # the text itself says "NAME:", and it is not whom the source says
}
_NOT_LETTER = re.compile(r"[\W_]+")


def label_scripts(scripts: Sequence[Script], corpus: str, trust: Trust | None = None) -> pa.Table:
    """Split scripts into sentences as a run would, without speakers, and label these by who says the cues.

    A sentence has the speaker of the cue in which it begins and that of the cue in which it ends; the label is about
    the end of one and the beginning of the next. A name is compared as it stands (`sources.speakers.unify_names` makes
    variants one); null is nobody known. Where the text names somebody else ("NAME:") a turn begins, and how long it
    goes on is unknown; so is a seam with a dash that the source overlooked.

    Args:
        scripts: with different document ids.
        corpus: name of the corpus.
        trust: in the source; what is odd at a seam lowers its confidence further.

    Returns:
        LABELLED.
    """
    if not scripts:
        return LABELLED.empty_table()
    lines, sentences = split_lines(script_lines(scripts))
    cues = [cue for script in scripts for block in script.blocks for cue in block]
    first_cue = np.cumsum([0, *(sum(map(len, script.blocks)) for script in scripts)])
    begins, ends = cues_of_sentences(scripts, first_cue, lines, sentences)
    breaks = np.array(
        [place + start for script, start in zip(scripts, first_cue, strict=False) for place in sorted(script.breaks)],
        np.int64,
    )
    flat, _ = unnest(sentences, "sentences")
    same, confidence = _compare(cues, begins, ends, breaks, trust or Trust())
    same[
        (begins == np.r_[-1, ends[:-1]]) & flags(flat.field("dash"))
    ] = -1  # one speaker by the source, two by the dash
    other = _names_other(flat.field("speaker"), [cues[cue].speaker for cue in begins.tolist()])
    same[np.r_[False, other[:-1]]] = -1
    same[other], confidence[other] = 0, _DOUBT["named"]
    return add_labels(sentences, same, confidence, corpus)


def _names_other(said: pa.StringArray, speakers: Sequence[str | None]) -> Bools:
    names = [name and _NOT_LETTER.sub("", name).upper() for name in said.to_pylist()]
    return np.array([name is not None and name != speaker for name, speaker in zip(names, speakers, strict=True)], bool)


def add_labels(sentences: pa.Table, same: npt.ArrayLike, confidence: npt.ArrayLike, corpus: str) -> pa.Table:
    """Put labels beside sentences.

    Args:
        sentences: SENTENCES.
        same: [sentences] 1, 0 or -1; that of a document's first is taken for -1.
        confidence: [sentences] 0 to 1.
        corpus: name of the corpus.

    Returns:
        LABELLED.
    """
    _, offsets = unnest(sentences, "sentences")
    labels = np.array(same, np.int8)
    labels[offsets[:-1][np.diff(offsets) > 0]] = -1
    sure = np.where(labels < 0, 0, confidence).astype(np.float32)
    lists = pa.array(offsets, pa.int32())
    columns = [
        *sentences.columns,
        pa.ListArray.from_arrays(lists, pa.array(labels)),
        pa.ListArray.from_arrays(lists, pa.array(sure)),
    ]
    return pa.Table.from_arrays([*columns, pa.array([corpus] * sentences.num_rows, pa.string())], schema=LABELLED)


def _compare(
    cues: Sequence[Cue], begins: Ints, ends: Ints, breaks: Ints, trust: Trust
) -> tuple[npt.NDArray[np.int8], Floats]:
    """Compare the speaker at the end of each sentence with that at the beginning of the next."""
    codes: dict[str, int] = {}
    speaker = np.array(
        [-1 if cue.speaker is None else codes.setdefault(cue.speaker, len(codes)) for cue in cues], np.int64
    )
    place = np.arange(len(cues))
    since = place - np.maximum.accumulate(np.where([cue.named for cue in cues], place, 0))
    between = [{name for name in cue.missed if name != cue.speaker} != set() for cue in cues]
    half = np.r_[False, [is_even_split(one, other) for one, other in zip(cues, cues[1:], strict=False)]]
    before = np.r_[begins[:1], ends[:-1]]
    unknown = (speaker[before] < 0) | (speaker[begins] < 0)
    second = half[begins] & (before + 1 == begins)
    same = np.where(second, 0, np.where(unknown, -1, speaker[before] == speaker[begins])).astype(np.int8)
    cases = [same == 0, before == begins, since[begins] == 0, since[begins] == 1]
    confidence = np.select(cases, [trust.new, trust.inside, trust.again, trust.first], trust.later).astype(np.float32)
    changes = np.cumsum(np.r_[0, speaker[1:] != speaker[:-1]] + np.array(between, np.int64))
    spans = speaker[begins] != speaker[ends]
    confidence[spans | np.r_[False, spans[:-1]]] *= _DOUBT["spans"]
    confidence[(changes[begins] > changes[before]) & (same == 1)] *= _DOUBT["missed"]
    confidence[second & unknown] *= _DOUBT["half"]
    same[_any_between(np.isin(place, breaks), before, begins)] = -1
    return same, confidence


def _any_between(holds: Bools, after: Ints, upto: Ints) -> Bools:
    total = np.cumsum(holds)
    return total[upto] > total[after]
