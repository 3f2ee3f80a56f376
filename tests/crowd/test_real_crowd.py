"""The crowd's real answers, as answers to HITs: the same labels and agreement as of the authors' file."""

import os
from pathlib import Path

import pytest

from edos_dataset.crowd.aggregation import aggregate, count_answers
from edos_dataset.crowd.agreement import fleiss_kappa, krippendorff_alpha
from edos_dataset.crowd.answers import read_answers
from edos_dataset.crowd.batches import Batch, write_batch
from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers, write_hit_answers
from edos_dataset.crowd.hits import label_hits, read_quiz
from edos_dataset.crowd.names import MISSING, TYPED, read_answer
from edos_dataset.crowd.quality import QualityRules, discarded, worker_rows, worker_rows_of_table
from edos_dataset.labels import LABELS

DATA = Path(os.environ.get("EDOS_DATA_DIR", "/nowhere")) / "edos_amt" / "mturk_groundtruth_labels.csv"


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="EDOS_DATA_DIR has no answers of the crowd")
def test_real_answers_through_hits(tmp_path):
    real = read_answers(DATA)
    of_task = [[] for _ in real.tasks]
    for task, worker, given in zip(real.task, real.worker, real.given, strict=True):
        of_task[task].append((worker, given))
    tasks = []
    for name, turns, dialogue, own in zip(real.tasks, real.dialogues, real.names, of_task, strict=True):
        labels = [read_answer(given).label for _, given in own]
        top = [*dict.fromkeys([LABELS[label] for label in labels if label != MISSING]), *LABELS][:3]
        tasks.append({"task": name, "dialogue_id": dialogue, "turns": turns, "label": top[0], "top": top})
    batch = Batch("labelling", label_hits(tasks, read_quiz()))
    places = {item.id: (hit, item) for hit in batch.hits for item in hit.items}
    given = []
    for name, own in zip(real.tasks, of_task, strict=True):
        hit, item = places[name]
        for worker, text in own:
            picked = LABELS[read_answer(text).label] if read_answer(text).way == "exact" else None
            answer = (picked, "") if picked else (None, TYPED.sub("", text))
            given.append(HitAnswer(hit.id, item.id, worker, *answer, 12.0))
    write_batch(tmp_path / "batch", batch)
    write_hit_answers(tmp_path / "batch" / "answers.jsonl", HitAnswers(given))

    back = read_answers(tmp_path / "batch" / "answers.jsonl")
    assert len(back.tasks) == len(real.tasks) and len(back.task) == len(real.task) > 25_000
    mine, theirs = (dict(zip(table.tasks, aggregate(table).labels.tolist(), strict=True)) for table in (back, real))
    assert mine == theirs
    counts = [count_answers(table) for table in (back, real)]
    assert fleiss_kappa(counts[0]) == pytest.approx(fleiss_kappa(counts[1]), abs=1e-12)
    assert krippendorff_alpha(counts[0]) == pytest.approx(krippendorff_alpha(counts[1]), abs=1e-12)

    rules = QualityRules()
    rows = worker_rows(batch.hits, HitAnswers(given), rules)
    assert [(row.worker, row.items, pytest.approx(row.agreement)) for row in rows] == [
        (row.worker, row.items, row.agreement) for row in worker_rows_of_table(real, rules)
    ]
    assert discarded(batch.hits, HitAnswers(given), rules) == {}
