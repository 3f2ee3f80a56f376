"""HITs (human intelligence tasks): what a worker is given at a time, of either task, as lines of JSON.

Labelling (EDOS, Section 3.2): 15 dialogues, each with three suggested labels, and 5 quiz questions mixed in. Judging
(Xie & Pu, Section 5.4 and Appendix C): 10 dialogues with the answers of several models, 3 of them bonus tasks that have
the true response among the candidates.
"""

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from edos_dataset.crowd.json_lines import read_objects
from edos_dataset.labels import GROUPS, LABELS
from edos_dataset.runs.shards import write_text

Kind = Literal["label", "quiz", "judge", "bonus"]

SUGGESTIONS = 3
"""Labels that a worker may pick before typing another one."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Item:
    """One question.

    Attributes:
        id: different from those of the other items of its HIT; the task's name, the dialogue's id, or a digest of the
            quiz question. Workers do not see it.
        kind: what is asked.
        turns: the dialogue, oldest first; the last one is labelled or answered.
        choices: names of the suggested labels, or the candidate responses, in the order shown, which is random.
        truth: name of the right label of a quiz question, or the true response of a bonus task, one of the choices.
        facts: what a worker must not see: `task`, `dialogue_id` and `label` of the weak labeler; `models`, a list for
            each choice of the names of the models that gave it, empty for what is the true response alone.
    """

    id: str
    kind: Kind
    turns: tuple[str, ...]
    choices: tuple[str, ...]
    truth: str | None
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Hit:
    """What a worker is given at a time.

    Attributes:
        id: digest of the items, so that the same input and seed give the same HITs.
        items: in the order shown.
    """

    id: str
    items: tuple[Item, ...]


def label_hits(
    tasks: Sequence[Mapping[str, Any]],
    quiz: Sequence[Mapping[str, Any]],
    seed: int = 0,
    dialogues: int = 15,
    quizzes: int = 5,
) -> list[Hit]:
    """Return the HITs of the labelling task, which share the dialogues evenly, and those of each label too.

    Args:
        tasks: as `select_tasks` gives them: `task`, `dialogue_id`, `turns`, `label`, and `top`, whose first three are
            suggested.
        quiz: questions with a known answer: `turns`, `label`, and perhaps `choices`, else the label stands beside two
            of other groups.
        seed: of all that is drawn.
        dialogues: in a HIT, at most.
        quizzes: questions in a HIT.

    Raises:
        ValueError: there are no tasks, two have one name, or there are fewer questions than a HIT needs.
    """
    if dialogues < 1 or not 0 <= quizzes <= len(quiz):
        raise ValueError(
            f"{dialogues} dialogues and {quizzes} quiz questions a HIT: give at least one dialogue, and at most as "
            f"many questions as the quiz has, {len(quiz)}"
        )
    _check_names([task["task"] for task in tasks], "task")
    draw = random.Random(seed)
    shuffled = sorted(draw.sample(tasks, len(tasks)), key=lambda task: LABELS.index(task["label"]))
    questions = _forever(quiz, draw)
    hits = []
    for own in _deal(shuffled, dialogues):
        asked: dict[str, Item] = {}
        while len(asked) < quizzes:
            item = _question(next(questions), draw)
            asked.setdefault(item.id, item)
        hits.append(_hit([*(_task(task, draw) for task in own), *asked.values()], draw))
    return hits


def judge_hits(
    dialogues: Sequence[Mapping[str, Any]], seed: int = 0, dialogues_a_hit: int = 10, bonus: int = 3
) -> list[Hit]:
    """Return the HITs of the judging task, which share the dialogues evenly.

    Args:
        dialogues: `dialogue_id`, `turns`, `answers` (`model` and `text`, at least two), and perhaps `truth`. Answers of
            equal text become one candidate.
        seed: of all that is drawn.
        dialogues_a_hit: at most.
        bonus: dialogues of a HIT that have the true response as one more candidate.

    Raises:
        ValueError: there are none, two have one id, or too few have a true response.
    """
    if dialogues_a_hit < 1 or not 0 <= bonus <= dialogues_a_hit:
        raise ValueError(
            f"{dialogues_a_hit} dialogues a HIT, {bonus} with a bonus: give at least one, and no more bonus tasks than "
            "dialogues"
        )
    _check_names([each["dialogue_id"] for each in dialogues], "dialogue_id")
    draw = random.Random(seed)
    shuffled = sorted(draw.sample(dialogues, len(dialogues)), key=lambda each: not each.get("truth"))
    hits = []
    for own in _deal(shuffled, dialogues_a_hit):
        with_truth = [each for each in own if each.get("truth")]
        wanted = min(bonus, len(own))
        if len(with_truth) < wanted:
            raise ValueError(
                f"{sum(bool(each.get('truth')) for each in dialogues)} of {len(dialogues)} dialogues have a true "
                f"response, and {wanted} bonus tasks a HIT need more of them: give a `truth`, or fewer bonus tasks"
            )
        rewarded = {each["dialogue_id"] for each in draw.sample(with_truth, wanted)}
        hits.append(_hit([_judgement(each, each["dialogue_id"] in rewarded, draw) for each in own], draw))
    return hits


def _check_names(names: Sequence[str], key: str) -> None:
    if not names:
        raise ValueError("there is nothing to ask: the file holds no dialogues")
    if twice := next((name for name, other in zip(sorted(names), sorted(names)[1:], strict=False) if name == other), 0):
        raise ValueError(f"the {key} {twice!r} comes twice: give each dialogue a name of its own")


def _deal(dialogues: Sequence[_T], most: int) -> list[Sequence[_T]]:
    """Share dialogues out like cards, as many hands as it takes: their sizes differ by one at most."""
    hands = -(-len(dialogues) // most)
    return [dialogues[hand::hands] for hand in range(hands)]


def _forever(quiz: Sequence[Mapping[str, Any]], draw: random.Random) -> Iterator[Mapping[str, Any]]:
    """Yield the questions in a new order again and again, so that each comes as often as the others."""
    while True:
        yield from draw.sample(quiz, len(quiz))


def _question(question: Mapping[str, Any], draw: random.Random) -> Item:
    truth = question["label"]
    choices = list(question.get("choices") or [truth, *_others(truth, draw)])
    content = json.dumps([question["turns"], truth], ensure_ascii=False)
    name = hashlib.sha256(content.encode()).hexdigest()[:12]
    return Item(name, "quiz", tuple(question["turns"]), tuple(draw.sample(choices, len(choices))), truth, {})


def _others(truth: str, draw: random.Random) -> list[str]:
    """Return two labels of groups that are neither the right label's nor one another's: no near miss."""
    groups = [own for own in GROUPS.values() if truth not in own]
    return [draw.choice(own) for own in draw.sample(groups, SUGGESTIONS - 1)]


def _task(task: Mapping[str, Any], draw: random.Random) -> Item:
    suggested = task["top"][:SUGGESTIONS]
    facts = {key: task[key] for key in ("task", "dialogue_id", "label", "confidence") if key in task}
    choices = tuple(draw.sample(suggested, len(suggested)))
    return Item(task["task"], "label", tuple(task["turns"]), choices, None, facts)


def _judgement(dialogue: Mapping[str, Any], rewarded: bool, draw: random.Random) -> Item:
    models: dict[str, list[str]] = {}
    for answer in dialogue["answers"]:
        models.setdefault(answer["text"], []).append(answer["model"])
    if rewarded:
        models.setdefault(dialogue["truth"], [])
    shown = tuple(draw.sample(list(models), len(models)))
    facts = {"dialogue_id": dialogue["dialogue_id"], "models": [models[text] for text in shown]}
    if "set" in dialogue:
        facts["set"] = dialogue["set"]
    truth = dialogue["truth"] if rewarded else None
    return Item(
        dialogue["dialogue_id"], "bonus" if rewarded else "judge", tuple(dialogue["turns"]), shown, truth, facts
    )


def _hit(items: Sequence[Item], draw: random.Random) -> Hit:
    mixed = tuple(draw.sample(items, len(items)))
    content = json.dumps([asdict(item) for item in mixed], ensure_ascii=False, sort_keys=True)
    return Hit(hashlib.sha256(content.encode()).hexdigest()[:16], mixed)


def write_hits(path: Path, hits: Sequence[Hit]) -> None:
    """Write HITs, a line of JSON each, at one stroke."""
    write_text(path, "".join(json.dumps(asdict(hit), ensure_ascii=False) + "\n" for hit in hits))


def read_hits(path: Path) -> list[Hit]:
    """Return the HITs of a file.

    Raises:
        ValueError: a line is no HIT, or one comes twice; the message names file and line.
    """
    hits: dict[str, Hit] = {}
    for number, row in read_objects(path, '{"id": ..., "items": [...]}'):
        try:
            hit = Hit(str(row["id"]), tuple(_item(item) for item in row["items"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: no HIT ({error!r}); write the batch anew") from error
        if hit.id in hits:
            raise ValueError(f"{path}, line {number}: the HIT {hit.id} comes twice; remove one of them")
        hits[hit.id] = hit
    if not hits:
        raise ValueError(f"{path} holds no HITs")
    return list(hits.values())


def _item(row: Mapping[str, Any]) -> Item:
    if row["kind"] not in get_args(Kind):
        raise ValueError(f"kind is {row['kind']!r}, none of {', '.join(get_args(Kind))}")
    turns, choices = tuple(map(str, row["turns"])), tuple(map(str, row["choices"]))
    return Item(str(row["id"]), row["kind"], turns, choices, row["truth"], dict(row["facts"]))
