"""One label from many answers: majority with a tie policy, Dawid–Skene, MACE, and soft labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Floats, Ints
from edos_dataset.crowd.answers import Answers
from edos_dataset.crowd.names import MISSING

Method = Literal["majority", "dawid-skene", "mace"]
Ties = Literal["abstain", "first", "random", "soft"]
Repeats = Literal["pool", "own"]
Outside = Literal["own", "other", "missing"]
METHODS: tuple[Method, ...] = get_args(Method)
TIES: tuple[Ties, ...] = get_args(Ties)
REPEATS: tuple[Repeats, ...] = get_args(Repeats)
OUTSIDE: tuple[Outside, ...] = get_args(Outside)
_ALMOST = 1e-9  # probabilities that differ by less are equal


@dataclass(frozen=True)
class Labels:
    """Aggregated labels.

    Attributes:
        labels: [tasks] label ids, MISSING where there is none.
        soft: float32 [tasks, labels], probabilities of the labels; a row of zeros where no answer is in the label set.
    """

    labels: Ints
    soft: Floats


def check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise a ValueError if an option's value is unknown."""
    if value not in known:
        raise ValueError(f"{name} is {value!r}: expected one of {', '.join(known)}")


def categorise(answers: Answers, outside: Outside = "own") -> tuple[Ints, list[str]]:
    """Return the category of each answer, [answers], and the names of the categories, the labels first and in order.

    Args:
        answers: the table.
        outside: how to treat an answer outside the label set: "own", a category for each normalised text; "other",
            one category for all; "missing", as no answer (category MISSING).
    """
    check_choice("outside", outside, OUTSIDE)
    names = {name: label for label, name in enumerate(answers.label_set.labels)}
    categories = []
    for given in answers.given:
        read = answers.read(given)
        if read.label == MISSING and outside != "missing":
            categories.append(names.setdefault(f"outside: {read.text if outside == 'own' else 'any'}", len(names)))
        else:
            categories.append(read.label)
    return np.array(categories, dtype=np.int64), list(names)


def count_answers(answers: Answers, outside: Outside = "own") -> Ints:
    """Return how many answers each task has in each category of `categorise`, [tasks, categories]."""
    categories, names = categorise(answers, outside)
    return tally(answers, categories, len(names))


def tally(answers: Answers, categories: Ints, size: int) -> Ints:
    """Return how many answers each task has in each of `size` categories, [tasks, size].

    `categories` [answers] holds the category of each answer, or MISSING.
    """
    there = categories != MISSING
    cells = np.array(answers.task, dtype=np.int64)[there] * size + categories[there]
    return np.bincount(cells, minlength=len(answers.tasks) * size).reshape(-1, size).astype(np.int64)


def winners(counts: Ints, least_votes: int = 2) -> Ints:
    """Return the category with strictly the most answers, and at least `least_votes`, [tasks]; MISSING where there is
    none.
    """
    most = counts.max(axis=1)
    alone = (counts == most[:, None]).sum(axis=1) == 1
    return np.where(alone & (most >= least_votes), counts.argmax(axis=1), MISSING)


def pool_texts(answers: Answers) -> Answers:
    """Return the answers with tasks of equal text merged under the name of the first.

    A merged task may hold several answers of the same worker. Memory: as the answers.
    """
    first: dict[str, int] = {}
    row_of = []
    kept: list[int] = []
    for row, key in enumerate(answers.keys):
        if key not in first:
            first[key] = len(kept)
            kept.append(row)
        row_of.append(first[key])
    order = sorted(range(len(answers.task)), key=lambda place: row_of[answers.task[place]])
    return Answers(
        tasks=[answers.tasks[row] for row in kept],
        names=[answers.names[row] for row in kept],
        dialogues=[answers.dialogues[row] for row in kept],
        task=[row_of[answers.task[place]] for place in order],
        worker=[answers.worker[place] for place in order],
        given=[answers.given[place] for place in order],
        left_out=dict(answers.left_out),
        label_set=answers.label_set,
    )


def aggregate(
    answers: Answers, method: Method = "majority", ties: Ties = "abstain", least_votes: int = 2, seed: int = 0
) -> Labels:
    """Return one label per task.

    In a majority vote, an answer outside the label set counts like any other: it can prevent a majority, or win, and
    then the task has no label. The models ignore such answers.

    Args:
        answers: the table; use `pool_texts` to merge tasks of equal text.
        method: "majority"; "dawid-skene" (Dawid & Skene, 1979) or "mace" (Hovy et al., 2013), by crowd-kit, which weigh
            workers by their agreement.
        ties: what to do if no category wins, or two labels are equally probable: "abstain", no label; "first", the
            tied label that was answered first; "random", a tied label drawn with `seed`; "soft", no label, but
            `make_seed` keeps the task for its soft label.
        least_votes: the number of answers that a majority needs.
        seed: for random ties and for MACE's restarts.

    Raises:
        ValueError: the method or the policy is unknown.
        ModuleNotFoundError: the method needs crowd-kit, which is not installed.
    """
    check_choice("method", method, METHODS)
    check_choice("ties", ties, TIES)
    size = len(answers.label_set)
    soft = _shares(answers) if method == "majority" else _fitted(answers, method, seed)
    if method == "majority":
        counts = count_answers(answers)
        labels = winners(counts, least_votes)
        best = counts == counts.max(axis=1, keepdims=True)
        best[:, size:] = False
        open_tasks = np.flatnonzero(labels == MISSING)
        labels[labels >= size] = MISSING
    else:
        best = (soft >= soft.max(axis=1, keepdims=True) - _ALMOST) & (soft > 0)
        labels = np.where(best.sum(axis=1) == 1, best.argmax(axis=1), MISSING)
        open_tasks = np.flatnonzero(labels == MISSING)
    if ties in ("first", "random"):
        _break_ties(
            labels,
            best[:, :size],
            open_tasks,
            answers,
            np.random.default_rng(seed) if ties == "random" else None,
        )
    return Labels(labels, soft)


def _break_ties(
    labels: Ints, best: npt.NDArray[np.bool_], open_tasks: Ints, answers: Answers, generator: np.random.Generator | None
) -> None:
    """Give each of these tasks one of its best labels: drawn with the generator, or the first one answered."""
    given: dict[int, list[int]] = {}
    for task, label in zip(answers.task, answers.label.tolist(), strict=True):
        given.setdefault(task, []).append(label)
    for task in open_tasks.tolist():
        candidates = [label for label in dict.fromkeys(given.get(task, [])) if label != MISSING and best[task, label]]
        if candidates:
            labels[task] = candidates[0] if generator is None else generator.choice(sorted(candidates))


def _shares(answers: Answers) -> Floats:
    """Return the fraction of each task's answers that each label has, [tasks, labels]."""
    votes = count_answers(answers, "missing").astype(np.float32)
    shares: Floats = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    return shares


def _fitted(answers: Answers, method: Method, seed: int) -> Floats:
    """Return the label probabilities that a crowd-kit model estimates, [tasks, labels]."""
    try:
        from crowdkit.aggregation import MACE, DawidSkene
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'the method {method!r} needs crowd-kit: pip install "edos-dataset[crowd]"'
        ) from error
    labels = answers.label
    there = np.flatnonzero(labels != MISSING)
    table = pa.table(
        {"task": np.array(answers.task)[there], "worker": np.array(answers.worker)[there], "label": labels[there]}
    ).to_pandas()
    model: Any = DawidSkene(n_iter=100) if method == "dawid-skene" else MACE(random_state=seed)
    with _same_generator():
        probabilities = model.fit_predict_proba(table)
    soft = np.zeros((len(answers.tasks), len(answers.label_set)), dtype=np.float32)
    soft[np.ix_(probabilities.index.to_numpy(), probabilities.columns.to_numpy())] = probabilities.to_numpy()
    return soft


@contextmanager
def _same_generator() -> Iterator[None]:
    """Restore NumPy's global generator afterwards, since crowd-kit seeds and uses it."""
    state = np.random.get_state()
    try:
        yield
    finally:
        np.random.set_state(state)
