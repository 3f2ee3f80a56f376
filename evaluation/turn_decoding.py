"""Joint decoding of the speakers of a document, compared with independent boundaries. All speakers of a film are found
together from the scores of the boundaries and from who may speak: few people; somebody who is addressed speaks next and
does not address themself; the speaker before the last one speaks again.

    python evaluation/turn_decoding.py DATA_DIR --recipe training/recipes/turns/turns.yaml --cache build/turns

A hidden Markov model has the current and the previous speaker as its state; forward-backward gives the probability of
every boundary, in time linear in the sentences. Scores are those of the blend, whose models did not see the show.
Writes evaluation/turn_decoding.json: the fraction of right boundaries without the model, and with several weights of
it.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Doubles, Floats, unnest
from edos_dataset.runs.shards import write_text
from evaluation.certain_dialogues import parse, unseen_shows
from training.examples import report as say
from training.turns.boundaries import Boundaries

OUT = Path(__file__).with_suffix(".json")
_CALLED = re.compile(r"^(?:[A-Za-z]+,? ){0,2}([A-Z][a-z]+),|, ([A-Z][a-z]+)[.!?]+$|^([A-Z][a-z]+)[.!?]+$")
_NO_NAMES = """
actually all and but come dad darling dear fine god good great hello here hey hi honey listen look madam man maybe mom
no now oh ok okay please really right see sir so sorry sure sweetheart thanks then there um wait well what why yeah yes
you
"""


@dataclass(frozen=True)
class Weights:
    """The weights of the speaker model.

    Attributes:
        called: how much more likely somebody who was just addressed is to begin a turn.
        returning: how much more likely the speaker before the last one is.
        himself: how much less likely a speaker is to say a sentence that addresses them.
        people: maximum number of people in a document, including unnamed ones.
    """

    called: float = 4.0
    returning: float = 3.0
    himself: float = 0.05
    people: int = 7


TRIED = (Weights(1.0, 1.0, 1.0), Weights(4.0, 1.0), Weights(1.0, 3.0, 1.0), Weights(), Weights(6.0, 4.0, 0.02))


def calls(texts: Sequence[str]) -> list[set[str]]:
    """Return who is addressed in each sentence, from apparent names at its beginning or end."""
    found = [{name for match in _CALLED.finditer(text) for name in match.groups() if name} for text in texts]
    return [{name for name in names if name.lower() not in _NO_NAMES.split()} for names in found]


def decode(same: Floats, called: Sequence[set[str]], weights: Weights) -> Doubles:
    """Return P(same speaker) of each sentence of a document, decoded jointly; NaN for the first.

    Args:
        same: [sentences], the scores of the boundaries; NaN is replaced by 0.5.
        called: who is addressed in each sentence.
        weights: weights of the model.
    """
    names = Counter(name for those in called for name in those)
    known = [name for name, times in names.most_common(weights.people - 2) if times > 2]
    people = max(len(known) + 2, 3)  # two or more without a name
    calling = np.array([[name in those for name in known] + [False] * (people - len(known)) for those in called], bool)
    says = np.where(calling, weights.himself, 1.0)
    stays = np.nan_to_num(same.astype(np.float64), nan=0.5)
    ahead = [says[0][:, None] * np.full((people, people), people**-2)]  # [speaker, previous speaker]
    taking = [_taking(calling[place - 1], weights) for place in range(1, len(same))]
    for place in range(1, len(same)):
        new = np.einsum("sb,sbt->ts", ahead[-1], taking[place - 1]) * (1 - stays[place])
        now = (ahead[-1] * stays[place] + new) * says[place][:, None]
        ahead.append(now / now.sum())
    after, decided = np.ones((people, people)), np.full(len(same), np.nan)
    for place in range(len(same) - 1, 0, -1):
        rest = after * says[place][:, None]
        continues = stays[place] * rest
        changes = (1 - stays[place]) * np.einsum("sbt,ts->sb", taking[place - 1], rest)
        on, off = (ahead[place - 1] * continues).sum(), (ahead[place - 1] * changes).sum()
        decided[place] = on / (on + off)
        after = (continues + changes) / (continues + changes).sum()
    return decided


def _taking(called: np.ndarray, weights: Weights) -> Doubles:
    """Return P(next speaker) by current and previous speaker, [people, people, people]."""
    people = len(called)
    chance = np.broadcast_to(np.where(called, weights.called, 1.0), (people, people, people)).copy()
    each = np.arange(people)
    chance[:, each, each] *= weights.returning
    chance[each, :, each] = 0
    taken: Doubles = chance / chance.sum(axis=2, keepdims=True)
    return taken


def accuracy(table: pa.Table, scores: Floats) -> float:
    """Return the percentage of labelled boundaries [sentences] that the scores decide correctly."""
    boundaries = Boundaries.of(table).at_least(0.5)
    known = boundaries.known() & ~np.isnan(scores)
    return round(100 * float(((scores >= 0.5) == (boundaries.same == 1))[known].mean()), 2)


def decoded(table: pa.Table, scores: Floats, weights: Weights) -> Floats:
    """Decode every document."""
    sentences, offsets = unnest(table, "sentences")
    called = calls(sentences.field("text").to_pylist())
    parts = [decode(scores[a:b], called[a:b], weights) for a, b in zip(offsets[:-1], offsets[1:], strict=True) if b > a]
    return np.concatenate(parts).astype(np.float32)


def main() -> None:
    """Measure, print and write."""
    args = parse(__doc__, argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter))
    result: dict[str, Any] = {
        "command": f"python evaluation/turn_decoding.py $EDOS_DATA_DIR --recipe {args.recipe.as_posix()}",
        "date": date.today().isoformat(),
        "shows": {},
    }
    for show, table, scores in unseen_shows(args.data_dir, args.recipe, args.cache):
        rows = [{**asdict(each), "accuracy": accuracy(table, decoded(table, scores, each))} for each in TRIED]
        result["shows"][show] = {"seams_alone": accuracy(table, scores), "decoded": rows}
        say(f"{show}: {json.dumps(result['shows'][show])}")
    write_text(OUT, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
