"""Labelers by name: shipped models, saved models, models on the Hub, and labelers of other packages.

A custom labeler is a function from dialogues to labels, or a subclass of `Labeler`. It can be used

* as an object in Python: `edos_dataset.label(dialogues, model=MyLabeler())`;
* by the name of its class or function, `package.module:MyLabeler`, wherever a model is named, also in worker processes;
* by a short name: `register_labeler` defines one for this process, and an entry point defines one for every process:

      [project.entry-points."edos_dataset.labelers"]
      mine = "my_package.labeling:make_labeler"

  where `make_labeler(device, batch_tokens)` returns the labeler; its arguments are those of `load_labeler`.

It predicts the labels of EDOS unless it has an attribute `label_set`: a `LabelSet`, the name or file of one, or a list
of label names; or unless it is a function that returns probabilities by label, whose labels then are the set. The
names that a function returns alone make a set where all dialogues are in memory (`names_given`). With an attribute
`threshold`, a turn can have several labels: those with at least that probability.

A labeler must be the same in every process: its `identity` decides which finished shards of a run are reused.
"""

import inspect
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import DEFAULT_MODEL, check_device
from edos_dataset.encoders.folders import download_model
from edos_dataset.label_sets import LabelSet
from edos_dataset.labeling.models.base import (
    TRIAL,
    Labeler,
    check_probabilities,
    dialogues_given,
    history_refused,
    label_set_given,
)
from edos_dataset.labeling.models.endpoint.labeler import HISTORY, EndpointLabeler
from edos_dataset.labeling.models.endpoint.settings import PREFIX, Endpoint
from edos_dataset.labeling.models.functions import FunctionLabeler, in_columns
from edos_dataset.labeling.models.linear import LinearHead, LinearLabeler
from edos_dataset.labeling.models.saved_labelers import ContextLabeler, SavedLabeler, TransformerLabeler, sees_vectors
from edos_dataset.labeling.models.saved_model import model_digest
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.labeling.models.text_classifiers import text_classifier
from edos_dataset.runs.entry_points import entry_point_names, load_entry_point

ENTRY_POINTS = "edos_dataset.labelers"
"""Entry-point group through which other packages provide labelers."""

_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_WANTED = ("identity", "source", "record", "context", "predict_proba")

_registered: dict[str, Labeler] = {}


class CheckedLabeler(Labeler):
    """Wraps a labeler of a user or another package, and checks its input and output.

    Attributes:
        names_labels: whether the labeler states which labels it predicts, by name or by what it returns.

    Args:
        labeler: the labeler.
        name: its name and origin, for messages.
    """

    def __init__(self, labeler: Any, name: str) -> None:  # noqa: ANN401 - anything with the attributes of a Labeler
        self._labeler, self._name = labeler, name
        self.context, self.record = labeler.context, labeler.record
        self.languages = getattr(labeler, "languages", None)
        self.threshold = getattr(labeler, "threshold", None)
        named = getattr(labeler, "label_set", Labeler.label_set)
        self.names_labels = named is not Labeler.label_set
        self._found = isinstance(labeler, FunctionLabeler) and labeler.found
        self.label_set = label_set_given(named)

    def naming(self, labels: LabelSet) -> "CheckedLabeler":
        """Return the same labeler with its labels taken from a label set, if that has all that it names."""
        if self.names_labels and not (
            self._found and all(labels.find(name) is not None for name in self.label_set.labels)
        ):
            return self
        changed = CheckedLabeler(self._labeler, self._name)
        changed.label_set = labels
        return changed

    def names_given(self, batches: Iterable[list[list[str]]]) -> list[str] | None:
        """Return the labels of a function's own set, found by labelling all dialogues; None if it has none, or says
        which it has; see `FunctionLabeler.names_given`.
        """
        is_open = isinstance(self._labeler, FunctionLabeler) and self._labeler.is_open
        return self._labeler.names_given(batches) if is_open else None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the labeler has
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._labeler, name)

    @property
    def identity(self) -> str:
        """The labeler's own."""
        return str(self._labeler.identity)

    @property
    def source(self) -> str:
        """The labeler's own."""
        return str(self._labeler.source)

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`.

        Raises:
            ValueError: the labeler raised an error, or did not return probabilities.
        """
        given = dialogues_given(dialogues)
        try:
            found = in_columns(self._labeler.predict_proba(given), self.label_set)
            return check_probabilities(found, given, self.label_set, self.threshold is None)
        except Exception as error:  # the labeler's code can raise anything
            raise ValueError(f"the labeler {self._name} failed: {type(error).__name__}: {error}") from error


def register_labeler(labeler: Any, name: str | None = None) -> str:  # noqa: ANN401 - see Args
    """Register a labeler under a name in this process, and return the name.

    Args:
        labeler: a `Labeler`; an object with the same attributes; or a function that takes dialogues (lists of turns)
            and returns for every turn the name of a label, or its probabilities by label, `{"joy": 0.7, "anger": 0.3}`
            or `[{"label": "joy", "score": 0.7}, ...]`; or an array [turns, labels] of probabilities.
        name: by default the labeler's `source`.

    Raises:
        ValueError: it is not a labeler, or the name belongs to a shipped model.
    """
    made = _as_labeler(labeler, repr(name or getattr(labeler, "__name__", type(labeler).__name__)))
    name = name or made.source
    if name in SHIPPED:
        raise ValueError(f"{name!r} is a shipped model: give another name")
    _registered[name] = made
    load_labeler.cache_clear()
    return name


def encoder_under(name: str) -> str | None:
    """Return the model of the stage "encode" whose embeddings a labeler can use, or None.

    It is the default encoder for linear heads, and the labeler's own name for a `ContextClassifier`. None for a labeler
    without an encoder, and for a model that is not on this machine.

    Raises:
        ValueError: the name contains a # without a model before it or an answer after it.
    """
    folder = Path(name)
    if name.startswith(PREFIX):
        return None
    if name in SHIPPED:
        return {"linear": DEFAULT_MODEL, "context": name}.get(SHIPPED[name].kind)
    if name in _registered or name in entry_point_names(ENTRY_POINTS):
        return None
    if (folder / "head.safetensors").is_file():
        return DEFAULT_MODEL
    return name if sees_vectors(Path(_split(name)[0])) else None


def check_labeler(labeler: Labeler) -> None:
    """Check that a labeler can label, before a run spends hours on the stages before it.

    Raises:
        ValueError: it cannot.
    """
    if isinstance(labeler, SavedLabeler | LinearLabeler | EndpointLabeler):
        labeler.check()
    elif isinstance(labeler, CheckedLabeler):
        labeler.predict_proba(TRIAL)


def check_labels_all(name: str) -> None:
    """Raise ValueError for the name of a model that may leave turns without a label: one at an endpoint."""
    if name.startswith(PREFIX):
        raise ValueError(
            f"{name!r} may leave turns without a label, which only `edos label`, `curate` and `books` allow: give a "
            "model that labels every turn, such as 'general'"
        )


@lru_cache(maxsize=4)
def load_labeler(
    name: str,
    device: str = "cpu",
    batch_tokens: int | None = None,
    trust_remote_code: bool = False,
    history: int | None = None,
    endpoint: Endpoint | None = None,
) -> Labeler:
    """Return a labeler. Its weights are loaded on first use and shared by all callers in the process.

    Args:
        name: tried in this order: a name in SHIPPED, a name given to `register_labeler`, an entry point of an installed
            package, a folder (a saved transformers model, linear head or static labeler), a class or function
            `package.module:Name`, or the Hub id of a sequence classifier. A `ContextClassifier` with several answers
            may be followed by # and one of them: `models/labels#weak`.
        device: torch device of heads and models; static labelers ignore it.
        batch_tokens: maximum number of tokens in a batch, padding included; the default depends on the device.
        trust_remote_code: run the code in a model's folder or Hub repository, if its configuration names any. Models
            trained with this package need none.
        history: number of earlier turns that a turn is seen with, for models that leave it open: those at an endpoint,
            and sequence classifiers of others whose configuration has no `context`; None for 10 and 0 of them.
        endpoint: where a model named `openai:MODEL` is; by default where the environment says.

    Raises:
        ValueError: the name is none of these; the labeler of another package cannot be created; or the model is
            incomplete or damaged, has unnamed labels, has no such answer, does not leave the history open, or needs
            code that is not trusted.
    """
    if batch_tokens is not None and batch_tokens < 1:
        raise ValueError(f"batch_tokens must be at least 1 token, got {batch_tokens}")
    check_device(device)
    if name.startswith(PREFIX):
        reach = HISTORY if history is None else history
        return EndpointLabeler(name.removeprefix(PREFIX), endpoint or Endpoint(), history=reach)
    known = _known(name, device, batch_tokens)
    labeler = known or _of_folder(name, device, batch_tokens, trust_remote_code, history)
    if history is not None and (known or not isinstance(labeler, TransformerLabeler)):
        raise history_refused(name, labeler.context)
    return labeler


def _known(name: str, device: str, batch_tokens: int | None) -> Labeler | None:
    """Return a labeler that is no model in a folder or on the Hub."""
    if name in SHIPPED:
        return _shipped(name, device, batch_tokens)
    if labeler := _registered.get(name) or _from_entry_point(name, device, batch_tokens):
        return labeler
    return _imported(name) if _OBJECT.fullmatch(name) and not Path(name).exists() else None


def _of_folder(
    name: str, device: str, batch_tokens: int | None, trust_remote_code: bool, history: int | None
) -> Labeler:
    model, answer = _split(name)
    if model in SHIPPED:
        raise ValueError(f"{model} gives one answer: leave out #{answer}")
    folder, identity = Path(model), None
    if not folder.is_dir():
        folder = _downloaded(model, trust_remote_code)
        identity = f"{Path(model).name}@{model_digest(folder, code=trust_remote_code)}"
    labeler = _without_network(folder, device, batch_tokens)
    if labeler is None and sees_vectors(folder):
        return ContextLabeler(folder, device, batch_tokens, identity, trust_remote_code, answer=answer or None)
    if answer:
        raise ValueError(f"{folder} gives one answer: leave out #{answer}")
    return labeler or TransformerLabeler(folder, device, batch_tokens, identity, trust_remote_code, history)


def _shipped(name: str, device: str, batch_tokens: int | None) -> Labeler:
    model = SHIPPED[name]
    if model.of_transformers:
        from edos_dataset.labeling.models.packed import ShippedLabeler, identify, identify_encoder, unpack

        if model.backbone:
            try:
                folder = unpack(name)
            except ValueError as error:
                why = f"{name!r} is adapters of {model.backbone}, which could not be had"
                raise ValueError(f"{why}; without a network use 'general', which needs nothing: {error}") from error
            encoder = identify_encoder(name)
            return ContextLabeler(folder, device, batch_tokens, identify(name), encoder_identity=encoder)
        if model.kind == "context":
            return ShippedLabeler(model, device, batch_tokens)
        # The folder's digest would depend on the version of transformers that wrote it.
        return TransformerLabeler(unpack(name), device, batch_tokens, identify(name))
    labeler = _without_network(model.weights, device, batch_tokens)
    if labeler is None:
        raise ValueError(f"{model.weights}, the weights of {name!r}, is incomplete: install the package again")
    return labeler


def _without_network(folder: Path, device: str, batch_tokens: int | None) -> Labeler | None:
    """Return the linear or static labeler in a folder, or None if it has neither."""
    if (folder / "head.safetensors").is_file():
        return LinearLabeler(LinearHead.load(folder), device, batch_tokens)
    if (folder / "static.safetensors").is_file():
        from edos_dataset.labeling.models.static import StaticLabeler

        return StaticLabeler.load(folder)
    return None


def _split(name: str) -> tuple[str, str]:
    """Return the names of a model and of its answer; the latter is empty if not given."""
    model, sign, answer = name.partition("#")
    if not sign or Path(name).exists():
        return name, ""
    if not (model and answer):
        raise ValueError(f"expected a model and one of its answers, MODEL#ANSWER, got {name!r}")
    return model, answer


def _as_labeler(made: Any, name: str) -> Labeler:  # noqa: ANN401
    """Return a user's object, class or function as a labeler; error messages call it `name`."""
    if inspect.isclass(made):
        made = made()
    made = text_classifier(made) or made
    absent = object()
    lacking = [word for word in _WANTED if inspect.getattr_static(made, word, absent) is absent]
    if callable(made) and "predict_proba" in lacking:
        made, lacking = FunctionLabeler(made), []
    if lacking:
        raise ValueError(
            f"the labeler {name} is not usable: {type(made).__name__} has no {', '.join(lacking)}; see Labeler in "
            f"{Labeler.__module__}"
        )
    return CheckedLabeler(made, name)


def _from_entry_point(name: str, device: str, batch_tokens: int | None) -> Labeler | None:
    if (point := load_entry_point(ENTRY_POINTS, name)) is None:
        return None
    make, distribution = point
    shown = f"{name!r} of {distribution}"
    try:
        labeler = make(device, batch_tokens)
    except Exception as error:  # code of another package can raise anything
        raise ValueError(f"the labeler {shown} could not be made: {type(error).__name__}: {error}") from error
    return _as_labeler(labeler, shown)


def _imported(name: str) -> Labeler:
    module, _, attributes = name.partition(":")
    try:
        made: Any = import_module(module)
        for attribute in attributes.split("."):
            made = getattr(made, attribute)
        return _as_labeler(made, repr(name))
    except ValueError:
        raise
    except Exception as error:  # a module's code can raise anything
        raise ValueError(
            f"the labeler {name!r} could not be made: {type(error).__name__}: {error}; give it as "
            "package.module:ClassOrFunction, and make its module importable (install it, or set PYTHONPATH)"
        ) from error


def _downloaded(name: str, code: bool) -> Path:
    if "@" in name:  # no Hub id contains "@", but the default names of register_labeler do
        raise ValueError(
            f"the labeler {name!r} was registered in another process: name its class, package.module:Class, which "
            "worker processes can import"
        )
    try:
        return download_model(name, code)
    except (OSError, ValueError) as error:
        names = ", ".join([*SHIPPED, *_registered, *entry_point_names(ENTRY_POINTS)])
        raise ValueError(
            f"model {name!r} is neither one of {names}, a folder, nor a model that the Hub gave: {error}; give the Hub "
            "id as owner/model"
        ) from error
