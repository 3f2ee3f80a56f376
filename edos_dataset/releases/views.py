"""Views of datasets for training: `flat` and `pairs`, one row per labelled turn with its context, for classifiers and
responders; and `messages`, one row per dialogue, for chat models.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from edos_dataset.schema import list_of

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, Features, IterableDataset, IterableDatasetDict

D = TypeVar("D", "Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")

_TEXTS = ("text", "text_sha256")


def flat(dataset: D, min_certainty: float | None = None) -> D:
    """Return the flat view of a labelled dataset, with one row per labelled turn.

    Every turn of `edos` and `edos_initial` becomes a row, the first one with an empty context; of `amt_seed` and
    `extended` only the last turn of each dialogue, which has the label.

        pairs = flat(load_dataset("edos"), min_certainty=0.8).filter(lambda row: row["context"])

    Args:
        dataset: Any config with labels, of this package or of a raw release, in memory, on disk or streaming; or a
            dictionary of them.
        min_certainty: Smallest certainty, 0 to 1, of every boundary between the turns of a row: a context begins at the
            last turn whose boundary is less certain, or of unknown certainty.

    Returns:
        A dataset of the same kind and order, with `dialogue_id`, `turn` (position of the response, from 0), `context`
        (the texts before it, oldest first), `response`, `label` (the same `ClassLabel`, or null) and, if the dataset
        has it, `confidence`. Labels without texts have hashes of texts instead: `context_sha256` and `response_sha256`.

    Raises:
        ValueError: The dataset has no labels, or its columns are unknown; or `min_certainty` is given, and its turns
            have no certainty.
    """
    return _viewed(dataset, flat_features, flat_rows, min_certainty)


def pairs(dataset: D, min_certainty: float | None = None) -> D:
    """Return the rows of the flat view that have a context: what is answered, and the answer. Arguments, result and
    errors are those of `flat`.
    """
    return _viewed(dataset, flat_features, pair_rows, min_certainty)


def messages(dataset: D, min_certainty: float | None = None) -> D:
    """Return the view of a dataset as chats, as TRL and chat templates take them: one row per dialogue, in which user
    and assistant speak by turns.

    Successive turns of one known speaker become one message. A chat begins with the user and ends with the assistant,
    so the last turn of an odd number is left out (the first, where only the last one has a label), and so is a dialogue
    of one.

    Args:
        dataset: Any config with texts, in memory, on disk or streaming; or a dictionary of them.
        min_certainty: Dialogues are cut where a boundary has a smaller certainty, 0 to 1, or an unknown one; each part
            is a chat, with the number of its first turn, from 0, behind the id.

    Returns:
        A dataset of the same kind and order, with `dialogue_id` and `messages`: `role`, `content`, and if the dataset
        has labels, `label` (its name) and `confidence`, null where a turn has none.

    Raises:
        ValueError: It has no texts, or its columns are not known.
    """
    return _viewed(dataset, message_features, message_rows, min_certainty)


VIEWS: dict[str, Callable[..., Any]] = {"flat": flat, "pairs": pairs, "messages": messages}
"""The views of `edos_dataset.load`."""


def _viewed(
    dataset: Any,  # noqa: ANN401 - a dataset of `datasets`, or a dictionary of them
    features_of: Callable[..., "Features"],
    rows_of: Callable[..., Any],
    least: float | None,
) -> Any:  # noqa: ANN401
    if least is not None and not 0 <= least <= 1:
        raise ValueError(f"min_certainty is {least}, but a probability lies between 0 and 1")
    if isinstance(dataset, dict):
        return type(dataset)({name: _viewed(part, features_of, rows_of, least) for name, part in dataset.items()})
    columns = features_of(dataset.features)
    if least is not None and "certainty" not in _turn_of(dataset.features):
        raise ValueError(
            "min_certainty needs turns with a certainty, which datasets of earlier versions and of others do not have: "
            "leave it out"
        )
    change = partial(rows_of, columns=list(columns), names=_names_in(dataset.features), least=least)
    return dataset.map(change, batched=True, remove_columns=list(dataset.features), features=columns)


def flat_features(given: "Features | None") -> "Features":
    """Return the features of the flat view of a dataset with the given features.

    Raises:
        ValueError: The features have no labels, or are unknown.
    """
    from datasets import Features, Value

    if given is None:
        raise ValueError("the columns of the dataset are not known: load it by `edos_dataset.load`, or cast it")
    turn = _turn_of(given)
    if "label" in given:  # the label of the last turn, which overrides those of turns
        turn |= {name: given.get(name) for name in ("label", "confidence")}
    text = next((name for name in _TEXTS if name in turn), None)
    if text is None or not hasattr(turn.get("label"), "names") or "dialogue_id" not in given:
        raise ValueError(
            "a flat view needs dialogue_id, turns with texts, and labels on turns or dialogues, but the dataset has "
            f"{', '.join(given)}, and its turns {', '.join(_turn_of(given)) or 'nothing'}"
        )
    suffix = text.removeprefix("text")
    columns = {
        "dialogue_id": Value("string"),
        "turn": Value("int32"),
        f"context{suffix}": list_of(Value("string")),
        f"response{suffix}": Value("string"),
        "label": turn["label"],
    }
    if turn.get("confidence") is not None:
        columns["confidence"] = Value("float32")
    return Features(columns)


def _turn_of(given: "Mapping[str, Any]") -> dict[str, Any]:
    turns = given.get("turns")
    item = turns[0] if isinstance(turns, list) else getattr(turns, "feature", None)
    return dict(item) if isinstance(item, dict) else {}


def _begins(turns: Sequence[Mapping[str, Any]], least: float | None) -> list[int]:
    """Return for each turn the place of the one with which its context begins, given the least certainty."""
    cuts = set() if least is None else set(cuts_of([turn.get("certainty") for turn in turns], least))
    begins: list[int] = []
    for place in range(len(turns)):
        begins.append(place if not place or place in cuts else begins[-1])
    return begins


def cuts_of(certainties: Sequence[float | None], least: float) -> list[int]:
    """Return before which turns of a dialogue to cut, ascending: where the boundary is less certain, or unknown, and
    behind a first turn that is less certain to be speech (books).

    Args:
        certainties: of the turns; that of the first may be None.
        least: smallest certainty that stays, 0 to 1.
    """
    unsure = [(certainty or 0) < least for certainty in certainties]
    first = bool(certainties) and certainties[0] is not None and unsure[0]
    return [place for place in range(1, len(unsure)) if unsure[place] or (place == 1 and first)]


def flat_rows(
    rows: Mapping[str, list[Any]],
    columns: Collection[str],
    names: Sequence[str] = (),
    least: float | None = None,
    first: int = 0,
) -> dict[str, list[Any]]:
    """Return the flat view of some rows, given their columns, the names of the flat features and the least certainty of
    a boundary; `first` is the least number of turns in a context.
    """
    suffix = next(name for name in columns if name.startswith("response")).removeprefix("response")
    found: dict[str, list[Any]] = {name: [] for name in columns}
    for number, turns in enumerate(rows["turns"]):
        texts = [turn[f"text{suffix}"] for turn in turns]
        begins = _begins(turns, least)
        labelled = range(len(turns)) if "label" not in rows else range(len(turns))[-1:]
        for place in (place for place in labelled if place - begins[place] >= first):
            scores = turns[place] if "label" not in rows else {name: rows[name][number] for name in rows}
            found["dialogue_id"].append(rows["dialogue_id"][number])
            found["turn"].append(place)
            found[f"context{suffix}"].append(texts[begins[place] : place])
            found[f"response{suffix}"].append(texts[place])
            for name in ("label", "confidence"):
                if name in found:
                    found[name].append(scores[name])
    return found


def pair_rows(
    rows: Mapping[str, list[Any]], columns: Collection[str], names: Sequence[str] = (), least: float | None = None
) -> dict[str, list[Any]]:
    """Return the pairs of some rows; the arguments are those of `flat_rows`."""
    return flat_rows(rows, columns, least=least, first=1)


def message_features(given: "Features | None") -> "Features":
    """Return the features of the view as chats of a dataset with the given features.

    Raises:
        ValueError: It has no texts.
    """
    from datasets import Features, Value

    turn = _turn_of(given or {})
    if "text" not in turn or given is None or "dialogue_id" not in given:
        raise ValueError(
            "messages need dialogue_id and turns with texts, but the dataset has "
            f"{', '.join(given or ()) or 'unknown columns'}, and its turns {', '.join(turn) or 'nothing'}"
        )
    message = {name: Value("string") for name in ("role", "content")}
    if _names_in(given):
        message |= {"label": Value("string"), "confidence": Value("float32")}
    return Features({"dialogue_id": Value("string"), "messages": list_of(message)})


def _names_in(given: "Mapping[str, Any] | None") -> Sequence[str]:
    """Return the names of the labels of turns or of dialogues, if there are any."""
    turn = _turn_of(given or {})
    label = (given or {}).get("label", turn.get("label"))
    return tuple(getattr(label, "names", None) or ())


class Said(NamedTuple):
    """What a speaker says, as a chat needs it; None where it is not known."""

    text: str
    speaker: str | None = None
    label: str | None = None
    confidence: float | None = None


def merged(turns: Iterable[Said]) -> list[Said]:
    """Return turns with successive ones of one known speaker as one, which has the label of the last of them."""
    found: list[Said] = []
    for turn in turns:
        if found and turn.speaker is not None and turn.speaker == found[-1].speaker:
            last = found.pop()
            scores = turn[2:] if turn.label is not None else last[2:]
            found.append(Said(f"{last.text}\n{turn.text}", turn.speaker, *scores))
        else:
            found.append(turn)
    return found


def chat_of(turns: list[Said]) -> list[Said]:
    """Return those of merged turns that user and assistant say one after the other, the user first; none where nobody
    answers. Of an odd number the last is left out, or the first if only the last has a label.
    """
    if len(turns) % 2 == 0:
        return turns
    labelled = [turn.label is not None for turn in turns]
    return turns[1:] if labelled[-1] and not any(labelled[:-1]) else turns[:-1]


def message_rows(
    rows: Mapping[str, list[Any]], columns: Collection[str], names: Sequence[str], least: float | None = None
) -> dict[str, list[Any]]:
    """Return the view of some rows as chats, given their columns, the names of the labels and the least certainty of a
    boundary.
    """
    found: dict[str, list[Any]] = {name: [] for name in columns}
    for number, turns in enumerate(rows["turns"]):
        scores = [(turn.get("label"), turn.get("confidence")) for turn in turns]
        if "label" in rows and turns:
            scores[-1] = (rows["label"][number], rows.get("confidence", [None] * len(rows["turns"]))[number])
        said = [
            Said(turn["text"], turn.get("speaker"), None if label is None else names[label], confidence)
            for turn, (label, confidence) in zip(turns, scores, strict=True)
        ]
        begins = _begins(turns, least)
        for start, stop in pairwise([*sorted(set(begins)), len(turns)]):
            if chat := chat_of(merged(said[start:stop])):
                name = rows["dialogue_id"][number]
                found["dialogue_id"].append(f"{name}+{start}" if start else name)
                found["messages"].append([message_of(turn, place, bool(names)) for place, turn in enumerate(chat)])
    return found


ROLES = ("user", "assistant")


def message_of(turn: Said, place: int, labelled: bool) -> dict[str, Any]:
    """Return a turn as the message at a place of a chat, from 0."""
    message: dict[str, Any] = {"role": ROLES[place % 2], "content": turn.text}
    return {**message, "label": turn.label, "confidence": turn.confidence} if labelled else message
