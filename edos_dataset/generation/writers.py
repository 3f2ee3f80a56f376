"""What writes answers: a model with its tokenizer, and how it is told the history and the label of the answer.

Folders come from others too: weights are safetensors and nothing else, and no code that lies beside them is run unless
the caller trusts it; a model of ours needs none.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import pack_linears
from edos_dataset.encoders.folders import read_json
from edos_dataset.generation.config import PredictorConfig, ResponseConfig
from edos_dataset.generation.inputs import batch_histories, encode_history
from edos_dataset.generation.model import ResponseModel
from edos_dataset.generation.predictor import ResponsePredictor
from edos_dataset.labeling.models.saved_model import ModelError, check_tokenizer, check_weights, loading
from edos_dataset.labels import LABELS

PREDICTOR = "predictor"
"""Name of the predictor's folder in that of the model."""

Turns = Sequence[str]
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]


class Writer(Protocol):
    """A model that answers.

    Attributes:
        model: what `Steps` asks.
        tokenizer: that of the model.
        takes_labels: whether an answer is conditioned on a label, and histories are read with labels.
        max_tokens: most tokens of an answer, the end included.
        never: tokens that no answer may have.
    """

    model: Any
    tokenizer: Any
    takes_labels: bool
    max_tokens: int
    never: list[int]

    def read(
        self, histories: Sequence[Turns], labels: Sequence[Sequence[int]] | None, answers: Sequence[int | None]
    ) -> dict[str, torch.Tensor]:
        """Return what `Steps` is given.

        Args:
            histories: the turns of each dialogue, oldest first.
            labels: their labels; None for a writer that takes none.
            answers: the label of each answer.
        """
        ...


class TransformerWriter:
    """A `ResponseModel` as a writer; attributes as those of `Writer`."""

    def __init__(self, model: Any, tokenizer: Any) -> None:  # noqa: ANN401
        """Take a model in evaluation mode and the tokenizer that it learned with."""
        config: ResponseConfig = model.config
        self.model, self.tokenizer = model, tokenizer
        self.takes_labels = config.num_response_labels > 0
        self.max_tokens = config.max_tokens
        self.never = sorted({config.pad_token_id, config.bos_token_id, tokenizer.unk_token_id} - {None})

    def read(
        self, histories: Sequence[Turns], labels: Sequence[Sequence[int]] | None, answers: Sequence[int | None]
    ) -> dict[str, torch.Tensor]:
        """Return the tensors for `Steps`; see `Writer`."""
        given = read_histories(self.tokenizer, histories, labels, self.model)
        if self.takes_labels:
            given["response_labels"] = torch.tensor([int(label or 0) for label in answers], device=self.model.device)
        return given


class LabelPredictor:
    """A `ResponsePredictor` with the tokenizer of its histories."""

    def __init__(self, model: Any, tokenizer: Any) -> None:  # noqa: ANN401
        """Take a predictor in evaluation mode and the tokenizer that it learned with."""
        self.model, self.tokenizer = model, tokenizer

    @torch.inference_mode()
    def predict(self, histories: Sequence[Turns], labels: Sequence[Sequence[int]] | None) -> Floats:
        """Return the probabilities of the answers' labels, float32 [histories, 41]; columns are label ids."""
        given = read_histories(self.tokenizer, histories, labels, self.model)
        probabilities: Floats = self.model(**given).logits.float().softmax(1).cpu().numpy()
        return probabilities


def read_histories(
    tokenizer: Any,  # noqa: ANN401
    histories: Sequence[Turns],
    labels: Sequence[Sequence[int]] | None,
    model: Any,  # noqa: ANN401
) -> dict[str, torch.Tensor]:
    """Return the tensors of histories for a model of ours, on its device; labels are left out where none are known."""
    known: Sequence[Sequence[int] | None] = [None] * len(histories) if labels is None else labels
    most = model.config.max_tokens
    read = [encode_history(tokenizer, turns, own, most) for turns, own in zip(histories, known, strict=True)]
    given = batch_histories(read, model.config.pad_token_id)
    if labels is None:
        del given["label_ids"]
    return {name: tensor.to(model.device) for name, tensor in given.items()}


def load_writer(name: str | Path, trust: bool = False, device: str = "cpu") -> tuple[Path, Writer]:
    """Return the folder of a model, of this machine or fetched from the Hub, and its writer.

    Args:
        name: a folder or a Hub id.
        trust: run the code that came with the model, where its configuration names some; ours never needs it.
        device: torch device.

    Raises:
        ValueError: there is no such model, it is damaged, or it needs code that is not trusted.
    """
    folder = Path(name) if Path(name).is_dir() else _fetched(str(name), trust)
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} holds no response model: it has no config.json")
    kind = read_json(folder / "config.json").get("model_type")
    if kind != ResponseConfig.model_type:
        raise ModelError(f"{folder} holds a model of type {kind!r}, expected {ResponseConfig.model_type!r}")
    return folder, TransformerWriter(*load_own(folder, ResponseModel, device))


def load_predictor(folder: Path, device: str = "cpu") -> LabelPredictor | None:
    """Return the predictor beside a model; None where there is none.

    Raises:
        ModelError: it is damaged.
    """
    if not (folder / PREDICTOR).is_dir():
        return None
    return LabelPredictor(*load_own(folder / PREDICTOR, ResponsePredictor, device))


def load_own(folder: Path, kind: Any, device: str) -> tuple[Any, Any]:  # noqa: ANN401
    """Return a model of ours and its tokenizer from a folder, without running any code that lies there.

    Args:
        folder: what `save_pretrained` of both wrote.
        kind: `ResponseModel` or `ResponsePredictor`.
        device: torch device.

    Raises:
        ModelError: the folder is damaged or not whole, or its tokenizer is another model's.
    """
    check_weights(folder)
    tokenizer = load_tokenizer(folder)
    with loading(folder, "response model"):
        # A configuration may name code (`auto_map`); ours are built by our classes, whatever it names.
        config = kind.config_class.from_dict(read_json(folder / "config.json"))
        model, told = kind.from_pretrained(
            folder, config=config, trust_remote_code=False, use_safetensors=True, output_loading_info=True
        )
        if lacking := sorted(told["missing_keys"]) + sorted(told["unexpected_keys"]):
            raise ValueError(f"its weights and its configuration do not go together: {lacking[0]}")
        for name, values in model.named_parameters():
            if not values.isfinite().all():
                raise ValueError(f"its weights {name} hold values that are not numbers")
        model = model.float().to(device).eval()
    check_tokenizer(folder, tokenizer, config, config.vocab_size)
    if tokenizer.eos_token_id != config.eos_token_id or tokenizer.bos_token_id != config.bos_token_id:
        raise ModelError(f"the tokenizer in {folder} is another model's: it starts or ends texts by other tokens")
    if kind.config_class is PredictorConfig and config.num_labels != len(LABELS):
        raise ModelError(f"{folder} predicts {config.num_labels} labels, not our {len(LABELS)}")
    if model.device.type == "cpu":
        pack_linears(model)
    return model, tokenizer


def load_tokenizer(folder: Path, trust: bool = False) -> Any:  # noqa: ANN401
    """Return the tokenizer in a folder.

    Raises:
        ModelError: there is none, or it can only be read by running code that is not trusted.
    """
    from transformers import AutoTokenizer

    with loading(folder, "tokenizer"):
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=trust)


def _fetched(name: str, code: bool) -> Path:
    """Return the local copy of a model of the Hub, with its code where that is trusted."""
    import huggingface_hub

    wanted = [*_HUB_FILES, *(["*.py"] if code else [])]
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=wanted))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{name!r} is neither a folder nor a model that the Hub gave: {error}; give the Hub id as owner/model"
        ) from error
