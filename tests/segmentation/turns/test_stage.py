"""Sentences become turns: the file's own marks decide, the rules weigh the rest."""

import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edos_dataset.arrays import nest, unnest
from edos_dataset.runs.pipeline import count_units
from edos_dataset.schema import LINE, SENTENCES, TURNS
from edos_dataset.segmentation.turns import stage as turns
from edos_dataset.segmentation.turns.rules import RuleScorer
from edos_dataset.segmentation.turns.stage import SegmentTurns


def sentences_table(*documents: list[str]) -> pa.Table:
    """Make documents of blocks; sentences of a block are parted by "|", "- " is a dash and "@NAME " a speaker; blocks
    are a tenth of a second apart.
    """
    rows = []
    lengths = []
    for blocks in documents:
        before = len(rows)
        for number, block in enumerate(blocks):
            for sentence in block.split("|"):
                speaker, _, spoken = sentence[1:].partition(" ") if sentence.startswith("@") else (None, "", sentence)
                start = number * 2.0
                rows.append(
                    (
                        len(rows) - before + 1,
                        spoken.removeprefix("- "),
                        start,
                        start + 1.9,
                        number,
                        number,
                        spoken.startswith("- "),
                        speaker,
                    )
                )
        lengths.append(len(rows) - before)
    offsets = [sum(lengths[:stop]) for stop in range(len(lengths) + 1)]
    names = [field.name for field in LINE][: len(rows[0]) if rows else None]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    base = {
        "document_id": [f"d{index}" for index in range(len(documents))],
        "film": ["f"] * len(documents),
        "language": ["en"] * len(documents),
        "source": [{"kind": "opus", "path": "p", "genres": []}] * len(documents),
        "reading": [{}] * len(documents),
    }
    return pa.table({**base, "sentences": nest(offsets, LINE, columns)}, schema=SENTENCES)


def texts(*blocks: str) -> list[str]:
    """Return the texts of the turns of a document."""
    return [
        turn["text"] for turn in SegmentTurns(scorer="rules")(sentences_table(list(blocks)))["turns"].to_pylist()[0]
    ]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (["- Hello.|- Who is it?"], ["Hello.", "Who is it?"]),
        (["Come in.|Sit down."], ["Come in. Sit down."]),
        (["- Come in.|Sit down.|- No."], ["Come in. Sit down.", "No."]),
        (["I was there.", "- I know."], ["I was there.", "I know."]),
        (["Where were you?", "At the lake."], ["Where were you?", "At the lake."]),
        (["I was there.", "No, you weren't."], ["I was there.", "No, you weren't."]),
        (["I was there,", "and you were not."], ["I was there, and you were not."]),
        (["I was there...", "...and you were not."], ["I was there and you were not."]),
        (["I was there…", "… and you were not."], ["I was there and you were not."]),
        (["I was at the lake.", "And I saw a boat."], ["I was at the lake. And I saw a boat."]),
        (["It was cold.", "Um...", "The boat sank."], ["It was cold.", "Um... The boat sank."]),
        (["@TOM I was there.|@NORA So was I."], ["I was there.", "So was I."]),
        (["@TOM I was there.", "@TOM No, really."], ["I was there. No, really."]),
        (["@TOM I was there.", "Really?", "@TOM Yes, I was."], ["I was there.", "Really?", "Yes, I was."]),
        (["And so", "@TOM and so on."], ["And so", "and so on."]),
    ],
)
def test_sentences_become_turns(blocks: list[str], expected: list[str]) -> None:
    """Dashes, names, questions, answers and continuation."""
    assert texts(*blocks) == expected


def test_turns_know_their_times_and_sentences() -> None:
    """Start of the first and end of the last sentence, null where that is null."""
    table = sentences_table(["I was there,", "and you were not.", "- I know."], ["Alone."])
    flat, offsets = unnest(table, "sentences")
    rows = flat.to_pylist()
    rows[1]["end"] = rows[2]["start"] = None
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(rows, LINE))
    result = SegmentTurns(scorer="rules")(
        table.set_column(table.column_names.index("sentences"), SENTENCES.field("sentences"), lists)
    )
    assert result.schema.equals(TURNS)
    known = ("text", "start", "end", "sentence_ids")
    assert [[{name: turn[name] for name in known} for turn in turns] for turns in result["turns"].to_pylist()] == [
        [
            {"text": "I was there, and you were not.", "start": 0.0, "end": None, "sentence_ids": [1, 2]},
            {"text": "I know.", "start": None, "end": 5.9, "sentence_ids": [3]},
        ],
        [{"text": "Alone.", "start": 0.0, "end": 1.9, "sentence_ids": [1]}],
    ]


def test_scores_are_probabilities_and_unknown_for_the_first_of_a_document() -> None:
    """The interface that a learned scorer fills too."""
    scores = RuleScorer().same_turn(sentences_table(["I was there,", "and you were not."], ["Hello?|Hm."]))
    assert scores.dtype == np.float32
    assert np.isnan(scores).tolist() == [True, False, True, False]
    assert ((scores[[1, 3]] > 0.5) & (scores[[1, 3]] <= 1)).all()


def test_rules_weigh_more_evidence_higher() -> None:
    """Each change of one mark moves the score the way that it should."""

    def score(first: str, second: str) -> float:
        # Sentences with marks before and after, as a mark that half of a document lacks says nothing there.
        return float(
            RuleScorer().same_turn(sentences_table(["Well.", "Well.", "Well.", first, second, "Well.", "Well."]))[4]
        )

    plain = score("It rained a lot there.", "Boats sank in that storm.")
    assert score("It rained a lot there?", "Boats sank in that storm.") < plain
    assert score("It rained a lot there...", "Boats sank in that storm.") > plain
    assert score("It rained a lot there,", "Boats sank in that storm.") > plain
    assert score("It rained a lot there.", "boats sank in that storm.") > plain
    assert score("It rained a lot there.", "No, boats sank in that storm.") < plain
    assert score("It rained a lot there.", "But boats sank in that storm.") > plain
    assert score("It rained a lot there.", "- Boats sank in that storm.") < plain
    assert score("I was there in the rain.", "I saw boats sink in it.") > plain
    assert score("You were there in the rain.", "I saw boats sink in it.") < plain


def test_missing_full_stops_say_nothing_where_nobody_sets_them() -> None:
    """Else a file without punctuation would be one single turn."""
    blocks = ["Boats sank there", "Good people drowned", "Nobody went home", "Hats swam about", "Time went by"]
    with_stops = [f"{block}." for block in blocks]
    scores = RuleScorer().same_turn(sentences_table(blocks, with_stops))
    assert scores[1:5].tolist() == scores[6:].tolist()


def test_the_threshold_moves_what_the_file_leaves_open_and_nothing_else() -> None:
    """At 0 only marks part; at 1 every sentence is a turn but those of one name."""
    table = sentences_table(["One thing.", "No, two.|Or three.", "- Four.|- Five.", "@TOM Six.", "@TOM Seven."])
    loose = [len(turn["sentence_ids"]) for turn in SegmentTurns(threshold=0.0)(table)["turns"].to_pylist()[0]]
    assert loose == [4, 1, 2]
    strict = [len(turn["sentence_ids"]) for turn in SegmentTurns(threshold=1.0)(table)["turns"].to_pylist()[0]]
    assert strict == [1, 1, 1, 1, 1, 2]


@dataclass(frozen=True)
class Pairs:
    """A scorer that joins every second sentence to the one before."""

    made: ClassVar[int] = 0
    languages: tuple[str, ...] | None = None
    identity: str = "weights"

    def __post_init__(self) -> None:
        Pairs.made += 1

    def same_turn(self, table: pa.Table) -> np.ndarray:
        parts = [
            (np.arange(length) % 2).astype(np.float32)
            for length in pc.list_value_length(table["sentences"]).to_pylist()
        ]
        for part in parts:
            part[:1] = np.nan
        return np.concatenate([np.zeros(0, np.float32), *parts])


def test_another_scorer_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, made once and not before it is needed; decisions are the stage's."""
    monkeypatch.setitem(turns.SCORERS, "pairs", lambda: Pairs())
    before = Pairs.made
    stage = SegmentTurns(scorer="pairs")
    stage = pickle.loads(pickle.dumps(stage))
    assert Pairs.made == before
    result = stage(sentences_table(["a", "b", "c", "d"]))
    assert [turn["text"] for turn in result["turns"].to_pylist()[0]] == ["a b", "c d"]
    assert stage(sentences_table(["a", "b"])).num_rows == Pairs.made - before == 1


def test_other_weights_are_another_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a run would serve the turns that the old ones made."""

    def fingerprint(identity: str) -> str:
        monkeypatch.setitem(turns.SCORERS, "pairs", lambda: Pairs(identity=identity))
        return SegmentTurns(scorer="pairs").fingerprint()

    assert fingerprint("one") == fingerprint("one") != fingerprint("other")


@pytest.mark.parametrize(
    ("languages", "learned"),
    [(None, "111"), (("en",), "101"), (("de", "hu"), "010"), (("it",), "000")],
)
def test_the_rules_score_what_the_scorer_cannot(
    languages: tuple[str, ...] | None, learned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Document by document, also between others; one that names no language is English."""
    monkeypatch.setitem(turns.SCORERS, "pairs", lambda: Pairs(languages))
    table = sentences_table(
        ["I was there.", "And so on.", "Nobody knew."],
        ["Ich war da.", "Und so weiter."],
        ["One.", "Two.", "But three.", "Or four."],
    )
    table = table.set_column(
        table.column_names.index("language"), SENTENCES.field("language"), pa.array(["en_GB", "de", None])
    )
    stage = SegmentTurns(scorer="pairs", others="rules")
    scorers = [Pairs() if sign == "1" else RuleScorer() for sign in learned]
    expected = np.concatenate([scorer.same_turn(table.slice(row, 1)) for row, scorer in enumerate(scorers)])
    assert np.array_equal(stage.score(table), expected, equal_nan=True)
    assert stage.score(table).dtype == np.float32


def test_marks_score_documents_of_all_languages_each_in_its_own() -> None:
    """German capitalises nouns, so that they are no names there."""
    german = ["Ist das Haus schön?", "Das Haus ist alt.", "Wer wohnt im Haus?", "Niemand."]
    table = sentences_table(german, ["Qui est là ?", "Moi."], german)
    languages = pa.array(["de", "fr", None])
    table = table.set_column(table.column_names.index("language"), SENTENCES.field("language"), languages)
    scores = SegmentTurns(scorer="scripts").score(table)
    marks = turns.load_scorer("marks")
    assert marks.languages is None
    assert np.array_equal(scores[:6], marks.same_turn(table.slice(0, 2)), equal_nan=True)
    assert np.array_equal(scores[:4], marks.same_turn(table.slice(0, 1)), equal_nan=True)
    assert np.isnan(scores[[0, 4, 6]]).all() and not np.isnan(np.delete(scores, [0, 4, 6])).any()
    assert not np.array_equal(marks.same_turn(table)[:4], marks.same_turn(table)[6:], equal_nan=True)


def test_the_scorer_of_other_languages_knows_all() -> None:
    with pytest.raises(ValueError, match="others is 'blend', which does not know all languages: give 'marks' or"):
        SegmentTurns(others="blend").check()
    assert SegmentTurns(others="rules").fingerprint() != SegmentTurns().fingerprint()


def test_the_stage_parts_where_it_says_that_turns_begin() -> None:
    """`begins` is the whole decision, so whoever shows single sentences shows the stage's turns."""
    table = sentences_table(
        ["One thing.", "No, two.|Or three.", "- Four.|- Five.", "@TOM Six.", "@TOM Seven."], [], ["Alone."]
    )
    begins = SegmentTurns().begins(table, SegmentTurns().score(table))
    firsts = [turn["sentence_ids"][0] for document in SegmentTurns()(table)["turns"].to_pylist() for turn in document]
    ids = unnest(table, "sentences")[0].field("id").to_numpy()
    assert ids[begins].tolist() == firsts
    assert begins.dtype == bool


@dataclass(frozen=True)
class Given:
    """A scorer that gives these scores to one document."""

    scores: tuple[float, ...]
    languages: ClassVar[tuple[str, ...] | None] = None
    identity: ClassVar[str] = ""

    def same_turn(self, table: pa.Table) -> np.ndarray:
        return np.array([np.nan, *self.scores], np.float32)


def test_turns_say_how_sure_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the boundary before each, and that one person says all; marks of the file are surer than scores, whatever
    these say. With a least certainty a turn also ends where it may go on.
    """
    blocks = ["One.", "Two.", "Three.", "Four.|- Five.", "@TOM Six.", "Seven."]
    monkeypatch.setitem(turns.SCORERS, "given", lambda: Given((0.9, 0.6, 0.2, 0.7, 0.5, 0.8)))

    def sure(least: float) -> list[tuple[int, float | None, float]]:
        stage = SegmentTurns(scorer="given", least_certainty=least)
        (document,) = stage(sentences_table(blocks))["turns"].to_pylist()
        return [
            (len(turn["sentence_ids"]), turn["new_speaker"], pytest.approx(turn["one_speaker"])) for turn in document
        ]

    assert sure(0.0) == [
        (3, None, 0.9 * 0.6),
        (1, pytest.approx(0.8), 1),
        (1, pytest.approx(0.98), 1),
        (2, pytest.approx(0.98), 0.8),
    ]
    assert sure(0.7)[:2] == [(2, None, 0.9), (1, pytest.approx(0.4), 1)]
    assert sure(0.85)[-1] == (1, pytest.approx(0.2), 1)


def test_wrong_parameters_are_refused() -> None:
    """The message names the value and what there is."""
    with pytest.raises(ValueError, match="'psychic'; there is rules, svm"):
        SegmentTurns(scorer="psychic")
    with pytest.raises(ValueError, match="threshold is 50"):
        SegmentTurns(threshold=50)
    with pytest.raises(ValueError, match="least_certainty is -1"):
        SegmentTurns(least_certainty=-1)


def test_no_documents() -> None:
    """An empty batch passes."""
    assert SegmentTurns()(sentences_table()).num_rows == 0


PIECES = [
    "Where?",
    "No.",
    "- Yes.|- No!",
    "...and so on...",
    "@TOM Hm.",
    "and then",
    "I know you.|You do?",
    "Ja, klar.",
]


@settings(max_examples=50)
@given(st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), min_size=1, max_size=5), st.integers(0, 5))
def test_no_sentence_is_lost_and_batches_do_not_matter(documents: list[list[str]], cut: int) -> None:
    """Every sentence is in one turn, in order; any split of the rows gives the same table."""
    table = sentences_table(*documents)
    whole = SegmentTurns()(table)
    assert count_units(whole, "sentences") == count_units(table, "sentences")
    for before, after in zip(table["sentences"].to_pylist(), whole["turns"].to_pylist(), strict=True):
        assert [number for turn in after for number in turn["sentence_ids"]] == [sentence["id"] for sentence in before]
    parts = pa.concat_tables([SegmentTurns()(table.slice(0, cut)), SegmentTurns()(table.slice(cut))])
    assert parts.to_pylist() == whole.to_pylist()
