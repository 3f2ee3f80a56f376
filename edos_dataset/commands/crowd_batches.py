"""Batches of HITs for the crowd verbs: made from dialogues, exchanged with other tools, and read with their answers."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.crowd.answers import Answers, MTurkColumns, are_of_hits, label_table, read_labelled, translated
from edos_dataset.crowd.assignments import answer_lines
from edos_dataset.crowd.batches import ANSWERS, BONUS, RECORD, REWARD, WORKERS, Batch, Task, cost_range, read_batch
from edos_dataset.crowd.exchange import (
    Questions,
    argilla_files,
    label_studio_files,
    prolific_files,
    read_argilla,
    read_label_studio,
    read_mturk_table,
    read_prolific,
)
from edos_dataset.crowd.hit_answers import (
    HitAnswer,
    HitAnswers,
    check_item,
    collect_answers,
    items_by_id,
    read_hit_answers,
    write_hit_answers,
)
from edos_dataset.crowd.hits import (
    SUGGESTIONS,
    Hit,
    Item,
    join_answers,
    judge_hits,
    label_hits,
    label_set_of_tasks,
    read_evaluation,
    read_judged_dialogues,
    read_quiz,
    read_tasks,
)
from edos_dataset.crowd.quality import QualityRules, discarded, read_rules
from edos_dataset.crowd.selection import BELOW, CONFIDENT, GUESSED, STEPS
from edos_dataset.crowd.store import Store, alias_of
from edos_dataset.crowd.text_files import read_objects
from edos_dataset.crowd.turn_tasks import tasks_of_turns
from edos_dataset.label_sets import DEFAULT, LabelMap, LabelSet, label_set_of, load_label_map, load_label_set
from edos_dataset.label_sets.translations import language_of_texts
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.sources import read_records
from edos_dataset.releases.labelled_rows import EDOS, label_set_said, labelled_rows
from edos_dataset.runs.arguments import check_file
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.folder import check_out_file
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.stores.paths import place_of, readable


def selection_report(
    tasks: Sequence[Mapping[str, Any]],
    available: Any,  # noqa: ANN401
    per_label: int,
    names: Sequence[str],
) -> dict[str, Any]:
    """Return what `select` reports: dialogues, HITs, cost in US dollars, and figures of each label.

    Args:
        tasks: the selected tasks.
        available: number of candidates by label and minimum confidence (`STEPS`), int64[labels, steps].
        per_label: wanted number of dialogues per label.
        names: names of the labels.
    """
    reasons = Counter((task["label"], task["chosen"]) for task in tasks)
    labels = {}
    for name, counts_at in zip(names, available.tolist(), strict=True):
        counts = {reason: reasons[name, reason] for reason in (CONFIDENT, BELOW, GUESSED)}
        total = sum(counts.values())
        at_confidence = {str(step): count for step, count in zip(STEPS, counts_at, strict=True)}
        labels[name] = {
            "dialogues": total,
            "short": per_label - total,
            "chosen": counts,
            "at_confidence": at_confidence,
        }
    hits = -(-len(tasks) // 15)
    cost = [float(amount) for amount in cost_range(hits, WORKERS["labelling"], REWARD, BONUS)]
    return {"dialogues": len(tasks), "per_label": per_label, "hits": hits, "dollars": cost, "labels": labels}


def make_batch(
    sources: Sequence[str],
    kind: str | None = None,
    quiz: Path | None = None,
    rows: Sequence[str] = (),
    seed: int = 0,
    size: int | None = None,
    checks: int | None = None,
    workers: int | None = None,
    reward: float = REWARD,
    bonus: float = BONUS,
    label_set: "str | Path | LabelSet | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | None" = None,
    openings: bool = False,
    language: str | None = None,
) -> Batch:
    """Return a batch of HITs made from dialogues.

    Args:
        sources: one file or folder, or several files as MODEL=FILE, as for `edos crowd hits`.
        kind: "labelling" or "judging"; by default detected from the source.
        quiz: file of questions with known answers, as for `read_quiz`.
        rows: names of the models to judge, as for `read_evaluation`.
        seed: random seed, as for `label_hits` and `judge_hits`.
        size: dialogues per HIT; by default as in the papers.
        checks: quiz questions or bonus tasks per HIT; by default as in the papers.
        workers: different people per HIT; by default as in the papers.
        reward: US dollars per HIT.
        bonus: bonus in US dollars for a HIT done well.
        label_set: labels to choose from; by default those that the source names, else the built-in ones that its
            labels are of, else those of EDOS.
        label_map: label set or map into which these are translated, with the suggestions.
        openings: of dialogues, ask about first turns too, as for `tasks_of_turns`.
        language: language of the pages and of the built-in quiz, one of `LANGUAGES`; by default that of the dialogues.

    Raises:
        ValueError: the sources are of no known form, do not fit the kind, or are incomplete.
    """
    first = _first_to_label(sources)
    found: Task = "judging" if first is None else "labelling"
    if kind not in (None, found):
        raise ValueError(
            f"kind is {kind!r}, and {sources[0]} is for {found!r}"
            if kind in get_args(Task)
            else f"kind is {kind!r}: give one of {', '.join(get_args(Task))}"
        )
    settings: dict[str, Any] = {"workers": workers or WORKERS[found], "reward": reward, "bonus": bonus, "seed": seed}
    if first is not None:
        if rows:
            raise ValueError(f"{sources[0]} holds dialogues to label, which have no rows: leave --row out")
        path = place_of(sources[0])
        labels = _labels(path, first, label_set)
        tasks, labels = _translated_tasks(_tasks(path, first, labels, openings), labels, label_map)
        settings["language"] = language or _language_of(tasks)
        asked = read_quiz(quiz, labels, settings["language"])
        return _labelling(tasks, labels, asked, size or 15, checks, settings)
    for name, given in (("--label-set", label_set), ("--map", label_map), ("--quiz", quiz)):
        if given is not None:
            raise ValueError(f"{name} is for dialogues to label, and these are to be judged: leave it out")
    judged = _read_judged(sources, rows)
    settings["language"] = language or _language_of(judged)
    return Batch(
        found,
        judge_hits(judged, seed, size or 10, 3 if checks is None else checks),
        input=hash_json(judged),
        **settings,
    )


def _language_of(dialogues: Iterable[Mapping[str, Any]]) -> str:
    return language_of_texts(turn for dialogue in dialogues for turn in dialogue["turns"])


def read_guideline(path: Path) -> str:
    """Return the text of a guideline for annotators.

    Raises:
        ValueError: there is no such file, it is no text in UTF-8, or it is empty.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no UTF-8"
        raise ValueError(f"cannot read the guideline {path} ({why}): give a Markdown file in UTF-8") from error
    if not text.strip():
        raise ValueError(f"the guideline {path} is empty: write into it what annotators should know")
    return text


def _translated_tasks(
    tasks: list[dict[str, Any]], labels: LabelSet, label_map: "str | Path | LabelSet | LabelMap | None"
) -> tuple[list[dict[str, Any]], LabelSet]:
    """Return tasks with their labels translated by a map, if any, and the labels to choose from."""
    if label_map is None:
        return tasks, labels
    mapped = load_label_map(label_map, labels)
    return [_translated(task, mapped) for task in tasks], mapped.target


def _translated(task: dict[str, Any], mapped: LabelMap) -> dict[str, Any]:
    """Return a task whose suggestions are labels of a map's target."""
    top = list(dict.fromkeys(name for label in task["top"] if (name := mapped(label)) is not None))
    label = mapped(task["label"]) or next(iter(top), mapped.target.labels[0])
    return {**task, "top": top or [label], "label": label}


def _labelling(
    tasks: list[dict[str, Any]],
    labels: LabelSet,
    quiz: list[dict[str, Any]],
    size: int,
    checks: int | None,
    settings: Mapping[str, Any],
) -> Batch:
    asked = min(5, len(quiz)) if checks is None else checks
    hits = label_hits(tasks, quiz, settings["seed"], size, asked, labels)
    own = None if labels.name == DEFAULT else labels.described().as_dict()
    return Batch("labelling", hits, input=hash_json([tasks, quiz]), label_set=own, **settings)


def _first_to_label(sources: Sequence[str]) -> dict[str, Any] | None:
    """Return the first object of a file of JSON lines to label, of another file an empty one; None where something is
    to be judged.
    """
    path = place_of(sources[0])
    if len(sources) > 1 or path.is_dir() or ("=" in sources[0] and not path.exists()):
        return None
    try:
        first = next(read_objects(path, "an object"), (0, dict[str, Any]()))[1]
    except ValueError:
        return {}
    return None if "answers" in first else first


def _labels(
    path: Path, first: Mapping[str, Any], label_set: "str | Path | LabelSet | Sequence[str] | None"
) -> LabelSet:
    """Return the given label set, else the one that a file, whose first object is known, says."""
    if label_set is not None:
        return load_label_set(label_set)
    if "task" in first or "label_set" in first:
        return label_set_of_tasks(path, first)
    with suppress(pa.ArrowException, OSError):
        schema = pq.read_schema(readable(path))
        if schema.metadata and label_set_of(schema) != EDOS:
            return label_set_of(schema)
    return label_set_said(read_records(str(path), Selection())) or EDOS


def _tasks(path: Path, first: Mapping[str, Any], labels: LabelSet, openings: bool) -> list[dict[str, Any]]:
    """Return the tasks of `crowd.select`, or one for each turn of a file of dialogues."""
    if "task" in first:
        return read_tasks(path, labels)
    rows = labelled_rows(lambda: read_records(str(path), Selection()), labels)
    return tasks_of_turns((row for _, row in rows), labels, openings=openings)


def _read_judged(sources: Sequence[str], rows: Sequence[str]) -> list[dict[str, Any]]:
    path = place_of(sources[0])
    if len(sources) == 1 and path.is_dir():
        return read_evaluation(path, rows)
    if rows:
        raise ValueError("rows are of the records of evaluation/generation.py: leave --row out")
    if len(sources) == 1 and path.exists():
        return read_judged_dialogues(path)
    named = [source.partition("=") for source in sources]
    if len(named) < 2 or len({name for name, _, _ in named}) < len(named) or not all(all(parts) for parts in named):
        raise ValueError(
            f"{' '.join(sources)}: give the answers of two models or more, as MODEL=FILE MODEL=FILE, each another model"
        )
    return join_answers({name: place_of(file) for name, _, file in named})


ANSWERED = "answers.jsonl"
"""File of a batch's answers, in its folder, unless another one is given."""


@dataclass(frozen=True)
class Answered:
    """A batch with its answers."""

    batch: Batch
    answers: HitAnswers


def open_answers(source: Path, batch: Path | None = None) -> Answered | None:
    """Return a batch and the answers to it; None for a file whose answers, if any, are to tasks without HITs.

    Args:
        source: folder of the batch, whose answers are those that `edos crowd serve` saved, or else those in its
            `answers.jsonl`; or a file of answers.
        batch: folder of the batch; by default the one that contains the file.

    Raises:
        ValueError: the folder has no answers or is not a batch, or a line is invalid.
    """
    if (source / ANSWERS).is_file():
        served = read_batch(source)
        rows = answer_lines(Store(source / ANSWERS), served, unfinished=True)
        return Answered(served, collect_answers((str(source / ANSWERS), row) for row in rows))
    path = source / ANSWERED if source.is_dir() else source
    if source.is_dir() and not path.is_file():
        raise ValueError(
            f"{source} holds no answers: collect them by `edos crowd serve`, `edos crowd mturk fetch` or "
            "`edos crowd import`, or give a file of answers"
        )
    check_file(path, "the folder of a batch, or a file of answers")
    if not are_of_hits(path):
        return None
    folder = batch or path.parent
    if not (folder / RECORD).is_file():
        raise ValueError(f"{path} holds answers to HITs, but {folder} is no batch: name its folder with --batch")
    return Answered(read_batch(folder), read_hit_answers([path]))


def answers_of(
    source: str | Path,
    columns: Sequence[str],
    label_set: "str | Path | LabelSet | Sequence[str] | None",
    label_map: "str | Path | LabelSet | LabelMap | None",
    read: Callable[..., Answers] = read_labelled,
) -> Answers:
    """Return the answers of a file, translated by a map if there is one."""
    labels = None if label_set is None else load_label_set(label_set)
    answers = read(place_of(source), MTurkColumns().override(columns), labels)
    return answers if label_map is None else translated(answers, load_label_map(label_map, answers.label_set))


def write_kept(out: Path, answered: Answered | None, rules: QualityRules, force: bool = False) -> None:
    """Write the labels that count under the quality rules, as JSON lines of `task`, `worker`, `label`, `turns`.

    Raises:
        ValueError: the answers are not to HITs of the labelling task, so no rule applies; none is left; or the file
            exists.
    """
    if answered is None or answered.batch.kind != "labelling":
        raise ValueError(
            f"--kept {out}: only answers to HITs of the labelling task can be kept by the rules of quality"
        )
    target = check_out_file(out, force=force)
    hits = answered.batch.hits
    table = label_table(hits, answered.answers, discarded(hits, answered.answers, rules), answered.batch.labels)
    if not table.task:
        raise ValueError(f"--kept {out}: the rules discard all answers; `edos crowd workers` says why")
    rows = (
        {
            "task": table.tasks[task],
            "worker": worker,
            "label": given,
            "turns": table.dialogues[task],
            "dialogue_id": table.names[task],
        }
        for task, worker, given in zip(table.task, table.worker, table.given, strict=True)
    )
    write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def rules_of(batch: Batch | None, recipe: Path | None) -> QualityRules:
    """Return the quality rules: the defaults, overridden by those of a batch, then by those of a YAML file.

    Raises:
        ValueError: a rule is unknown.
    """
    rules = QualityRules().override(batch.rules if batch else {})
    return read_rules(recipe, rules) if recipe else rules


EXPORTS: Mapping[str, Callable[[Questions], dict[str, str]]] = {
    "argilla": argilla_files,
    "label-studio": label_studio_files,
    "prolific-csv": prolific_files,
}
"""Tool → function that makes its files."""

IMPORTS: Mapping[str, Callable[[Path, Questions, Callable[[str], str]], Iterable[HitAnswer]]] = {
    "argilla": read_argilla,
    "label-studio": read_label_studio,
    "prolific-csv": read_prolific,
    "mturk-csv": read_mturk_table,
}
"""Tool → function that reads its answers."""

_T = TypeVar("_T")

TASKS = "tasks"
"""Id of the single HIT that stands for a file of tasks, which has none."""


def open_questions(source: Path) -> Questions:
    """Return the questions of a batch's folder, or of a file of `crowd.select`.

    Raises:
        ValueError: the source is neither, or holds no tasks.
    """
    if source.is_dir():
        batch = read_batch(source)
        return Questions(batch.hits, batch.kind == "judging", batch.workers, batch.labels)
    check_file(source, "the folder of a batch, or the file of `edos crowd select`")
    labels = label_set_of_tasks(source, _first_to_label([str(source)]) or {})
    items = [
        Item(
            task["task"],
            "label",
            tuple(task["turns"]),
            tuple(task["top"][:SUGGESTIONS]),
            None,
            {"dialogue_id": task["dialogue_id"]},
        )
        for task in read_tasks(source, labels)
    ]
    if not items:
        raise ValueError(f"{source} holds no tasks")
    return Questions([Hit(TASKS, tuple(items))], False, WORKERS["labelling"], labels)


def write_export(source: Path, tool: str, out: Path) -> list[str]:
    """Write the files of a tool to a folder, which is created, and return their names.

    Raises:
        ValueError: the tool is unknown, the source is of no known form, or the folder exists and is not empty.
    """
    made = _known(EXPORTS, tool, "--to")(open_questions(source))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is there already and not empty: give another --out")
    for name, text in made.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(out / name, text)
    return list(made)


def read_import(path: Path, tool: str, source: Path) -> list[HitAnswer]:
    """Return the answers in a tool's export, with pseudonymised workers; of several answers of a worker to a question,
    which was imported twice or answered again, the latest.

    Args:
        path: file or folder of the tool.
        tool: name of the tool.
        source: what was exported to it: the folder of the batch, or the file of tasks.

    Raises:
        ValueError: the tool is unknown, or the file is of another tool or batch or has no answers.
    """
    read, questions = _known(IMPORTS, tool, "--from"), open_questions(source)
    found = list(read(path, questions, alias_of(source if source.is_dir() else source.parent)))
    if not found:
        raise ValueError(f"{path} holds no answers")
    last = {(one.hit, one.item, one.worker): one for one in sorted(found, key=_when)}
    found = [last[key] for key in dict.fromkeys((one.hit, one.item, one.worker) for one in found)]
    items = items_by_id(questions.hits)
    for answer in found:
        check_item(items, answer)
    return found


def _when(answer: HitAnswer) -> str:
    """Return the time of an answer if it can be compared as text; without one, the order of the file counts."""
    return answer.at if answer.at[:4].isdigit() else ""


def write_import(path: Path, tool: str, source: Path, out: Path | None, force: bool = False) -> tuple[Path, int]:
    """Write the answers in a tool's export; return the file and the number of answers read.

    Answers to a batch are added to its `answers.jsonl`, or written to `out`; answers to a file of tasks are written to
    `out` as JSON lines of `task`, `worker`, `label`, `turns`. Raises what `read_import` raises.
    """
    found = read_import(path, tool, source)
    if not source.is_dir() and out is None:
        raise ValueError("--out: name the file that the answers go into")
    if source.is_dir() and out is None:
        out = source / ANSWERED
        answers = read_hit_answers([out]) if out.exists() else HitAnswers()
        last = {(one.hit, one.item, one.worker): one for one in [*answers.given, *found]}
        write_hit_answers(out, HitAnswers(list(last.values()), answers.finished))
        return out, len(found)
    target = check_out_file(out or source, force=force)
    if source.is_dir():
        write_hit_answers(target, HitAnswers(found))
        return target, len(found)
    items = items_by_id(open_questions(source).hits)
    rows = []
    for one in found:
        item = items[one.hit, one.item]
        row = {"task": one.item, "worker": one.worker, "label": one.value or one.typed, "turns": list(item.turns)}
        rows.append(row | {"dialogue_id": item.facts["dialogue_id"]})
    write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return target, len(found)


def _known(tools: Mapping[str, _T], name: str, option: str) -> _T:
    if name not in tools:
        raise ValueError(f"{option} is {name!r}: give one of {', '.join(tools)}")
    return tools[name]
