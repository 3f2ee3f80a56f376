"""Translation of predicted labels into the labels to write: those of another label set, or of a custom map."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from edos_dataset.arrays import Floats
from edos_dataset.label_sets import BUILT_IN, LabelMap, LabelSet, load_label_map, load_label_set, map_between
from edos_dataset.label_sets.label_map import checked_content
from edos_dataset.label_sets.label_set import LabelSetError
from edos_dataset.label_sets.reading import at_line
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.endpoint.labeler import EndpointLabeler
from edos_dataset.labeling.models.endpoint.settings import PREFIX
from edos_dataset.labeling.models.labelers import CheckedLabeler
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.text import shown

Given = str | dict[str, Any] | None
"""A label set or a map as a parameter of a stage: the name of a built-in set, or plain data."""


_files: dict[str, Path] = {}
"""Plain data as JSON → the file that they were read from, for error messages."""


class Translation(NamedTuple):
    """Maps from the probabilities of one label set to those of another.

    Attributes:
        labels: the label set of the result.
        maps: the maps, applied in order.
    """

    labels: LabelSet
    maps: tuple[LabelMap, ...] = ()

    def __call__(self, probabilities: Floats, exclusive: bool) -> Floats:
        """Return the probabilities of the resulting labels."""
        for step in self.maps:
            probabilities = step.apply(probabilities, exclusive)
        return probabilities


def as_parameter(given: Any) -> Given:  # noqa: ANN401 - what a user gives
    """Return a label set, a list of the names of its labels, a map, or a file, as a parameter of a stage.

    The content of a file becomes part of the recipe, so that the recipe means the same everywhere.

    Raises:
        LabelSetError: the input is neither a label set nor a map.
    """
    if isinstance(given, LabelSet | LabelMap):
        return given.as_dict()
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, list | tuple):
        return load_label_set(given).as_dict()
    if isinstance(given, str | Path) and str(given) not in BUILT_IN:
        content = checked_content(Path(given))
        _files[json.dumps(content)] = Path(given)
        return content
    if given is not None and not isinstance(given, str):
        raise LabelSetError(
            f"{shown(given)} is neither a label set nor a map: give a name, a file, a list of labels, or a LabelSet"
        )
    return given


def naming(labeler: Labeler, label_set: Given, multi_label: bool = False) -> Labeler:
    """Return a labeler whose labels are those of a set, unless it says itself what they are; one at an endpoint gives a
    turn several of them if `multi_label`.

    Raises:
        ValueError: several are wanted of another labeler, which says itself how many it gives.
    """
    if isinstance(labeler, EndpointLabeler):
        return labeler.naming(labeler.label_set if label_set is None else load_label_set(label_set), multi_label)
    if multi_label:
        raise ValueError(f"--multi-label is for models at an endpoint, {PREFIX}MODEL; others say themselves how many")
    if label_set is not None and isinstance(labeler, CheckedLabeler):
        return labeler.naming(load_label_set(label_set))
    return labeler


def translation_of(labels: LabelSet, label_set: Given, label_map: Given) -> Translation:
    """Return the translation of the probabilities of some labels: into a label set by the known map, then by another
    map.

    Raises:
        LabelSetError: a set or map is invalid, or no map is known.
    """
    return _translation(labels, json.dumps(label_set), json.dumps(label_map))


@lru_cache(maxsize=64)
def _translation(labels: LabelSet, label_set: str, label_map: str) -> Translation:
    maps: list[LabelMap] = []
    wanted, mapped = json.loads(label_set), json.loads(label_map)
    if wanted is not None:
        target = load_label_set(wanted)
        if target != labels:
            maps.append(map_between(labels, target))
            labels = target
    if mapped is not None:
        try:
            maps.append(load_label_map(mapped, labels))
        except LabelSetError as error:
            if label_map not in _files:
                raise
            raise at_line(error, _files[label_map]) from error
        labels = maps[-1].target
    return Translation(labels, tuple(maps))


def digest_of(labeler: Labeler, translation: Translation) -> str | None:
    """Return a hash of everything that decides which labels are written, for fingerprints; None for untranslated EDOS
    labels.
    """
    if not translation.maps and labeler.label_set == Labeler.label_set:
        return None
    return hash_json([labeler.label_set.digest, *(step.digest for step in translation.maps)])
