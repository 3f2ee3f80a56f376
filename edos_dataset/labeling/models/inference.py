"""Labels from a fine-tuned encoder, as fast as the machine allows and the same on every run.

`transformers.pipeline` runs one text after the other, or batches padded to their longest text, and runs a text as often
as it comes. `TransformerLabeler` tokenises every distinct turn once, puts the sequences of all dialogues together, runs
each distinct one once, sorted by length in batches of a number of tokens, and on x86 processors multiplies with weights
packed for oneDNN. `benchmarks/label.py` measures what that gives.

Reproducibility is that of `encoder.py`: the same dialogues in one call give the same bits with the same number of
threads; in another company a probability may differ by about 1e-7 (on a GPU, where it computes in bfloat16, by about
1e-2).
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.dialogues import dialogues_given
from edos_dataset.labeling.models.saved_labeler import SavedLabeler
from edos_dataset.labels import LABELS


class TransformerLabeler(SavedLabeler):
    """Labels turns with a `DialogueClassifier`, or with any sequence classifier of transformers that has our 41 labels.

    A model of another kind is given a single turn, unless its configuration has `context` (earlier turns, null for any
    number); then turns are put together as for ours, newest first. Arguments are those of `SavedLabeler`.
    """

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return calibrated probabilities of every turn, seen with its own history.

        Args:
            dialogues: turns of each dialogue, oldest first. All are tokenised at once, so memory grows with the list:
                call it shard by shard.

        Returns:
            float32 [turns of all dialogues, 41], turn after turn. Rows sum to 1; columns are label ids.

        Raises:
            ValueError: these are no dialogues, or the model is damaged.
        """
        dialogues = dialogues_given(dialogues)
        logits = lambda **inputs: self._model(**inputs).logits.float().softmax(-1)  # noqa: E731
        return self._run(logits, self._sequences(dialogues), len(LABELS))[:, self._columns]

    def _sequences(self, dialogues: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
        """Return the token ids that the model sees for every turn."""
        from edos_dataset.labeling.models.dialogue_pipeline import sequence

        ids = self._tokenise(list(dict.fromkeys(chain.from_iterable(dialogues))))
        if not self._assembles:
            return [tuple(ids[turn]) for turn in chain.from_iterable(dialogues)]
        settings = self._layout
        reach = settings["max_length"] if self.context is None else self.context  # a turn takes at least one token
        sequences = []
        for dialogue in dialogues:
            turns = [ids[turn] for turn in dialogue]
            sequences += [
                tuple(sequence(turns[max(0, end - 1 - reach) : end], **settings)) for end in range(1, len(turns) + 1)
            ]
        return sequences

    @property
    def _assembles(self) -> bool:
        return self._ours or self.context != 0

    @cached_property
    def _layout(self) -> dict[str, int]:
        """Arguments of `sequence` beside the turns."""
        tokenizer: Any = self._tokenizer
        start = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        separator = self._config.separator_id if self._ours else tokenizer.sep_token_id
        if start is None or separator is None:
            raise ValueError(
                f"the tokenizer of {self.folder} has no {'start' if start is None else 'separator'} token, which a "
                "model of dialogues needs"
            )
        # RoBERTa puts two separators between texts, BERT one.
        separators = self._config.separators if self._ours else tokenizer("a", "a")["input_ids"].count(separator) - 1
        return {"start": start, "separator": separator, "separators": separators, "max_length": self._max_length}

    @property
    def _max_length(self) -> int:
        if self._ours:
            return int(self._config.max_tokens)
        positions = getattr(self._config, "max_position_embeddings", 512)
        return int(min(512, positions, self._tokenizer.model_max_length))

    def _tokenise(self, texts: list[str]) -> dict[str, list[int]]:
        """Return the token ids of distinct texts, with special tokens only where a text is a whole sequence."""
        return dict(zip(texts, self._read(texts, self._max_length, special=not self._assembles), strict=True))
