"""People's answers as one table `task, worker, label`."""

from dataclasses import dataclass, field

import numpy as np

from edos_dataset.arrays import Ints
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.splits import plain_text


@dataclass
class Answers:
    """Tasks, and who answered what.

    Attributes:
        tasks: [tasks] their names, all different.
        names: [tasks] of the dialogue that each shows; tasks of one dialogue belong together in splits.
        dialogues: [tasks] the turns shown, oldest first, the last one to be labelled; empty where the file has no text.
        stated: [tasks] the label that the file itself calls agreed, "" where it gives none; empty where it has no such
            column.
        task: [answers] index of the task.
        worker: [answers].
        given: [answers] the answer as it stands in the file; blank ones are not in the table.
        label: [answers] id of the label, MISSING for an answer that is none of the 41.
        left_out: rejected assignments, and second answers of a worker to a task, by reason.
    """

    tasks: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    dialogues: list[list[str]] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    task: list[int] = field(default_factory=list)
    worker: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin the indices by which rows are added."""
        self._rows: dict[str, int] = {name: row for row, name in enumerate(self.tasks)}
        self._seen = set(zip(self.task, self.worker, strict=True))

    @property
    def label(self) -> Ints:
        """[answers] as above."""
        return np.array([read_answer(given).label for given in self.given], dtype=np.int64)

    @property
    def keys(self) -> list[str]:
        """[tasks] the words of the whole dialogue, by which equal texts are found; the task's name where it has no
        text.
        """
        return [
            "text " + plain_text(" ".join(turns)) if turns else "task " + task
            for task, turns in zip(self.tasks, self.dialogues, strict=True)
        ]

    def add_task(self, task: str, turns: list[str], name: str = "") -> int:
        """Return the index of a task, which is added if it is new; one without a text takes the text that comes later.

        Raises:
            ValueError: it has been there with another text.
        """
        if task not in self._rows:
            self._rows[task] = len(self.tasks)
            self.tasks.append(task)
            self.names.append(name or task)
            self.dialogues.append(turns)
        row = self._rows[task]
        self.dialogues[row] = self.dialogues[row] or turns
        if turns and turns != self.dialogues[row]:
            raise ValueError(
                f"task {task!r} comes with two texts, first {self.dialogues[row][-1][:40]!r}, then {turns[-1][:40]!r}; "
                "give the tasks different names"
            )
        return row

    def add(self, row: int, worker: str, given: str) -> None:
        """Add an answer to the task of an index, unless it is blank or the worker has answered before."""
        if not read_answer(given).text:
            return
        if (row, worker) in self._seen:
            self.leave_out("second answer of a worker")
            return
        self._seen.add((row, worker))
        self.task.append(row)
        self.worker.append(worker)
        self.given.append(given)

    def leave_out(self, reason: str) -> None:
        """Count something that is not in the table."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


def repeated_texts(answers: Answers, won: Ints) -> dict[str, int]:
    """Count texts that come in several tasks: how many `texts`, in how many `tasks`, and how many texts have
    `conflicting` agreed labels.

    Args:
        answers: the table.
        won: [tasks] the agreed category, MISSING where there is none.
    """
    labels: dict[str, list[int]] = {}
    for key, winner in zip(answers.keys, won.tolist(), strict=True):
        labels.setdefault(key, []).append(winner)
    repeated = [own for own in labels.values() if len(own) > 1]
    return {
        "texts": len(repeated),
        "tasks": sum(map(len, repeated)),
        "conflicting": sum(len(set(own) - {MISSING}) > 1 for own in repeated),
    }
