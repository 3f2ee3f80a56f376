"""Classifiers of texts as labelers: pipelines of transformers, and objects with `classes_` and `predict_proba` as those
of scikit-learn. They see a turn alone.
"""

import pickle
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.base import Labeler, label_set_given

MULTI_LABEL = "multi_label_classification"


def text_classifier(made: Any) -> Labeler | None:  # noqa: ANN401 - whatever a user has
    """Return a pipeline or fitted classifier of texts as a labeler; None if it is neither."""
    if callable(made) and hasattr(getattr(getattr(made, "model", None), "config", None), "id2label"):
        return _PipelineLabeler(made)
    if hasattr(made, "classes_") and hasattr(made, "predict_proba") and not hasattr(made, "identity"):
        return _ClassesLabeler(made)
    return None


class _PipelineLabeler(Labeler):
    """A `transformers.pipeline("text-classification")`."""

    def __init__(self, pipeline: Any) -> None:  # noqa: ANN401
        config = pipeline.model.config
        self._pipeline = pipeline
        self._names = [str(config.id2label[row]) for row in sorted(config.id2label)]
        self.label_set = label_set_given(self._names)
        self.threshold = 0.5 if config.problem_type == MULTI_LABEL else None
        digest = sha256(str(config.to_json_string()).encode())
        for name, weights in sorted(pipeline.model.state_dict().items()):
            digest.update(name.encode() + weights.detach().cpu().float().numpy().tobytes())
        self.identity = f"pipeline@{digest.hexdigest()[:16]}"

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`."""
        found = self._pipeline(list(chain.from_iterable(dialogues)), top_k=None)
        scores = [{one["label"]: one["score"] for one in turn} for turn in found]
        rows = [[turn[name] for name in self._names] for turn in scores]
        return np.array(rows, np.float32).reshape(-1, len(self._names))


class _ClassesLabeler(Labeler):
    """A fitted classifier that takes texts, such as a pipeline of scikit-learn."""

    def __init__(self, classifier: Any) -> None:  # noqa: ANN401
        self._classifier = classifier
        self.label_set = label_set_given([str(name) for name in classifier.classes_])
        name = type(classifier).__name__
        try:
            self.identity = f"{name}@{sha256(pickle.dumps(classifier)).hexdigest()[:16]}"
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(f"{name} cannot be pickled, so a run could not tell it from another: {error}") from error

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`."""
        turns = list(chain.from_iterable(dialogues))
        rows = self._classifier.predict_proba(turns) if turns else []
        return np.array(rows, np.float32).reshape(-1, len(self._classifier.classes_))
