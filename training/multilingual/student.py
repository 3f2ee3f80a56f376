"""The model to train: the lower layers of a multilingual encoder under the context layers and heads of a teacher.

The lowest layers stay as they are, so every turn passes through them once, and training starts from their states.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerBase

from edos_dataset.arrays import Floats
from edos_dataset.encoders.bert import Bert
from edos_dataset.encoders.encoder import pack_linears, pad, token_batches
from edos_dataset.labeling.models.context import ContextClassifier, ContextClassifierConfig
from edos_dataset.labeling.models.context_network import ContextNetwork
from edos_dataset.runs.shards import replacing
from training.caches import key_of
from training.multilingual.recipe import MultilingualRecipe
from training.multilingual.vocabulary import kept_pieces, seen_pieces, write_pruned

_TOKENS = 1024  # in a batch, padding included
_VOCABULARY = "tokenizer.json"


def build_tokenizer(
    base: Path, recipe: MultilingualRecipe, texts: Callable[[], Iterable[str]], folder: Path
) -> tuple[PreTrainedTokenizerBase, list[int]]:
    """Return the tokenizer with a pruned vocabulary, and the numbers of its pieces in the base model.

    Args:
        base: folder of the base model.
        recipe: how many pieces are kept.
        texts: texts whose pieces are kept.
        folder: receives the tokenizer; what is there already is read.
    """
    chosen = folder / "pieces.json"
    if not chosen.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        model = json.loads((base / _VOCABULARY).read_text(encoding="utf-8"))["model"]
        seen = seen_pieces(Tokenizer.from_file(str(base / _VOCABULARY)), texts(), recipe.least_seen)
        kept = kept_pieces([piece for piece, _ in model["vocab"]], seen, recipe.pieces)
        write_pruned(base / _VOCABULARY, folder / _VOCABULARY, kept)
        settings = json.loads((base / "tokenizer_config.json").read_text(encoding="utf-8"))
        settings.pop("mask_token", None)
        (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        chosen.write_text(json.dumps(kept), encoding="utf-8")
    tokenizer = AutoTokenizer.from_pretrained(folder, split_special_tokens=True, trust_remote_code=False)
    return tokenizer, json.loads(chosen.read_text(encoding="utf-8"))


def build_student(
    base: Path,
    recipe: MultilingualRecipe,
    tokenizer: PreTrainedTokenizerBase,
    pieces: Sequence[int],
    teacher: ContextClassifier,
) -> ContextClassifier:
    """Return the student: the base model's lower layers, a projection, and the teacher's layers above.

    Its first answer, `multilingual`, is the teacher's first one, in which XED's convention counts more.
    """
    settings: Any = AutoConfig.from_pretrained(base, trust_remote_code=False)
    settings.num_hidden_layers = recipe.layers
    backbone: Any = AutoModel.from_pretrained(base, config=settings, dtype=torch.float32, trust_remote_code=False)
    words = backbone.embeddings.word_embeddings.weight.detach()[list(pieces)].clone()
    backbone.embeddings.word_embeddings = nn.Embedding(len(words), words.shape[1], _weight=words)
    encoder = {key: value for key, value in settings.to_dict().items() if key != "_name_or_path"}
    encoder |= {"vocab_size": len(pieces), "pad_token_id": tokenizer.pad_token_id}
    known = teacher.config.to_dict()
    kept = ("context_layers", "context_heads", "window", "turn_tokens", "max_tokens", "dropout", "conventions")
    answers = dict(known["answers"])
    first = answers.pop(known["answer"])
    first = first | {"conventions": first["conventions"] | {"xed": recipe.xed_factor}}
    first.pop("offsets", None)  # they were chosen for the teacher
    answers = {recipe.name: first, **answers}
    config = ContextClassifierConfig(
        encoder=encoder,
        separator_id=tokenizer.sep_token_id,
        start_id=tokenizer.cls_token_id,
        padding_id=tokenizer.pad_token_id,
        separators=2,
        answers=answers,
        projected=True,
        id2label=known["id2label"],
        label2id=known["label2id"],
        **{key: known[key] for key in kept},
    )
    student = ContextClassifier(config)
    student.encoder.load_state_dict(backbone.state_dict(), strict=False)
    above = {name: value for name, value in teacher.state_dict().items() if not name.startswith("encoder.")}
    student.load_state_dict(above, strict=False)
    return student


class Plain(ContextNetwork):
    """The same network in plain torch, whose encoder's layers can be run one by one.

    Args:
        model: the model whose weights it takes.
        frozen: number of the encoder's layers that are not trained.
    """

    def __init__(self, model: ContextClassifier, frozen: int) -> None:
        super().__init__()
        self.config, self.frozen = SimpleNamespace(**model.config.to_dict()), frozen
        self.encoder = Bert(model.config.encoder)
        self.add_layers(model.config.encoder["hidden_size"], len(model.config.id2label))
        self.load_state_dict(model.state_dict())
        self.eval().requires_grad_(requires_grad=False)
        for layer in (*self._layers[frozen:], cast(nn.Linear, self.project)):
            layer.requires_grad_(requires_grad=True)
        for layer in self._layers[:frozen]:
            pack_linears(layer)

    @property
    def _layers(self) -> nn.ModuleList:
        return cast(nn.ModuleList, self.encoder.encoder["layer"])

    def lower(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states after the frozen layers, [n, tokens, width]."""
        states = self.encoder.embeddings(ids)
        for layer in self._layers[: self.frozen]:
            states = layer(states, _attended(mask))
        return cast(torch.Tensor, states)

    def upper(self, states: torch.Tensor, mask: torch.Tensor, projected: bool = True) -> torch.Tensor:
        """Return the vectors of turns, [n, width], from their states after the frozen layers."""
        for layer in self._layers[self.frozen :]:
            states = layer(states, _attended(mask))
        weights = mask.unsqueeze(-1).to(states.dtype)
        vectors = (states * weights).sum(1) / weights.sum(1)
        return cast(torch.Tensor, cast(nn.Linear, self.project)(vectors) if projected else vectors)


def _attended(mask: torch.Tensor) -> torch.Tensor:
    count, tokens = mask.shape
    return mask.bool()[:, None, None].expand(count, 1, tokens, tokens)


@dataclass(frozen=True)
class States:
    """The states of turns after the frozen layers.

    Attributes:
        values: float16 [tokens of all turns, width].
        offsets: int64 [turns + 1]; the tokens of turn i are `offsets[i]:offsets[i + 1]`.
    """

    values: npt.NDArray[np.float16]
    offsets: npt.NDArray[np.int64]

    def padded(self, rows: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the states of turns, float32 [n, tokens, width], padded at the right, and their mask."""
        lengths = self.offsets[np.array(rows) + 1] - self.offsets[rows]
        mask = np.arange(lengths.max()) < lengths[:, None]
        states = np.zeros((*mask.shape, self.values.shape[1]), np.float32)
        states[mask] = np.concatenate([self.values[self.offsets[row] : self.offsets[row + 1]] for row in rows])
        return torch.from_numpy(states), torch.from_numpy(mask.astype(np.int64))

    def means(self) -> Floats:
        """Return the mean state of every turn, float32 [turns, width]."""
        sums = np.add.reduceat(self.values.astype(np.float32), self.offsets[:-1], axis=0)
        found: Floats = (sums / np.diff(self.offsets)[:, None]).astype(np.float32)
        return found


class Reader:
    """Reads turns up to the frozen layers, each distinct one once, and keeps their states in a folder.

    Args:
        model: the student.
        tokenizer: the student's.
        most: number of tokens of a turn that are read.
        folder: where the states are kept.
        say: receives lines on the progress.
    """

    def __init__(
        self, model: Plain, tokenizer: PreTrainedTokenizerBase, most: int, folder: Path, say: Callable[[str], None]
    ) -> None:
        self._model, self._tokenizer, self._most, self._folder, self._say = model, tokenizer, most, folder, say
        self._known: dict[str, npt.NDArray[np.float16]] = {}

    def __call__(self, texts: Sequence[str]) -> States:
        """Return the states of turns."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            path = self._folder / f"states-{key_of([*new, f'{self._model.frozen} {self._most}'])}.npz"
            if not path.is_file():
                made = states_of(self._model, token_ids(new, self._tokenizer, self._most), self._say)
                with replacing(path) as temporary, temporary.open("wb") as file:
                    np.savez(file, values=made.values, offsets=made.offsets)
            with np.load(path) as found:
                self._known.update(zip(new, np.split(found["values"], found["offsets"][1:-1]), strict=True))
        own = [self._known[text] for text in texts]
        return States(np.concatenate(own), np.concatenate([[0], np.cumsum([len(each) for each in own])]))


def states_of(model: Plain, inputs: Sequence[Sequence[int]], say: Callable[[str], None]) -> States:
    """Return the states of turns, given as token ids, after the frozen layers."""
    lengths = np.array([len(ids) for ids in inputs])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = np.zeros((int(offsets[-1]), model.config.encoder["hidden_size"]), np.float16)
    done = 0
    with torch.inference_mode():
        for batch in token_batches(lengths.tolist(), _TOKENS):
            ids, mask = pad([inputs[row] for row in batch], lengths[batch], model.config.padding_id)
            found = model.lower(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
            for row, states in zip(batch, found, strict=True):
                values[offsets[row] : offsets[row + 1]] = states[: lengths[row]]
            done += len(batch)
            if done // 2_000 != (done - len(batch)) // 2_000:
                say(f"{done:,} of {len(inputs):,} turns read")
    return States(values, offsets)


def token_ids(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, most: int) -> list[list[int]]:
    """Return the token ids of turns, start and separator included."""
    return list(tokenizer(list(texts), truncation=True, max_length=most)["input_ids"]) if texts else []


def start_projection(
    model: Plain, states: States, rows: Sequence[int], targets: npt.NDArray[np.float16], ridge: float
) -> float:
    """Set the projection to the ridge regression of a teacher's vectors on those of some turns, and return its R²."""
    with torch.inference_mode():
        parts = [model.upper(*states.padded(rows[at : at + 64]), projected=False) for at in range(0, len(rows), 64)]
    inputs, wanted = torch.cat(parts).numpy().astype(np.float64), targets.astype(np.float64)
    middle, aim, scale = inputs.mean(axis=0), wanted.mean(axis=0), inputs.std(axis=0) + 1e-6
    around = (inputs - middle) / scale
    weight = np.linalg.solve(around.T @ around + ridge * np.eye(len(scale)), around.T @ (wanted - aim))
    left = wanted - aim - around @ weight
    weight = weight / scale[:, None]
    project = cast(nn.Linear, model.project)
    with torch.no_grad():
        project.weight.copy_(torch.from_numpy(weight.T.astype(np.float32)))
        project.bias.copy_(torch.from_numpy((aim - middle @ weight).astype(np.float32)))
    return float(1 - (left**2).sum() / ((wanted - aim) ** 2).sum())
