"""Figures of the papers, to be shown beside our own. Constants, copied by hand from the tables named; a test adds up
what must add up.
"""

from dataclasses import dataclass

EDOS_PAPER = "EDOS (Welivita et al., 2021)"


@dataclass(frozen=True)
class PaperStatistics:
    """Sizes of a data set as a paper states them; the averages are the paper's own and rounded by it.

    Attributes:
        source: the data set, paper and table.
        dialogues: total number.
        turns: likewise.
        tokens: likewise, by the paper's tokenizer, which it does not name.
        turns_per_dialogue: average.
        tokens_per_dialogue: average.
        tokens_per_turn: average.
    """

    source: str
    dialogues: int
    turns: int
    tokens: int
    turns_per_dialogue: float
    tokens_per_dialogue: float
    tokens_per_turn: float


EDOS = PaperStatistics("EDOS (Welivita et al., 2021, Table 3)", 1_000_000, 2_829_426, 39_469_825, 2.83, 39.47, 13.95)
OS = PaperStatistics("OS (Xie & Pu, 2021, Table 1)", 4_010_009, 18_849_440, 312_574_468, 4.70, 77.95, 16.58)
OSED = PaperStatistics("OSED (Xie & Pu, 2021, Table 2)", 1_000_000, 3_488_300, 66_447_274, 3.49, 66.45, 19.05)
EMPATHETIC_DIALOGUES = PaperStatistics(
    "EmpatheticDialogues (Xie & Pu, 2021, Table 3)", 24_850, 107_220, 1_722_602, 4.31, 69.32, 16.07
)

PUBLISHED = (EDOS, OS, OSED, EMPATHETIC_DIALOGUES)
"""All that they state."""
STATISTICS = {"edos": (EDOS, OSED, EMPATHETIC_DIALOGUES), "edos_initial": (EDOS, OSED), "os": (OS,)}
"""Config → what the papers say of the same. OSED and EDOS are one set under two names, whose sizes the papers state
differently.
"""

COMPARED = (
    ("IEMOCAP (Busso et al., 2008)", "5 emotions and neutral", 151, 7_433),
    ("MELD (Poria et al., 2019)", "6 emotions and neutral", 1_433, 13_708),
    ("DailyDialogue (Li et al., 2017)", "6 emotions and neutral", 12_218, 103_607),
    ("EmotionLines (Hsu et al., 2018)", "6 emotions and neutral", 1_000, 14_503),
    ("EmoContext (Chatterjee et al., 2019)", "3 emotions and other", 38_421, 115_263),
    (
        "Twitter customer support (Herzig et al., 2016)",
        "9 emotions of customers, 4 techniques of agents",
        2_413,
        14_078,
    ),
    (
        "EmpatheticDialogues (Rashkin et al., 2018; Welivita and Pu, 2020)",
        "32 emotions, 8 response intents, neutral",
        24_850,
        107_220,
    ),
    ("EDOS, as published", "32 emotions, 8 response intents, neutral", 1_000_000, 3_488_300),
)
"""Name, labels, dialogues and utterances of dialogue data sets with emotion labels (EDOS paper, Table 2; the OSED paper
has the same).
"""

# fmt: off
BY_LABEL = (
    (15_964, 49_285), (13_228, 34_924), (6_637, 30_072), (27_256, 100_433), (2_376, 8_578), (8_634, 46_727),
    (3_401, 14_797), (13_599, 42_806), (26_199, 84_918), (20_688, 64_569), (6_245, 17_539), (5_234, 18_298),
    (5_546, 15_070), (11_541, 32_338), (22_118, 53_756), (8_095, 25_029), (54_647, 169_917), (15_416, 42_222),
    (9_632, 30_043), (21_328, 54_012), (12_867, 25_045), (5_766, 20_902), (6_586, 24_282), (3_662, 16_396),
    (7_880, 20_461), (21_178, 48_883), (13_910, 33_365), (23_023, 66_262), (7_104, 20_715), (16_658, 46_022),
    (9_449, 28_730), (41_650, 134_197), (20_173, 96_562), (39_781, 138_165), (3_024, 10_329), (3_785, 17_256),
    (15_557, 38_774), (42_470, 101_591), (357_255, 841_556), (42_789, 108_668), (7_649, 55_932),
)
# fmt: on
"""Dialogues and turns of each label, by its id (EDOS paper, Table 9). A dialogue counts under the label of its first
turn.
"""

GUTENBERG_PAPER = "The Gutenberg Dialogue Dataset (Csaky & Recski, 2021)"

GUTENBERG_FILTERED = {
    "Pre-filter": ("2 (KL-div)", "2,090 books (4.42 %)"),
    "Delimiter filter": ("150 delimiters / 10,000 words", "20,500 books (43.3 %)"),
    "Long utterances": ("100 words", "610,000 utterances (3.95 %)"),
    "Post-filter": ("20 % rare words", "20,478 dialogues (0.8 %)"),
}
"""Filter → its parameter and what it removes of the English books (Table 2 of that paper)."""

GUTENBERG_SIZES = {
    "en": (14_773_741, 22.17, 2_526_877, 5.85),
    "de": (226_015, 24.44, 43_440, 5.20),
    "nl": (129_471, 24.26, 23_541, 5.50),
    "es": (58_174, 18.62, 6_912, 8.42),
    "it": (41_388, 19.47, 6_664, 6.21),
    "hu": (18_816, 14.68, 2_826, 6.66),
    "pt": (16_228, 21.40, 2_233, 7.27),
}
"""Language → utterances, their mean length in words, dialogues, their mean length in utterances (its Table 3)."""

KL_OF_LABELS = 0.2447
"""Divergence of the labels of EDOS from those of EmpatheticDialogues, without a word on logarithm, smoothing or whether
neutral counts (EDOS paper, Section 4.2); what comes closest to it, evaluation/label_divergence.py tells.
"""

CROWD_TASK = {
    "dialogues": "10,250",
    "labelled by majority vote": "8,913 (86.96 %)",
    "Fleiss' kappa": "0.46",
    "workers with 3 of 5 quiz questions right": "77.75 %",
    "dialogues whose label a worker typed": "425",
}
"""What came of the crowd task (EDOS paper, Table 4)."""
