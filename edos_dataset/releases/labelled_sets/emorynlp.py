"""EmoryNLP: scenes of Friends, each utterance with one of seven emotions (Zahiri and Choi, 2018)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edos_dataset.releases.labelled_sets.record import LabelledDialogue, Turn, dialogue_of
from edos_dataset.releases.labelled_sets.texts import plain_text, spoken_text
from edos_dataset.releases.raw import Reject
from edos_dataset.runs.foreign import ForeignError, json_of


def read_emorynlp(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the scenes of `train.json`, `dev.json` or `test.json`.

    Raises:
        ValueError: the file is no JSON of episodes with scenes.
    """
    try:
        scenes = [scene for episode in json_of(path.read_bytes())["episodes"] for scene in episode["scenes"]]
    except (ForeignError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no file of EmoryNLP: expected JSON of episodes with scenes ({error})") from error
    for number, scene in enumerate(scenes, start=1):
        try:
            name, turns = str(scene["scene_id"]), [_turn(utterance) for utterance in scene["utterances"]]
        except (KeyError, TypeError, AttributeError) as error:
            yield Reject(path.name, None, "wrong_columns", f"scene {number}: {error}")
            continue
        yield from dialogue_of("emorynlp", path.name, name, turns)


def _turn(utterance: Mapping[str, Any]) -> Turn:
    speaker = plain_text(" and ".join(utterance["speakers"])) or None
    return Turn(None, spoken_text(utterance["transcript"]), speaker, (utterance["emotion"].strip().lower(),))
