"""The columns of a config in the words of Croissant: a feature of `datasets` becomes a field with its sub-fields, names
of labels a record set.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Features

Json = dict[str, Any]

_TYPES = {
    "string": "sc:Text",
    "large_string": "sc:Text",
    "bool": "sc:Boolean",
    **{
        name: f"cr:{name.capitalize()}" for name in ("int8", "int16", "int32", "int64", "float16", "float32", "float64")
    },
    **{name: f"cr:UInt{name[4:]}" for name in ("uint8", "uint16", "uint32", "uint64")},
}


def label_sets(columns: Mapping[str, "Features"]) -> dict[tuple[str, ...], str]:
    """Return the names of all class labels, each list once, and the id that its record set gets."""
    enumerations = dict.fromkeys(names for features in columns.values() for names in _class_labels(features))
    return {names: f"label_names{f'_{number}' if number > 1 else ''}" for number, names in enumerate(enumerations, 1)}


def _class_labels(feature: Any) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - a feature of `datasets` may be anything
    from datasets import ClassLabel

    if isinstance(feature, ClassLabel):
        yield tuple(feature.names)
    for part in (
        feature.values() if isinstance(feature, dict) else [feature.feature] if hasattr(feature, "feature") else []
    ):
        yield from _class_labels(part)


def enumeration(identity: str, names: tuple[str, ...]) -> Json:
    """Return the record set of some label names, each with its number."""
    fields = [
        {"@type": "cr:Field", "@id": f"{identity}/{column}", "name": column, "dataType": kind}
        for column, kind in (("id", "cr:Int64"), ("name", "sc:Text"))
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": identity,
        "name": identity,
        "description": "What the integers of the labels stand for.",
        "dataType": "sc:Enumeration",
        "key": {"@id": f"{identity}/id"},
        "field": fields,
        "data": [{f"{identity}/id": number, f"{identity}/name": label} for number, label in enumerate(names)],
    }


def field_of(
    identity: str,
    feature: Any,  # noqa: ANN401
    files: str,
    path: list[str],
    labels: Mapping[tuple[str, ...], str],
    depth: int = 0,
) -> Json:
    """Return a column, or what lies at `path` in one, as a field with its sub-fields.

    A list of structs in a list of structs says itself where it lies, and its sub-fields don't: with a path of their own
    mlcroissant 1.1 reads nothing at all.

    Args:
        identity: of the field.
        feature: of `datasets`.
        files: id of the file set.
        path: the column's name, and the names below it.
        labels: names of a class label → id of their record set.
        depth: lists around it.
    """
    from datasets import ClassLabel, List, Value

    source: Json = {"fileSet": {"@id": files}, "extract": {"column": path[0]}}
    if path[1:]:
        source["transform"] = [{"jsonPath": key} for key in path[1:]]
    field: Json = {"@type": "cr:Field", "@id": identity, "name": path[-1]}
    if isinstance(feature, List):
        inner = field_of(identity, feature.feature, files, path, labels, depth + 1)
        shape = f"{feature.length},{inner['arrayShape']}" if "arrayShape" in inner else str(feature.length)
        return {**inner, "isArray": True, "arrayShape": shape}
    if isinstance(feature, dict):
        parts = [
            field_of(f"{identity}/{key}", part, files, [*path, key], labels, depth) for key, part in feature.items()
        ]
        if depth > 1:
            return {
                **field,
                "source": source,
                "subField": [{key: value for key, value in part.items() if key != "source"} for part in parts],
            }
        return {**field, "subField": parts}
    if isinstance(feature, ClassLabel):
        described = {"description": f"The label's number in the record set {labels[tuple(feature.names)]}."}
        return {**field, **described, "dataType": "cr:Int64", "source": source}
    if not isinstance(feature, Value) or feature.dtype not in _TYPES:
        raise ValueError(f"the column {'.'.join(path)} is of the type {feature}, which Croissant metadata cannot state")
    return {**field, "dataType": _TYPES[feature.dtype], "source": source}
