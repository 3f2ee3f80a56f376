"""The figures of a report against a plain pandas computation over the same rows."""

import numpy as np
import pandas as pd
import pytest

from edos_dataset.analysis import figures as figures_of_data
from edos_dataset.commands.report import report
from edos_dataset.labels import EMOTIONS, INTENTS, LABELS, NEUTRAL
from edos_dataset.releases.reported import Asked
from edos_dataset.text import tokenize
from reported_folder import dialogues, write_folder

MINE, THEIRS = dialogues(200), dialogues(150, seed=5, labels=33)


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    home = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures_of_data, "_TURNS_OF_FILM", 20)
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


def test_sizes_labels_and_kinds(figures):
    frame, first = turns_of(MINE), figures["data"][0]
    sizes = {"dialogues": len(MINE), "turns": len(frame), "tokens": int(frame["tokens"].sum())}
    films = pd.Series([row["document_id"] for row in MINE]).dropna().value_counts()
    ratios = {"turns_a_dialogue": len(frame) / 200, "tokens_a_turn": sizes["tokens"] / len(frame)}
    assert first["sizes"].items() >= {**sizes, "films": len(films), "splits": {"train": sizes}}.items()
    assert all(first["sizes"][name] == pytest.approx(value, abs=1e-4) for name, value in ratios.items())
    turns = frame["label"].value_counts().reindex(range(41), fill_value=0)
    begun = frame[frame["place"] == 0]["label"].value_counts().reindex(range(41), fill_value=0)
    sure = frame.groupby("label")["confidence"].mean().reindex(range(41))
    for label, row in enumerate(first["label_turns"]):
        assert (row["turns"], row["dialogues"]) == (turns[label], begun[label])
        assert row["share"] == pytest.approx(turns[label] / turns.sum(), abs=1e-6)
        assert row["confidence"] == pytest.approx(sure[label], abs=1e-4)
        assert row["interval"][0] <= row["share"] <= row["interval"][1]
    named = frame["label"].dropna().map(lambda label: LABELS[int(label)])
    kinds = [int(named.isin(names).sum()) for names in (EMOTIONS, INTENTS, [NEUTRAL])]
    assert list(first["kinds"].values()) == [*kinds, int(frame["label"].isna().sum())]


def test_flow_and_surprising_pairs(figures):
    frame, first = turns_of(MINE), figures["data"][0]
    by_dialogue = frame.groupby("dialogue_id", sort=False)["label"]
    frame["first"], frame["next"] = by_dialogue.transform(lambda labels: labels.iloc[0]), by_dialogue.shift(-1)
    pairs = frame.dropna(subset=["label", "next"])
    flow = pairs[pairs["place"] < 3].dropna(subset=["first"]).groupby(["place", "label", "next"]).size()
    assert {tuple(link[:3]): link[3] for link in first["flow"]["all"]} == flow.to_dict()
    begin = pairs[(pairs["place"] < 3) & (pairs["first"] == 7)].groupby(["place", "label", "next"]).size()
    assert {tuple(link[:3]): link[3] for link in first["flow"]["by_first"][7]} == begin.to_dict()
    for pair in first["surprising"]:
        before, after = LABELS.index(pair["before"]), LABELS.index(pair["after"])
        count = int(((pairs["label"] == before) & (pairs["next"] == after)).sum())
        expected = (pairs["label"] == before).sum() * (pairs["next"] == after).sum() / len(pairs)
        assert pair["count"] == count and pair["expected"] == pytest.approx(expected, abs=0.01)
        assert pair["lift"] == pytest.approx(count / expected, abs=0.001)


def test_confidence_certainty_years_and_films(figures):
    frame, first = turns_of(MINE), figures["data"][0]

    def binned(values):
        bins = pd.Series(values, dtype="float64").dropna().astype("float32").astype("float64") * 20
        return bins.astype(int).clip(upper=19).value_counts().reindex(range(20), fill_value=0).tolist()

    assert first["confidence"]["turns"] == binned(frame["confidence"].dropna())
    assert first["confidence"]["by_label"][3] == binned(frame[frame["label"] == 3]["confidence"])
    assert first["confidence"]["mean"] == pytest.approx(frame["confidence"].mean(), abs=1e-4)
    assert first["certainty"] == binned([row["certainty"] for row in MINE])
    assert first["boundaries"] == binned([turn["certainty"] for row in MINE for turn in row["turns"]])
    rows = pd.DataFrame({"year": [row["source"]["year"] for row in MINE], "film": [row["document_id"] for row in MINE]})
    years = rows["year"].value_counts().to_dict()
    assert {one["year"]: one["dialogues"] for one in first["years"] if one["year"]} == years
    frame["film"] = frame["dialogue_id"].map({row["dialogue_id"]: row["document_id"] for row in MINE})
    of_all = frame["label"].value_counts(normalize=True)
    assert len(first["films"]["unlike_all"]) == 20
    for one in first["films"]["unlike_all"]:
        labels = frame[frame["film"] == one["film"]]["label"].dropna()
        p = labels.value_counts(normalize=True)
        assert one["turns"] == len(labels) >= 20
        assert one["kl"] == pytest.approx(float((p * np.log(p / of_all[p.index])).sum()), abs=1e-4)
    sizes = sorted(rows["film"].value_counts())
    assert first["films"]["dialogues_a_film"].items() >= {"least": sizes[0], "most": sizes[-1]}.items()


def test_comparison_of_first_turns_without_neutral_and_by_chi_squared(figures):
    from scipy.stats import chi2_contingency

    found, frames = figures["comparisons"][0], [turns_of(MINE), turns_of(THEIRS)]
    for name, chosen in (
        ("all", frames),
        ("without_neutral", [frame[frame["label"] != 40] for frame in frames]),
        ("first_turn", [frame[frame["place"] == 0] for frame in frames]),
    ):
        table = pd.DataFrame([each["label"].value_counts().reindex(range(41), fill_value=0) for each in chosen])
        labels = table.columns != 40 if name == "without_neutral" else slice(None)
        p, q = ((counts + 0.5) / (counts + 0.5).sum() for counts in table.loc[:, labels].to_numpy())
        assert found[name]["kl"] == pytest.approx(float((p * np.log(p / q)).sum()), abs=1e-4)
        test = chi2_contingency(table.loc[:, table.sum() > 0], correction=False)
        assert found[name]["chi_squared"]["statistic"] == pytest.approx(test.statistic, abs=0.1)
        assert found[name]["chi_squared"]["freedom"] == test.dof
        for figure in ("kl", "js", "v", "chi_squared"):
            low, high = found[name]["intervals"][figure]
            assert 0 < low < high
