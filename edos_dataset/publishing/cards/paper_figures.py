"""Figures and citations of the papers. The figures were copied by hand from the tables named; a test adds them up."""

from dataclasses import dataclass

from edos_dataset.version import __version__

EDOS_PAPER = "EDOS (Welivita et al., 2021)"


@dataclass(frozen=True)
class PaperStatistics:
    """Sizes of a dataset as a paper states them; the averages are rounded as in the paper.

    Attributes:
        source: The dataset, paper and table.
        dialogues: Total number.
        turns: Total number.
        tokens: Total number, by the paper's tokenizer, which it does not name.
        turns_per_dialogue: Average.
        tokens_per_dialogue: Average.
        tokens_per_turn: Average.
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
"""All of these."""
STATISTICS = {"edos": (EDOS, OSED, EMPATHETIC_DIALOGUES), "edos_initial": (EDOS, OSED), "os": (OS,)}
"""Config → sizes that the papers state for it. OSED and EDOS are one dataset under two names, whose sizes the papers
state differently.
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
"""Name, labels, dialogues and utterances of dialogue datasets with emotion labels (EDOS paper, Table 2; the same in the
OSED paper).
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
"""Filter → its parameter, and how much of the English books it removes (Table 2 of that paper)."""

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
"""Divergence of the labels of EDOS from those of EmpatheticDialogues (EDOS paper, Section 4.2, which states neither
logarithm nor smoothing nor whether neutral counts); evaluation/label_divergence.py finds the closest variant.
"""

CROWD_TASK = {
    "dialogues": "10,250",
    "labelled by majority vote": "8,913 (86.96 %)",
    "Fleiss' kappa": "0.46",
    "workers with 3 of 5 quiz questions right": "77.75 %",
    "dialogues whose label a worker typed": "425",
}
"""Results of the crowd task (EDOS paper, Table 4)."""

BIBTEX = {
    "edos": """\
@inproceedings{welivita-etal-2021-large,
  title = "A Large-Scale Dataset for Empathetic Response Generation",
  author = "Welivita, Anuradha and Xie, Yubo and Pu, Pearl",
  booktitle = "Proceedings of the 2021 Conference on Empirical Methods in Natural Language Processing",
  year = "2021",
  pages = "1251--1264",
  doi = "10.18653/v1/2021.emnlp-main.96"
}""",
    "responses": """\
@inproceedings{xie-pu-2021-empathetic,
  title = "Empathetic Dialog Generation with Fine-Grained Intents",
  author = "Xie, Yubo and Pu, Pearl",
  booktitle = "Proceedings of the 25th Conference on Computational Natural Language Learning",
  year = "2021"
}""",
    "gutenberg": """\
@inproceedings{csaky-recski-2021-gutenberg,
  title = "The {G}utenberg Dialogue Dataset",
  author = "Csaky, Richard and Recski, G{\\'a}bor",
  booktitle = "Proceedings of the 16th Conference of the European Chapter of the Association for Computational \
Linguistics",
  year = "2021"
}""",
    "opus": """\
@inproceedings{lison-tiedemann-2016-opensubtitles2016,
  title = "{O}pen{S}ubtitles2016: Extracting Large Parallel Corpora from Movie and {TV} Subtitles",
  author = "Lison, Pierre and Tiedemann, J{\\"o}rg",
  booktitle = "Proceedings of the Tenth International Conference on Language Resources and Evaluation (LREC'16)",
  year = "2016"
}""",
}
"""Citations of the papers."""


def citation(*papers: str) -> str:
    """Return the BibTeX entries of papers, keys of BIBTEX, and of this package, as Markdown."""
    package = f"""\
@software{{edos-dataset,
  title = "edos-dataset",
  author = "{{The edos-dataset developers}}",
  version = "{__version__}",
  note = "Turns subtitles into dialogues with emotions and response intents. Apache-2.0"
}}"""
    return "\n".join(["```bibtex", *(BIBTEX[name] for name in papers), package, "```"])
