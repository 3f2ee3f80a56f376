"""`edos_dataset.respond`: answers to dialogues, as a call of a notebook or a script."""

from collections.abc import Sequence
from pathlib import Path

from edos_dataset.generation.chosen import chosen_model, kept_responder
from edos_dataset.generation.responder import Candidate, Wanted
from edos_dataset.labeling.models.labelers import default_device

__all__ = ["Candidate", "respond"]


def respond(
    dialogues: str | Sequence[str | Sequence[str]],
    model: str | Path | None = None,
    *,
    label: Wanted = None,
    candidates: int = 1,
    beams: int = 32,
    sample: bool = False,
    seed: int = 0,
    device: str | None = None,
    labeler: str = "general",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> list[list[Candidate]]:
    """Answer dialogues, each under the label that is predicted for the answer, or under a given one.

        edos_dataset.respond("I lost my job.", label="consoling")[0][0].text

    The model is loaded at the first call and kept for the next ones of the process. No text is logged or kept.

    Args:
        dialogues: one text, or a list of dialogues: each a text, or the list of its turns, oldest first.
        model: name, folder or Hub id of a response model; by default `chat`, which ships.
        label: label of the answers, by name or id, or one for each dialogue; by default predicted.
        candidates: answers to each dialogue: under that label, or else under as many predicted ones.
        beams: answers that the search follows at a time.
        sample: draw from the nucleus of 0.9 in place of the search.
        seed: of the drawing.
        device: "cpu", "cuda", "cuda:1", ...; by default a GPU where there is one.
        labeler: model that labels the history's turns; see `load_labeler`.
        revision: of a model of the Hub: a tag such as "v1.0.0", a branch or a commit; by default its newest.
        trust_remote_code: run the code that came with the model, where its configuration names some. Models of this
            package need none.

    Returns:
        For each dialogue its candidates, the most probable label or the best answer first.

    Raises:
        ValueError: something is no dialogue or label, or the model cannot be loaded.
    """
    given = [dialogues] if isinstance(dialogues, str) else dialogues
    turns = [[dialogue] if isinstance(dialogue, str) else dialogue for dialogue in given]
    responder = kept_responder(chosen_model(model), trust_remote_code, device or default_device(), labeler, revision)
    return responder.respond(turns, label, candidates, beams, sample, seed)
