"""HITs (human intelligence tasks), the pages of tasks for annotators, as JSON lines; and the inputs they are made from.

Labelling (EDOS, Section 3.2): 15 dialogues, each with three suggested labels, and 5 quiz questions mixed in. Judging
(Xie & Pu, Section 5.4 and Appendix C): 10 dialogues with the answers of several models; 3 of them are bonus tasks, with
the true response among the candidates. Inputs are the tasks of `edos crowd select`, quiz questions, and models' answers
to dialogues.
"""

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from edos_dataset.crowd.names import EDOS
from edos_dataset.crowd.text_files import read_objects
from edos_dataset.crowd.texts import texts_of
from edos_dataset.label_sets import BUILT_IN, DEFAULT, LabelSet, load_label_set
from edos_dataset.label_sets.translations import ENGLISH
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import UntrustedInputError, json_of
from edos_dataset.text import shown as shortened
from edos_dataset.wording import counted

Kind = Literal["label", "quiz", "judge", "bonus"]

SUGGESTIONS = 3
"""Number of labels suggested to a worker, who may also type another one."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Item:
    """One question.

    Attributes:
        id: unique in its HIT: the task's name, the dialogue's id, or a digest of the quiz question. Workers do not see
            it.
        kind: the kind of question.
        turns: the dialogue, oldest turn first; the last one is labelled or answered.
        choices: names of the suggested labels, or the candidate responses, in the random order shown.
        truth: name of the right label of a quiz question, or the true response of a bonus task, one of the choices.
        facts: what workers must not see: `task`, `dialogue_id` and the weak labeler's `label`; or `models`, for each
            choice the list of models that gave it, empty if only the true response has that text. The `speakers` of the
            turns, if known, are shown.
    """

    id: str
    kind: Kind
    turns: tuple[str, ...]
    choices: tuple[str, ...]
    truth: str | None
    facts: Mapping[str, Any]

    @property
    def speakers(self) -> list[str]:
        """Who says each turn; "" if unknown."""
        return list(self.facts.get("speakers") or [""] * len(self.turns))

    @property
    def said(self) -> list[str]:
        """The turns as text, each with its speaker if known: "Ann: Hello."."""
        return [f"{name}: {turn}" if name else turn for name, turn in zip(self.speakers, self.turns, strict=True)]


@dataclass(frozen=True)
class Hit:
    """The items of a HIT in the order shown; `id` is their digest, so the same input and seed give the same HITs."""

    id: str
    items: tuple[Item, ...]


def label_hits(
    tasks: Sequence[Mapping[str, Any]],
    quiz: Sequence[Mapping[str, Any]],
    seed: int = 0,
    dialogues: int = 15,
    quizzes: int = 5,
    labels: LabelSet = EDOS,
) -> list[Hit]:
    """Return the HITs of the labelling task; dialogues, overall and of each label, are spread evenly over them.

    Args:
        tasks: as `select_tasks` returns them: `task`, `dialogue_id`, `turns`, `label`, and `top`, of which the first
            three are suggested; or with `choices`, the labels to show, instead of the last two.
        quiz: questions with a known answer: `turns`, `label`, and optionally `choices`; by default the label and two
            labels of other groups.
        seed: seed of all random choices.
        dialogues: maximum number of dialogues in a HIT.
        quizzes: number of quiz questions in a HIT.
        labels: the label set.

    Raises:
        ValueError: there are no tasks, two have the same name, or there are fewer questions than a HIT needs.
    """
    if dialogues < 1 or not 0 <= quizzes <= len(quiz):
        raise ValueError(
            f"{counted(dialogues, 'dialogues')} and {counted(quizzes, 'quiz questions')} a HIT: give at least "
            "one dialogue, and at most as "
            f"many questions as the quiz has, {len(quiz)}"
        )
    _check_names([task["task"] for task in tasks], "task")
    draw = random.Random(seed)
    ids = {"": -1, **labels.ids}  # a task need not suggest a label
    shuffled = sorted(draw.sample(tasks, len(tasks)), key=lambda task: ids[task.get("label", "")])
    questions = _forever(quiz, draw)
    hits = []
    for own in _deal(shuffled, dialogues):
        asked: dict[str, Item] = {}
        while len(asked) < quizzes:
            item = _quiz_item(next(questions), draw, labels)
            asked.setdefault(item.id, item)
        hits.append(_hit([*(_label_item(task, draw) for task in own), *asked.values()], draw))
    return hits


def judge_hits(
    dialogues: Sequence[Mapping[str, Any]], seed: int = 0, dialogues_a_hit: int = 10, bonus: int = 3
) -> list[Hit]:
    """Return the HITs of the judging task; dialogues are spread evenly over them.

    Args:
        dialogues: `dialogue_id`, `turns`, `answers` (`model` and `text`, at least two), and optionally `truth`. Answers
            of equal text become one candidate.
        seed: seed of all random choices.
        dialogues_a_hit: maximum number of dialogues in a HIT.
        bonus: number of dialogues in a HIT with the true response as an additional candidate.

    Raises:
        ValueError: there are no dialogues, two have the same id, or too few have a true response.
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
                f"{sum(bool(each.get('truth')) for each in dialogues)} of "
                f"{counted(len(dialogues), 'dialogues have')} a true "
                f"response, and {wanted} bonus tasks a HIT need more of them: give a `truth`, or fewer bonus tasks"
            )
        rewarded = {each["dialogue_id"] for each in draw.sample(with_truth, wanted)}
        hits.append(_hit([_judging_item(each, each["dialogue_id"] in rewarded, draw) for each in own], draw))
    return hits


def _check_names(names: Sequence[str], key: str) -> None:
    if not names:
        raise ValueError("there is nothing to ask: the file holds no dialogues")
    if twice := next((name for name, other in zip(sorted(names), sorted(names)[1:], strict=False) if name == other), 0):
        raise ValueError(f"the {key} {twice!r} occurs twice: give each dialogue its own name")


def _deal(dialogues: Sequence[_T], most: int) -> list[Sequence[_T]]:
    hands = -(-len(dialogues) // most)
    return [dialogues[hand::hands] for hand in range(hands)]


def _forever(quiz: Sequence[Mapping[str, Any]], draw: random.Random) -> Iterator[Mapping[str, Any]]:
    while True:
        yield from draw.sample(quiz, len(quiz))


def _quiz_item(question: Mapping[str, Any], draw: random.Random, labels: LabelSet) -> Item:
    truth = question["label"]
    choices = list(question.get("choices") or [truth, *_others(truth, draw, labels)])
    content = json.dumps([question["turns"], truth], ensure_ascii=False)
    name = hashlib.sha256(content.encode()).hexdigest()[:12]
    return Item(name, "quiz", tuple(question["turns"]), tuple(draw.sample(choices, len(choices))), truth, {})


def _others(truth: str, draw: random.Random, labels: LabelSet) -> list[str]:
    groups = [own for own in labels.groups.values() if own and truth not in own]
    if len(groups) < SUGGESTIONS - 1:
        others = [label for label in labels.labels if label != truth]
        return draw.sample(others, min(SUGGESTIONS - 1, len(others)))
    return [draw.choice(own) for own in draw.sample(groups, SUGGESTIONS - 1)]


def _label_item(task: Mapping[str, Any], draw: random.Random) -> Item:
    suggested = task.get("choices") or task["top"][:SUGGESTIONS]
    facts = {key: task[key] for key in ("task", "dialogue_id", "label", "confidence", "speakers") if key in task}
    choices = tuple(draw.sample(suggested, len(suggested)))
    return Item(task["task"], "label", tuple(task["turns"]), choices, None, facts)


def _judging_item(dialogue: Mapping[str, Any], rewarded: bool, draw: random.Random) -> Item:
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
    """Write HITs atomically as JSON lines."""
    write_text(path, "".join(json.dumps(asdict(hit), ensure_ascii=False) + "\n" for hit in hits))


def read_hits(path: Path) -> list[Hit]:
    """Return the HITs of a file.

    Raises:
        ValueError: a line is not a HIT, or a HIT occurs twice; the message names file and line.
    """
    hits: dict[str, Hit] = {}
    for number, row in read_objects(path, '{"id": ..., "items": [...]}'):
        try:
            hit = Hit(str(row["id"]), tuple(_read_item(item) for item in row["items"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: no HIT ({shortened(error)}); write the batch anew") from error
        if hit.id in hits:
            raise ValueError(f"{path}, line {number}: the HIT {hit.id} occurs twice; remove one of them")
        hits[hit.id] = hit
    if not hits:
        raise ValueError(f"{path} holds no HITs")
    return list(hits.values())


def _read_item(row: Mapping[str, Any]) -> Item:
    if row["kind"] not in get_args(Kind):
        raise ValueError(f"kind is {row['kind']!r}, none of {', '.join(get_args(Kind))}")
    (turns, choices), truth = (tuple(row[name]) for name in ("turns", "choices")), row["truth"]
    if not all(isinstance(text, str) for text in (*turns, *choices)):
        raise ValueError(f"turns and choices are {shortened([turns, choices])}, expected lists of texts")
    if not isinstance(truth, str | None) or (row["kind"] == "bonus" and truth not in choices):
        raise ValueError(f"truth is {shortened(truth)}, none of the choices")
    facts = dict(row["facts"])
    _check_speakers({"turns": turns, **facts})
    if row["kind"] in ("judge", "bonus"):
        models = [[_text({"model": name}, "model") for name in names] for names in facts["models"]]
        if len(models) != len(choices):
            raise ValueError(f"models are {shortened(models)}: give a list for each of the {len(choices)} choices")
        facts["models"] = models
    return Item(str(row["id"]), row["kind"], turns, choices, truth, facts)


MATRIX, REFERENCES = "matrix.json", ("RT", "GT")
"""In the records of `evaluation/generation.py`: the file that describes them all, and the rows that are not models.
"""


def label_set_of_tasks(path: Path, first: Mapping[str, Any]) -> LabelSet:
    """Return the label set that the first object of a file of tasks names; by default that of EDOS.

    Raises:
        ValueError: it is a custom label set, which must be given.
    """
    name = first.get("label_set", DEFAULT)
    if name not in BUILT_IN:
        raise ValueError(f"{path} has labels of the set {str(name)[:60]!r}: give its file by --label-set FILE")
    return load_label_set(str(name))


def read_tasks(path: Path, labels: LabelSet = EDOS) -> list[dict[str, Any]]:
    """Return the tasks that `edos crowd select` wrote, or others in that format.

    A task has `task`, `turns`, `top` (names of labels, the most probable first), and optionally `label` (default: the
    first of `top`) and `dialogue_id` (default: the task).

    Raises:
        ValueError: a line lacks something, or names an unknown label; the message names file and line.
    """
    tasks = []
    for number, row in read_objects(path, '{"task": ..., "turns": [...], "top": [...]}'):
        try:
            top = [_label(name, labels) for name in _texts(row, "top")]
            found = {**row, "task": _text(row, "task"), "turns": _texts(row, "turns"), "top": top}
            found |= {
                "label": _label(row.get("label", top[0]), labels),
                "dialogue_id": str(row.get("dialogue_id", row["task"])),
            }
            if "choices" in row:
                found["choices"] = [_label(name, labels) for name in _texts(row, "choices")]
            _check_speakers(found)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}; mend or remove the line") from error
        tasks.append(found)
    return tasks


def _check_speakers(task: Mapping[str, Any]) -> None:
    names = task.get("speakers")
    if names is not None and (
        not isinstance(names, list)
        or len(names) != len(task["turns"])
        or not all(isinstance(name, str) for name in names)
    ):
        raise ValueError(f"`speakers` is {shortened(names)}: give a text for each of the {len(task['turns'])} turns")


def read_quiz(path: Path | None = None, labels: LabelSet = EDOS, language: str = ENGLISH) -> list[dict[str, Any]]:
    """Return quiz questions: `turns`, `label`, and optionally `choices`, names of labels including the right one.

    Args:
        path: a file of JSON lines; by default the questions of this package, at least one for each label of EDOS,
            and none for other label sets.
        labels: the label set.
        language: language of the package's questions, one of `LANGUAGES`.

    Raises:
        ValueError: as for `read_tasks`; or two questions are equal.
    """
    if path is None:
        return [dict(question) for question in texts_of(language).quiz] if labels.labels == EDOS.labels else []
    quiz: dict[tuple[str, ...], dict[str, Any]] = {}
    for number, row in read_objects(path, '{"turns": [...], "label": ...}'):
        try:
            found: dict[str, Any] = {"turns": _texts(row, "turns"), "label": _label(_text(row, "label"), labels)}
            if "choices" in row:
                found["choices"] = [_label(name, labels) for name in _texts(row, "choices")]
                if found["label"] not in found["choices"]:
                    raise ValueError(f"the right label, {found['label']}, is not among the choices")
            if tuple(found["turns"]) in quiz:
                raise ValueError("the question occurs twice")
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}; mend or remove the line") from error
        quiz[tuple(found["turns"])] = found
    return list(quiz.values())


def read_judged_dialogues(path: Path) -> list[dict[str, Any]]:
    """Return dialogues with the answers of several models: `dialogue_id`, `turns`, `answers` (a list of `model` and
    `text`), and optionally `truth`, the true response, and `set`, the test set.

    Raises:
        ValueError: as for `read_tasks`.
    """
    found = []
    for number, row in read_objects(path, '{"dialogue_id": ..., "turns": [...], "answers": [{"model": ..., ...}]}'):
        try:
            answers = [{"model": _text(each, "model"), "text": _text(each, "text")} for each in _answers(row)]
            if len({answer["model"] for answer in answers}) < max(2, len(answers)):
                raise ValueError("answers need two models or more, one answer each")
            found.append({**_dialogue(row), "answers": answers})
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}; mend or remove the line") from error
    return found


def join_answers(sources: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Return several models' answers to the same dialogues in the format of `read_judged_dialogues`.

    Args:
        sources: model → a file that `edos respond --out` wrote; the first of its answers counts. Any of
            them may also have `truth`.

    Raises:
        ValueError: a line lacks something, or the files do not answer the same dialogues.
    """
    joined: dict[str, dict[str, Any]] = {}
    for model, path in sources.items():
        seen = set()
        for number, row in read_objects(path, '{"dialogue_id": ..., "turns": [...], "answers": [{"text": ...}]}'):
            try:
                dialogue, text = _dialogue(row), _text(_answers(row)[0], "text")
                kept = joined.setdefault(dialogue["dialogue_id"], {**dialogue, "answers": []})
                if kept["turns"] != dialogue["turns"] or dialogue["dialogue_id"] in seen:
                    raise ValueError(f"the dialogue {dialogue['dialogue_id']!r} occurs twice or with other turns")
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}; give answers to the same dialogues") from error
            seen.add(dialogue["dialogue_id"])
            kept.update({key: value for key, value in dialogue.items() if key not in kept})
            kept["answers"].append({"model": model, "text": text})
    if lacking := next((name for name, each in joined.items() if len(each["answers"]) < len(sources)), None):
        raise ValueError(
            f"the dialogue {lacking!r} is not answered in all of {', '.join(map(str, sources.values()))}: give answers "
            "to the same dialogues"
        )
    return list(joined.values())


def read_evaluation(records: Path, rows: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the answers that `evaluation/generation.py --records` kept, with the true responses, in the format of
    `read_judged_dialogues`.

    Args:
        records: the folder.
        rows: rows of its table to judge; by default all models.

    Raises:
        ValueError: the folder has no records, a row is missing, or there are fewer than two.
    """
    if not (records / MATRIX).is_file():
        raise ValueError(f"{records} holds no {MATRIX}: give the folder of --records of evaluation/generation.py")
    try:
        return _evaluated(records, rows)
    except (KeyError, IndexError, TypeError, AttributeError, UntrustedInputError) as error:
        raise ValueError(f"{records} holds damaged records ({shortened(error)}): measure the models again") from error


def _evaluated(records: Path, rows: Sequence[str]) -> list[dict[str, Any]]:
    sets = json_of((records / MATRIX).read_bytes())["sets"]
    cells = [json_of(path.read_bytes()) for path in sorted(records.glob("*--*.json"))]
    cells = [cell for cell in cells if cell["digest"] == sets.get(cell["set"], {}).get("digest")]
    wanted = _wanted_rows(records, list(dict.fromkeys(cell["row"] for cell in cells)), rows)
    answers = {(cell["set"], cell["row"]): cell["answers"] for cell in cells}
    return [
        {
            "dialogue_id": f"{name}#{number}",
            "set": name,
            "turns": _texts(context, "turns"),
            "answers": [{"model": row, "text": _text({"text": answers[name, row][number]}, "text")} for row in wanted],
            "truth": _text(context, "truth"),
        }
        for name, content in sets.items()
        if all((name, row) in answers for row in wanted)  # skip test sets on which some were not measured
        for number, context in enumerate(content["contexts"])
    ]


def _wanted_rows(records: Path, known: Sequence[str], rows: Sequence[str]) -> list[str]:
    wanted = list(rows) or [row for row in known if row not in REFERENCES]
    problem = "fewer than two rows to judge" if len(wanted) < 2 else ""
    if not problem and (unknown := [row for row in wanted if row not in known]):
        problem = f"no row {unknown[0]!r}"
    if problem:
        raise ValueError(f"{records} has {problem}; its rows are {', '.join(known) or 'none'}")
    return wanted


def _dialogue(row: Mapping[str, Any]) -> dict[str, Any]:
    given = row.get("turns")
    listed = given if isinstance(given, list) else []
    turns = [turn["text"] if isinstance(turn, dict) and "text" in turn else turn for turn in listed]
    found = {"dialogue_id": _text(row, "dialogue_id"), "turns": _texts({"turns": turns}, "turns")}
    return found | {key: _text(row, key) for key in ("truth", "set") if row.get(key) is not None}


def _answers(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    given = row.get("answers")
    if not isinstance(given, list) or not given or not all(isinstance(each, dict) for each in given):
        raise ValueError(f"answers must be a list of objects, got {str(given)[:60]}")
    return given


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"{key} must be a text, got {str(value)[:60]!r}")
    return str(value)


def _texts(row: Mapping[str, Any], key: str) -> list[str]:
    values = row.get(key)
    if not isinstance(values, list) or not values or not all(isinstance(each, str) and each.strip() for each in values):
        raise ValueError(f"{key} must be a list of texts, got {str(values)[:60]}")
    return values


def _label(name: object, labels: LabelSet) -> str:
    if (found := labels.find(str(name))) is None:
        raise ValueError(f"{labels.unknown(str(name))}; if it is of another set, give --label-set NAME|FILE")
    return labels.labels[found]
