"""The label set of a table, stored as Arrow metadata next to the label ids. A table without metadata has the default
set.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import pyarrow as pa

from edos_dataset.label_sets.label_set import LabelSet
from edos_dataset.label_sets.reading import BUILT_IN, DEFAULT, load_label_set, set_of_names
from edos_dataset.runs.untrusted import UntrustedInputError, json_of

_KEY, _OF_DATASETS = b"edos.label_set", b"huggingface"

T = TypeVar("T", pa.Table, pa.Schema)


def with_label_set(given: T, labels: LabelSet) -> T:
    """Return a table or schema whose label ids refer to a label set.

    For the default set a schema stays without metadata, and a table gets only the set's name.
    """
    schema = given.schema if isinstance(given, pa.Table) else given
    metadata = {key: value for key, value in (schema.metadata or {}).items() if key != _KEY}
    if labels != load_label_set(DEFAULT):
        metadata[_KEY] = json.dumps(labels.described().as_dict(), ensure_ascii=False).encode()
    if isinstance(given, pa.Schema):
        return given.with_metadata(metadata or None)
    return given.replace_schema_metadata({_KEY: json.dumps(DEFAULT).encode(), **metadata})


def label_set_of(schema: pa.Schema) -> LabelSet:
    """Return the label set of a table, given its schema: the one that `with_label_set` wrote, or one made of the label
    names that `datasets` wrote.
    """
    metadata = schema.metadata or {}
    if _KEY in metadata:
        return _parsed(metadata[_KEY])
    return _of_features(metadata[_OF_DATASETS]) if _OF_DATASETS in metadata else load_label_set(DEFAULT)


@lru_cache(maxsize=64)
def _parsed(written: bytes) -> LabelSet:
    labels = load_label_set(json_of(written))
    # Only the built-in set has its maps.
    known = load_label_set(labels.name) if labels.name in BUILT_IN else labels
    return known if known.labels == labels.labels else labels


def features_of(metadata: Mapping[bytes, bytes] | None) -> Mapping[str, Any]:
    """Return the features that `datasets` wrote into the metadata of a schema; nothing where there are none, or they
    are damaged.
    """
    try:
        features = json_of((metadata or {}).get(_OF_DATASETS, b"{}"))["info"]["features"]
    except (UntrustedInputError, KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


@lru_cache(maxsize=64)
def _of_features(written: bytes) -> LabelSet:
    try:
        names = next(_class_labels(features_of({_OF_DATASETS: written})), None)
    except RecursionError:
        names = None
    return load_label_set(DEFAULT) if names is None else set_of_names(names)


def _class_labels(feature: Any) -> Iterator[list[str]]:  # noqa: ANN401 - plain data
    """Yield the label names of each `ClassLabel` feature, outer features first."""
    if not isinstance(feature, dict):
        for inner in feature if isinstance(feature, list) else ():
            yield from _class_labels(inner)
    elif feature.get("_type") == "ClassLabel":
        names = feature.get("names")
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            yield names
    else:
        for name in sorted(feature, key=lambda name: name != "label"):
            yield from _class_labels(feature[name])
