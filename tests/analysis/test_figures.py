"""The figures of a report against a plain pandas computation over the same rows."""

import numpy as np
import pandas as pd
import pytest

from edos_dataset.commands import report as module
from edos_dataset.commands.report import report
from edos_dataset.labels import LABELS
from edos_dataset.releases.reported import Asked
from edos_dataset.text import tokenize
from reported_folder import dialogues, write_folder

MINE, THEIRS = dialogues(200), dialogues(150, seed=5, labels=33)


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    home = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "plotly_script", lambda: "/* plotly */")
        mine, theirs = (write_folder(home / name, {"train": rows}) for name, rows in (("a", MINE), ("b", THEIRS)))
        return report(Asked(str(mine)), [Asked(str(theirs))], home / "r.html", workers=1, pictures=False)


def turns_of(rows):
    frame = pd.json_normalize(rows, "turns", "dialogue_id")
    frame["place"] = frame.groupby("dialogue_id", sort=False).cumcount()
    frame["tokens"] = frame["text"].map(lambda text: len(tokenize(text)))
    return frame


def test_labels_by_place_lengths_and_transitions(figures):
    frame, first = turns_of(MINE), figures["data"][0]
    table = pd.crosstab(frame["place"].clip(upper=7), frame["label"].fillna(41).astype(int))
    assert first["places"]["turns"] == table.reindex(index=range(8), columns=range(42), fill_value=0).values.tolist()
    tokens = frame["tokens"].value_counts().reindex(range(101), fill_value=0)
    assert first["lengths"]["tokens_of_turn"] == tokens.tolist()
    lengths = frame.groupby("dialogue_id").size().value_counts().reindex(range(51), fill_value=0)
    assert first["lengths"]["turns_of_dialogue"] == lengths.tolist()
    frame["next"] = frame.groupby("dialogue_id", sort=False)["label"].shift(-1)
    pairs = frame.dropna(subset=["label", "next"]).astype({"label": int, "next": int})
    follow = pd.crosstab(pairs["label"], pairs["next"]).reindex(index=range(41), columns=range(41), fill_value=0)
    assert first["transitions"] == follow.values.tolist()


def test_divergence_of_the_labels(figures):
    p, q = (turns_of(rows)["label"].value_counts().reindex(range(41), fill_value=0) for rows in (MINE, THEIRS))
    found = figures["comparisons"][0]
    assert [one["label"] for one in figures["data"][0]["label_turns"]] == list(LABELS)
    smooth, other = ((counts + 0.5) / (counts + 0.5).sum() for counts in (p, q))
    assert found["all"]["kl"] == pytest.approx(float((smooth * np.log(smooth / other)).sum()), abs=1e-4)
    p, q = p / p.sum(), q / q.sum()
    parts = [(each * np.log((each / ((p + q) / 2)).where(each > 0, 1))).sum() for each in (p, q)]
    assert found["all"]["js"] == pytest.approx(sum(parts) / 2, abs=1e-4)
