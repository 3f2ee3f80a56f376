"""The 41 labels of EDOS: 32 emotions, 8 response intents and neutral.

The id order is that of the authors' files (EDOS paper, Table 9; id 0 is "afraid", id 40 "neutral"). No other module may write a label name.
"""

EMOTIONS: tuple[str, ...] = (
    "afraid",
    "angry",
    "annoyed",
    "anticipating",
    "anxious",
    "apprehensive",
    "ashamed",
    "caring",
    "confident",
    "content",
    "devastated",
    "disappointed",
    "disgusted",
    "embarrassed",
    "excited",
    "faithful",
    "furious",
    "grateful",
    "guilty",
    "hopeful",
    "impressed",
    "jealous",
    "joyful",
    "lonely",
    "nostalgic",
    "prepared",
    "proud",
    "sad",
    "sentimental",
    "surprised",
    "terrified",
    "trusting",
)
"""The emotions of EmpatheticDialogues, ids 0 to 31."""

INTENTS: tuple[str, ...] = (
    "agreeing",
    "acknowledging",
    "encouraging",
    "consoling",
    "sympathizing",
    "suggesting",
    "questioning",
    "wishing",
)
"""The response intents of the EDOS taxonomy, ids 32 to 39."""

NEUTRAL = "neutral"
"""The label of a turn that shows neither, id 40."""

LABELS: tuple[str, ...] = (*EMOTIONS, *INTENTS, NEUTRAL)
"""All 41 names; a label's id is its index."""

GROUPS: dict[str, tuple[str, ...]] = {
    "fear": ("terrified", "afraid", "anxious", "apprehensive"),
    "anger": ("furious", "angry", "annoyed", "disgusted", "jealous"),
    "sadness": ("devastated", "sad", "disappointed", "lonely"),
    "shame": ("ashamed", "embarrassed", "guilty"),
    "memory": ("nostalgic", "sentimental"),
    "closeness": ("caring", "faithful", "trusting", "grateful"),
    "outlook": ("hopeful", "anticipating", "prepared", "confident"),
    "joy": ("proud", "content", "joyful", "excited"),
    "wonder": ("impressed", "surprised"),
    "intents": INTENTS,
    NEUTRAL: (NEUTRAL,),
}
"""The labels by kinship, neighbours side by side; each is in one group. Ours, for reports: the papers name none."""

LABEL_IDS: dict[str, int] = {name: index for index, name in enumerate(LABELS)}
"""Name to id, 0 to 40."""


def parse_label(name: str) -> int:
    """Return the id (0 to 40) of a label name, whatever its case and surrounding blanks.

    Raises:
        ValueError: the name is not one of the 41.
    """
    key = name.strip().lower()
    if key not in LABEL_IDS:
        raise ValueError(f"unknown label {name!r}: expected one of {', '.join(LABELS)}")
    return LABEL_IDS[key]
