"""What a classifier says of dialogues, computed by all processes of a training; and what teachers say."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerBase

from edos_dataset.arrays import Floats, Ints
from edos_dataset.metrics.calibration import softmax
from training.classifier.batches import micro_batches, pad
from training.classifier.data import Data, mix_in
from training.classifier.model import token_ids
from training.classifier.recipe import ClassifierRecipe


def logits_of(
    model: torch.nn.Module,
    dialogues: Sequence[Sequence[str]],
    recipe: ClassifierRecipe,
    tokenizer: PreTrainedTokenizerBase,
    accelerator: Accelerator,
) -> Floats:
    """Return the logits of the last turns of dialogues, as `predict` does of token ids."""
    inputs = token_ids(recipe, tokenizer, dialogues)
    return predict(model, inputs, recipe.micro_tokens, tokenizer.pad_token_id, accelerator)


def predict(
    model: torch.nn.Module, inputs: Sequence[list[int]], budget: int, padding: int, accelerator: Accelerator
) -> Floats:
    """Return the logits of inputs, float32 [n, 41], before any temperature; every process computes a part and gets them
    all.
    """
    model.eval()
    parts: list[tuple[Ints, Floats]] = []
    with torch.inference_mode(), accelerator.autocast():
        for batch in micro_batches(np.arange(len(inputs)), inputs, budget)[
            accelerator.process_index :: accelerator.num_processes
        ]:
            ids, mask = (tensor.to(accelerator.device) for tensor in pad([inputs[row] for row in batch], padding))
            parts.append((batch, model(input_ids=ids, attention_mask=mask).logits.float().cpu().numpy()))
    parts = gather_object(parts)  # a process may have had none
    logits = np.zeros((len(inputs), parts[0][1].shape[1] if parts else 0), np.float32)
    for batch, values in parts:
        logits[batch] = values
    return logits


def teach(data: Data, recipe: ClassifierRecipe, tokenizer: PreTrainedTokenizerBase, accelerator: Accelerator) -> Data:
    """Return the data with the mean calibrated probabilities of the recipe's teachers mixed into
    the training targets.
    """
    parts = []
    teachers = [
        AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=False).to(accelerator.device)
        for folder in recipe.distil
    ]
    for part in (data.train, data.replay):
        if len(part):
            answers = [
                softmax(logits_of(teacher, part.dialogues, recipe, tokenizer, accelerator)) for teacher in teachers
            ]
            part = mix_in(part, np.mean(answers, axis=0), recipe.distil_share)
        parts.append(part)
    return replace(data, train=parts[0], replay=parts[1])
