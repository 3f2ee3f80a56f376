"""From dialogues to a batch of HITs: what `edos crowd hits` does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from edos_dataset.crowd.batches import BONUS, REWARD, WORKERS, Batch, Task
from edos_dataset.crowd.hit_sources import join_answers, read_evaluation, read_judged_dialogues, read_quiz, read_tasks
from edos_dataset.crowd.hits import judge_hits, label_hits
from edos_dataset.crowd.json_lines import read_objects
from edos_dataset.runs.fingerprints import hash_json


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
) -> Batch:
    """Return the HITs of a source.

    Args:
        sources: one file or folder, or several files as MODEL=FILE, as of `edos crowd hits`.
        kind: "labelling" or "judging"; by default what the source holds.
        quiz: as of `read_quiz`.
        rows: as of `read_evaluation`.
        seed: as of `label_hits` and `judge_hits`, and so are the next two, by default the papers'.
        size: dialogues a HIT.
        checks: quiz questions or bonus tasks a HIT.
        workers: that each HIT is given to; by default the papers' number.
        reward: US dollars a HIT.
        bonus: US dollars for a HIT well done.

    Raises:
        ValueError: the sources are of no known form, do not fit the kind, or lack something.
    """
    found: Task = "judging" if len(sources) > 1 or _is_judged(sources[0]) else "labelling"
    if kind not in (None, found):
        raise ValueError(
            f"kind is {kind!r}, and {sources[0]} is for {found!r}"
            if kind in get_args(Task)
            else f"kind is {kind!r}: give one of {', '.join(get_args(Task))}"
        )
    paid: dict[str, Any] = {"workers": workers or WORKERS[found], "reward": reward, "bonus": bonus, "seed": seed}
    if found == "labelling":
        if rows:
            raise ValueError(f"{sources[0]} holds dialogues to label, which have no rows: leave --row out")
        tasks, questions = read_tasks(Path(sources[0])), read_quiz(quiz)
        hits = label_hits(tasks, questions, seed, size or 15, 5 if checks is None else checks)
        return Batch(found, hits, input=hash_json([tasks, questions]), **paid)
    if quiz is not None:
        raise ValueError("a quiz is for dialogues to label, and these are to be judged: leave --quiz out")
    judged = _read_judged(sources, rows)
    return Batch(
        found, judge_hits(judged, seed, size or 10, 3 if checks is None else checks), input=hash_json(judged), **paid
    )


def _is_judged(source: str) -> bool:
    path = Path(source)
    if path.is_dir() or ("=" in source and not path.exists()):
        return True
    first = next(read_objects(path, "an object"), (0, dict[str, Any]()))[1]
    return "answers" in first


def _read_judged(sources: Sequence[str], rows: Sequence[str]) -> list[dict[str, Any]]:
    path = Path(sources[0])
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
    return join_answers({name: Path(file) for name, _, file in named})
