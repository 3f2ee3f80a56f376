"""The SVM learns what is to be learned, and the same from the same."""

import numpy as np
import pyarrow as pa
import pytest

from edos_dataset.schema import SENTENCES
from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.svm import FeatureSettings, read_boundaries
from training.turns import svm_fit as training

SMALL = training.FitSettings(features=FeatureSettings(bits=12), rate=2e-3, epochs=6)


def labelled(films=30, sentences=40, seed=0):
    """Return documents in which a turn goes on where both sentences ask, and where neither does; words say nothing."""
    generator = np.random.default_rng(seed)
    rows, labels = [], []
    for film in range(films):
        marks = generator.choice([".", "?"], sentences)
        words = generator.choice(["boat", "river", "stone", "cloud"], sentences)
        goes_on = [-1] + [int(before == mark) for before, mark in zip(marks, marks[1:], strict=False)]
        lines = [
            {
                "id": number,
                "text": f"The {word}{mark}",
                "start": 2.0 * number,
                "end": 2.0 * number + 1.9,
                "first_block": number,
                "last_block": number,
            }
            for number, (word, mark) in enumerate(zip(words, marks, strict=True))
        ]
        source = {"kind": "subtitle", "path": "p", "genres": [["Drama"], ["Comedy"]][film % 2]}
        rows.append(
            {
                "document_id": f"d{film}",
                "film": f"f{film}",
                "language": "en",
                "source": source,
                "reading": {},
                "sentences": lines,
            }
        )
        labels.append(goes_on)
    table = pa.Table.from_pylist(rows, schema=SENTENCES)
    table = table.append_column("same_turn", pa.array(labels, pa.list_(pa.int8())))
    return table.append_column("label_confidence", pa.array([[1.0] * sentences] * films, pa.list_(pa.float32())))


def flat(table, name):
    return table[name].combine_chunks().flatten().to_numpy()


def everything(table):
    return np.ones(len(flat(table, "same_turn")), bool)


def test_learns_a_product_of_features_and_is_calibrated():
    table, unseen = labelled(), labelled(seed=1)
    scorer = training.fit_svm(table, everything(table), SMALL)
    labels, scores = flat(unseen, "same_turn"), scorer.same_turn(unseen)
    known = labels >= 0
    assert ((scores >= 0.5) == (labels == 1))[known].mean() > 0.97
    assert scores[labels == 1].mean() > 0.9 > 0.1 > scores[labels == 0].mean()
    assert scorer.settings.genres == ("Comedy", "Drama")


def test_without_products_it_cannot():
    table, unseen = labelled(), labelled(seed=1)
    groups = ("ngrams", "punctuation")
    accuracies = []
    for chosen in (groups, (*groups, "quadratic")):
        scores = training.fit_svm(
            table, everything(table), training.FitSettings(features=FeatureSettings(chosen, 12), rate=2e-3, epochs=6)
        ).same_turn(unseen)
        labels = flat(unseen, "same_turn")
        accuracies.append(((scores >= 0.5) == (labels == 1))[labels >= 0].mean())
    assert accuracies[0] < 0.8 < 0.97 < accuracies[1]


def test_the_same_data_give_the_same_scorer():
    table = labelled(films=12)
    first, second = (training.fit_svm(table, everything(table), SMALL) for _ in range(2))
    assert first.identity == second.identity


def test_seams_that_are_not_chosen_or_not_labelled_teach_nothing():
    table = labelled(films=12)
    labels = flat(table, "same_turn").copy()
    chosen = np.random.default_rng(0).random(len(labels)) < 0.7
    spoilt = np.where(chosen, labels, 1 - np.abs(labels)).astype(np.int8)
    unknown = np.where(chosen, labels, -1).astype(np.int8)
    lists = [
        pa.ListArray.from_arrays(table["same_turn"].combine_chunks().offsets, pa.array(values))
        for values in (spoilt, unknown)
    ]
    tables = [table.set_column(table.schema.get_field_index("same_turn"), "same_turn", column) for column in lists]
    identities = {
        training.fit_svm(tables[0], chosen, SMALL).identity,
        training.fit_svm(tables[1], everything(table), SMALL).identity,
    }
    assert identities == {training.fit_svm(table, chosen, SMALL).identity}


def test_one_class_is_too_few():
    table = labelled(films=12)
    with pytest.raises(ValueError, match="choose more films"):
        training.fit_svm(table, flat(table, "same_turn") == 1, SMALL)


def test_feature_rows_times_weights_are_the_margins():
    table = labelled(films=4)
    scorer = training.fit_svm(labelled(), everything(labelled()), SMALL)
    boundaries = read_boundaries(read(table, "en"), scorer.settings)
    rows = np.array([1, 2, 17, 41, 79])
    features = training.feature_rows(boundaries, scorer.settings, rows)
    assert features.dtype == np.float32
    assert (features @ scorer.weights.astype(np.float32)).tolist() == scorer.margins(boundaries)[rows].tolist()


def test_versions_of_a_film_are_held_out_together():
    table = labelled(films=12, sentences=3)
    twice = pa.concat_tables([table, table.slice(5, 7)])
    assert training._held_out(twice, 4).reshape(-1, 3).all(axis=1).tolist() == [
        number % 4 == 0 for number in [*range(12), *range(5, 12)]
    ]
