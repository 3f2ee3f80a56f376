"""Everything that can label turns, behind one small interface: one encoder with its heads, linear heads, fine-tuned
encoders, the static tier for millions of turns, and what other distributions bring.

A distribution brings a labeler by an entry point of the group `edos_dataset.labelers`, in its pyproject.toml:

    [project.entry-points."edos_dataset.labelers"]
    mine = "my_package.labeling:make_labeler"

`make_labeler(device, batch_tokens)` returns a `Labeler`; its arguments are those of `load_labeler`. From then on `mine`
is a name of a model wherever one is asked for. It must be the same in every process: `identity` decides which finished
steps of a run are still good.
"""

import inspect
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from edos_dataset.arrays import Floats
from edos_dataset.encoders.checks import check_device
from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.labeling.models.context_labeler import ContextLabeler, sees_vectors
from edos_dataset.labeling.models.dialogues import TRIAL, check_probabilities, dialogues_given
from edos_dataset.labeling.models.heads import LinearHead
from edos_dataset.labeling.models.inference import TransformerLabeler
from edos_dataset.labeling.models.linear import LinearLabeler
from edos_dataset.labeling.models.saved_labeler import SavedLabeler
from edos_dataset.labeling.models.saved_model import model_digest
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.runs.entry_points import entry_point_names, load_entry_point

ENTRY_POINTS = "edos_dataset.labelers"
"""Group of the entry points by which distributions bring labelers."""

_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]


class Labeler(Protocol):
    """What labels turns.

    Attributes:
        identity: name and digest of everything that decides a probability, for fingerprints.
        source: what stands in `label_source`.
        record: how it was made: data, metrics, licences.
        context: earlier turns that it sees a turn with: 0 for single turns, None for any number.
    """

    @property
    def identity(self) -> str: ...  # noqa: D102 - said above

    @property
    def source(self) -> str: ...  # noqa: D102

    @property
    def record(self) -> dict[str, Any]: ...  # noqa: D102

    @property
    def context(self) -> int | None: ...  # noqa: D102

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn, seen with its own history: float32 [turns of all dialogues, 41], turn
        after turn.

        Args:
            dialogues: turns of each dialogue, oldest first.

        Raises:
            ValueError: these are no dialogues, such as a list of texts.
        """
        ...


def encoder_under(name: str) -> str | None:
    """Return what the stage "encode" must embed by, so that the labeler of a name finds the embeddings that it stands
    on: the encoder of the linear heads, or the name itself, of a `ContextClassifier`. None where a labeler takes none,
    or is not on this machine.

    Raises:
        ValueError: the name has a # without a model before it or an answer behind it.
    """
    folder = Path(name)
    if name in SHIPPED:
        return {"linear": DEFAULT_MODEL, "context": name}.get(SHIPPED[name].kind)
    if name in entry_point_names(ENTRY_POINTS):
        return None
    if (folder / "head.safetensors").is_file():
        return DEFAULT_MODEL
    return name if sees_vectors(Path(_parted(name)[0])) else None


class BroughtLabeler:
    """A labeler of another distribution: what it is given and what it gives are checked like those of ours.

    Args:
        labeler: what the distribution made.
        told: its name and distribution, for messages.
    """

    def __init__(self, labeler: Labeler, told: str) -> None:
        self._labeler, self._told = labeler, told

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the labeler has
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._labeler, name)

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`.

        Raises:
            ValueError: the labeler failed, or gave no probabilities.
        """
        given = dialogues_given(dialogues)
        try:
            return check_probabilities(self._labeler.predict_proba(given), given)
        except Exception as error:  # code of others
            raise ValueError(f"the labeler {self._told} failed: {type(error).__name__}: {error}") from error


def check_labeler(labeler: Labeler) -> None:
    """Check that a labeler will label, before hours of work that lead to it: weights, tokenizer, encoder.

    Raises:
        ValueError: it will not.
    """
    if isinstance(labeler, SavedLabeler | LinearLabeler):
        labeler.check()
    elif isinstance(labeler, BroughtLabeler):
        labeler.predict_proba(TRIAL)


@lru_cache(maxsize=4)
def load_labeler(
    name: str, device: str = "cpu", batch_tokens: int | None = None, trust_remote_code: bool = False
) -> Labeler:
    """Return a labeler; its weights are loaded at the first use and shared by all callers of the process.

    Args:
        name: in this order: one of SHIPPED, an entry point of an installed distribution, a folder (a saved model of
            transformers, linear head or static labeler), or the Hub id of a sequence classifier with our labels. Behind
            a # stands which of its answers is meant, of a `ContextClassifier` with several: `models/labels#weak`.
        device: torch device; heads and models take it, the static labeler has none.
        batch_tokens: most tokens in a batch, padding included; by default what suits the device.
        trust_remote_code: run the code that came with a folder or a model of the Hub, where its configuration names
            some. Models that this package trained need none.

    Raises:
        ValueError: the name is none of these or half a name, the distribution's labeler cannot be made, or the model is
            damaged, of other labels, without such an answer, or in need of code not trusted.
    """
    if batch_tokens is not None and batch_tokens < 1:
        raise ValueError(f"batch_tokens must be at least 1 token, got {batch_tokens}")
    check_device(device)
    if name in SHIPPED and SHIPPED[name].of_transformers:
        from edos_dataset.labeling.models.packed import identify, identify_encoder, unpack

        # The folder's own digest would depend on the version of transformers that wrote it.
        return _saved(unpack(name), device, batch_tokens, identify(name), False, identify_encoder(name))
    if name not in SHIPPED and (labeler := _brought(name, device, batch_tokens)):
        return labeler
    name, answer = _parted(name)
    folder = SHIPPED[name].weights if name in SHIPPED else Path(name)
    linear, static = ((folder / f"{kind}.safetensors").is_file() for kind in ("head", "static"))
    if answer and (name in SHIPPED or linear or static):
        raise ValueError(f"{name} gives one answer: leave out #{answer}")
    if linear:
        return LinearLabeler(LinearHead.load(folder), device, batch_tokens)
    if static:
        from edos_dataset.labeling.models.static import StaticLabeler

        return StaticLabeler.load(folder)
    if folder.is_dir():
        return _saved(folder, device, batch_tokens, None, trust_remote_code, answer=answer)
    folder = _fetched(name, trust_remote_code)
    identity = f"{Path(name).name}@{model_digest(folder, code=trust_remote_code)}"
    return _saved(folder, device, batch_tokens, identity, trust_remote_code, answer=answer)


def _parted(name: str) -> tuple[str, str]:
    """Return the name of a model and that of its answer, empty where none is meant, as in that of a folder."""
    model, sign, answer = name.partition("#")
    if not sign or Path(name).exists():
        return name, ""
    if not (model and answer):
        raise ValueError(f"expected a model and one of its answers, MODEL#ANSWER, got {name!r}")
    return model, answer


def _saved(
    folder: Path,
    device: str,
    batch_tokens: int | None,
    identity: str | None,
    trust_remote_code: bool,
    encoder_identity: str | None = None,
    answer: str = "",
) -> SavedLabeler:
    """Return the labeler that goes with the kind of model in a folder."""
    if sees_vectors(folder):
        own = answer or None
        return ContextLabeler(folder, device, batch_tokens, identity, trust_remote_code, encoder_identity, own)
    if answer:
        raise ValueError(f"{folder} gives one answer: leave out #{answer}")
    return TransformerLabeler(folder, device, batch_tokens, identity, trust_remote_code)


def _brought(name: str, device: str, batch_tokens: int | None) -> Labeler | None:
    """Return the labeler that an installed distribution brings under a name."""
    if (point := load_entry_point(ENTRY_POINTS, name)) is None:
        return None
    make, distribution = point
    try:
        labeler: Labeler = make(device, batch_tokens)
    except Exception as error:  # code of others
        raise ValueError(
            f"the labeler {name!r} of {distribution} could not be made: {type(error).__name__}: {error}"
        ) from error
    absent = object()
    wanted = ("identity", "source", "record", "context", "predict_proba")
    if lacking := [word for word in wanted if inspect.getattr_static(labeler, word, absent) is absent]:
        raise ValueError(
            f"the labeler {name!r} of {distribution} is none: {type(labeler).__name__} has no {', '.join(lacking)}; "
            f"see Labeler in {__name__}"
        )
    return BroughtLabeler(labeler, f"{name!r} of {distribution}")


def default_device() -> str:
    """Return "cuda" where there is a GPU that torch can use, and "cpu" elsewhere."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _fetched(name: str, code: bool) -> Path:
    """Return the local copy of a model of the Hub, with its code where that is trusted."""
    import huggingface_hub

    wanted = [*_HUB_FILES, *(["*.py"] if code else [])]
    try:
        return Path(
            huggingface_hub.snapshot_download(name, allow_patterns=wanted, ignore_patterns=["onnx/*", "openvino/*"])
        )
    except (OSError, ValueError) as error:
        names = ", ".join([*SHIPPED, *entry_point_names(ENTRY_POINTS)])
        raise ValueError(
            f"model {name!r} is neither one of {names}, a folder, nor a model that the Hub gave: {error}; give the Hub "
            "id as owner/model"
        ) from error
