"""Faster import of `transformers`, whose modules import libraries that labelling never calls."""

import gc
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_SCIPY = "scipy.optimize"
_MODULES = ("transformers.modeling_utils", "transformers.models.auto", "transformers.pipelines.text_classification")


def import_transformers() -> None:
    """Import what all models of `transformers` share, in three quarters of the usual time (`benchmarks/startup.py`).

    Scipy is replaced by a stand-in, as only the loss of object detectors needs it; the stand-in imports scipy when it
    is called. Garbage collection is paused, as importing leaves no garbage and the collector would traverse all new
    objects many times.
    """
    if "transformers.modeling_utils" in sys.modules or "scipy" in sys.modules:
        return
    stand_in: Any = ModuleType(_SCIPY)
    stand_in.__spec__ = ModuleSpec(_SCIPY, None)
    stand_in.linear_sum_assignment = _linear_sum_assignment
    sys.modules[_SCIPY] = stand_in
    collecting = gc.isenabled()
    gc.disable()
    try:
        for module in _MODULES:
            import_module(module)
    except ImportError:  # a version that imports more of scipy: leave it to the usual import
        pass
    finally:
        if collecting:
            gc.enable()
        if sys.modules.get(_SCIPY) is stand_in:
            del sys.modules[_SCIPY]


def _linear_sum_assignment(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 - as scipy's
    return import_module(_SCIPY).linear_sum_assignment(*arguments, **keywords)


def device_for(model: object, device: str | None) -> str:
    """Return the device of a labeler: the given one, else a GPU if available.

    For a model without a neural network torch is not imported, and the device is "cpu". For a model that `transformers`
    loads, `import_transformers` is called.
    """
    from edos_dataset.encoders.encoder import default_device
    from edos_dataset.labeling.models.endpoint.settings import PREFIX
    from edos_dataset.labeling.models.shipped import SHIPPED

    if isinstance(model, str) and model.startswith(PREFIX):
        return device or "cpu"
    shipped = SHIPPED.get(model) if isinstance(model, str) else None
    if device is None and (shipped.kind == "static" if shipped else not isinstance(model, str)):
        return "cpu"
    if shipped.kind == "classifier" or shipped.backbone if shipped else isinstance(model, str):
        import_transformers()
    return device or default_device()
