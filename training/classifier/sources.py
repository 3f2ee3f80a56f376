"""What a classifier learns from beside its task's own examples."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from edos_dataset.crowd.splits import plain_text
from edos_dataset.labels import EMOTIONS
from edos_dataset.releases.conversations import read_conversations
from edos_dataset.releases.raw import Reject, Row, read_extension
from training.classifier.recipe import ClassifierRecipe
from training.examples import Examples, labelled_last, read_crowd, read_frequent, read_weak, single_turns

SELF_LABELLED = "edos_amt/self_labeled_dialogs.csv"
FREQUENT = Path(__file__).parents[1] / "recipes" / "minilm" / "frequent_turns.yaml"
CONVERSATIONS = tuple(f"empathetic_dialogues/unannotated/{emotion}.csv" for emotion in EMOTIONS)
ANNOTATED = tuple(f"empathetic_dialogues/annotated/{emotion}.csv" for emotion in EMOTIONS)


def further_sources(recipe: ClassifierRecipe, folder: Path, held_texts: set[str]) -> dict[str, tuple[float, Examples]]:
    """Return the weight and the examples of every further source that the recipe asks for.

    Args:
        recipe: the training.
        folder: the data folder.
        held_texts: the words (as of `plain_text`) of the texts that are held out.
    """
    further: dict[str, tuple[float, Examples]] = {}
    if recipe.frequent_turns:
        further["frequent turns"] = recipe.frequent_turns, read_frequent(FREQUENT)
    if recipe.first_turns:
        further["first turns"] = recipe.first_turns, read_first_turns(folder, held_texts)
    if recipe.annotated:
        further["annotated turns"] = recipe.annotated, read_annotated(folder, held_texts)
    if recipe.unagreed:
        further["dialogues without agreement"] = recipe.unagreed, read_crowd(folder, agreed=False)
    if recipe.replay:
        further["texts of the weak labeler"] = recipe.replay, read_weak(folder)
    if recipe.self_labelled:
        further["self-labelled dialogues"] = recipe.self_labelled, read_self_labelled(folder)
    return further


def read_first_turns(folder: Path, held_texts: set[str]) -> Examples:
    """Read the opening turn of every conversation of EmpatheticDialogues, labelled with the conversation's emotion.

    Conversations of which the situation or a turn is among `held_texts` (as `plain_text` gives them) are left out
    whole.
    """
    openings = [
        (next((turn["text"] for turn in each["turns"] if turn["speaker"] == "speaker"), ""), each["emotion"])
        for each in _conversations([folder / name for name in CONVERSATIONS], held_texts)
    ]
    return single_turns([(text, emotion) for text, emotion in openings if text])


def read_annotated(folder: Path, held_texts: set[str]) -> Examples:
    """Read the other turns of these conversations, labelled by the authors' RoBERTa-sized classifier (annotated
    EmpatheticDialogues): a teacher's answers.

    Conversations are left out as by `read_first_turns`, because the teacher knew their situations.
    """
    conversations = _conversations([folder / name for name in ANNOTATED], held_texts)
    return single_turns([(turn["text"], turn["label"]) for each in conversations for turn in each["turns"][1:]])


def _conversations(paths: Sequence[Path], held_texts: set[str]) -> Iterator[Row]:
    """Yield the conversations of which no text is among `held_texts`."""
    for path in paths:
        for row in read_conversations(path, annotated=path.parent.name == "annotated"):
            if not isinstance(row, Reject):
                texts = [row["situation"] or "", *(turn["text"] for turn in row["turns"])]
                if not any(plain_text(text) in held_texts for text in texts):
                    yield row


def read_self_labelled(folder: Path) -> Examples:
    """Read the dialogues that the authors' RoBERTa-sized classifier labelled with a confidence of at least 0.9 (EDOS,
    Section 3.3.2): a teacher's answers.
    """
    return labelled_last(read_extension(folder / SELF_LABELLED, "self-label"))
