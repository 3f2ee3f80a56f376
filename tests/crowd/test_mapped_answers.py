"""Answers translated by a label map."""

from edos_dataset.crowd.agreement import measure
from edos_dataset.crowd.answers import Answers, translated
from edos_dataset.label_sets import load_label_map


def test_answers_are_compared_in_the_target():
    answers = Answers()
    task = answers.add_task("1", ["I lost my job."])
    for worker, label in enumerate(("sad", "devastated", "questioning", "heartbroken")):
        answers.add(task, str(worker), label)
    table = {name: None for name in answers.label_set.labels} | {"sad": "bad", "devastated": {"bad": 0.7, "good": 0.3}}
    found = translated(answers, load_label_map(table, answers.label_set))
    assert found.label_set.labels == ("bad", "good")
    assert found.given == ["bad", "bad", "heartbroken"], "what is outside the set stays"
    assert found.worker == ["0", "1", "3"] and list(found.left_out.values()) == [1]
    assert answers.given[1] == "devastated", "the answers given are not changed"
    assert measure(found, "missing")["agreed"] == 1
