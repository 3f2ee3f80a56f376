"""What the forms of other tools have in common."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edos_dataset.crowd.hit_answers import GRADES, HitAnswer, Value
from edos_dataset.crowd.hits import Hit, Item

OTHER = "other"
"""The choice for none of the suggested labels."""

PROMPT = "Which emotion or intention does the last turn show?"
JUDGE = "Is each reply emotionally appropriate after what was said before?"


@dataclass(frozen=True)
class Questions:
    """The questions of a batch, each apart, since other tools know no HITs.

    Attributes:
        hits: with their items.
        judging: whether replies are judged.
        workers: different people that a question is given to.
    """

    hits: Sequence[Hit]
    judging: bool
    workers: int

    def each(self) -> Iterable[tuple[str, Item]]:
        """Yield each question with the id of its HIT."""
        return ((hit.id, item) for hit in self.hits for item in hit.items)

    @property
    def most(self) -> int:
        """The most candidate replies that a question has."""
        return max(len(item.choices) for _, item in self.each())


def speakers(item: Item) -> list[tuple[str, str]]:
    """Return the turns with A and B in front, who take turns."""
    return [("AB"[number % 2], turn) for number, turn in enumerate(item.turns)]


def answer_of(
    questions: Mapping[tuple[str, str], Item],
    hit: str,
    item: str,
    worker: str,
    fields: Mapping[str, str],
    **facts: Any,  # noqa: ANN401 - those of HitAnswer
) -> HitAnswer | None:
    """Return the answer that the fields `label` and `other`, or `grade1`, ..., of a tool give; None where they are
    empty.

    Raises:
        ValueError: the batch has no such question, or a grade is none.
    """
    asked = questions.get((hit, item))
    if asked is None:
        raise ValueError(f"no question {item!r} of HIT {hit!r} in the batch; give the one that was exported")
    value: Value
    typed = fields.get("other", "").strip()
    if asked.kind in ("judge", "bonus"):
        grades = tuple(fields.get(f"grade{place}", "").strip().lower() for place in range(1, len(asked.choices) + 1))
        if not any(grades):
            return None
        if strange := [grade for grade in grades if grade not in GRADES]:
            raise ValueError(f"a grade of {item!r} is {strange[0]!r}: expected {', '.join(GRADES)} for every reply")
        return HitAnswer(hit, item, worker, grades, "", **facts)
    label = fields.get("label", "").strip()
    if label and label.lower() != OTHER:
        value, typed = label, ""
    else:
        value = None
    return HitAnswer(hit, item, worker, value, typed, **facts) if value or typed else None
