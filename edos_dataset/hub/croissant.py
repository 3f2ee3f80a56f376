"""Croissant metadata of a published version: its files with their checksums and the contents of their columns.

The format is Croissant 1.1 (MLCommons), built from the node classes of `mlcroissant`, which validates it. The metadata
that the Hub itself generates describe the current state of the branch; these describe one version and give the
checksum of each file.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import mlcroissant as mlc
from datasets import ClassLabel, Features, List, Value

from edos_dataset.publishing.front_matter import split_card

_REPOSITORY = "repo"
_PARQUET = "application/x-parquet"
_VERSION = "http://mlcommons.org/croissant/1.1"
_ADDED_IN_1_1 = {
    "arrayShape": "cr:arrayShape",
    "containedIn": "cr:containedIn",
    "description": {"@container": "@language"},
    "isArray": "cr:isArray",
    "name": {"@container": "@language"},
}
"""Terms that Croissant 1.1 adds to the JSON-LD context; `mlcroissant.Rdf()` has the context of 1.0."""

_TEXT, _NUMBER = "https://schema.org/Text", "http://mlcommons.org/croissant/Int64"
_TYPES = {
    "string": _TEXT,
    "large_string": _TEXT,
    "bool": "https://schema.org/Boolean",
    **{
        name: f"http://mlcommons.org/croissant/{name.capitalize()}"
        for name in ("int8", "int16", "int32", "int64", "float16", "float32", "float64")
    },
    **{name: f"http://mlcommons.org/croissant/UInt{name[4:]}" for name in ("uint8", "uint16", "uint32", "uint64")},
}

Json = dict[str, Any]
Labels = Mapping[tuple[str, ...], str]
"""Names of a class label → id of the record set that lists them."""

N = TypeVar("N", bound=mlc.Node)


class FileFacts(Protocol):
    """The facts about a file that `contents.ContentFile` provides."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def sha256(self) -> str:
        """SHA-256 (hex)."""


def croissant(
    name: str,
    url: str,
    version: str,
    card: str,
    files: Mapping[str, FileFacts],
    configs: Mapping[str, Mapping[str, str]],
) -> str:
    """Return the Croissant metadata of a version as JSON-LD text; equal arguments give equal text.

    Each config is a record set whose files come from the repository at the version's tag, as in the Hub's own
    metadata; every file is also listed separately with its checksum. `CONFIG_splits` lists the splits, and
    `label_names` gives the names of integer class labels.

    Args:
        name: Name of the repository, such as "ns/edos".
        url: Address of its page; files are at `URL/resolve/vVERSION/PATH`.
        version: Three numbers, such as "1.2.0".
        card: Text of its README.md, whose YAML states licence, languages, tags and features.
        files: Path in the repository → size and checksum, at least for all data files.
        configs: Config → path → split, as `contents.configs_of` returns it.

    Raises:
        ValueError: The card's YAML has no features for a config, or a type without a counterpart in Croissant.
    """
    head, body = split_card(card)
    columns = {config: _features(head, config) for config in configs}
    labels = _label_sets(columns)
    nodes = _Nodes(mlc.Context(conforms_to=_VERSION, rdf=mlc.Rdf(context=mlc.Rdf().context | _ADDED_IN_1_1)), labels)
    paths = sorted({path for of_config in configs.values() for path in of_config})
    distribution: list[mlc.FileObject | mlc.FileSet] = [
        nodes.repository(url, version),
        *(nodes.file(path, files[path], f"{url}/resolve/v{version}/{path}") for path in paths),
    ]
    record_sets = [nodes.enumeration(identity, names) for names, identity in labels.items()]
    for config, of_config in configs.items():
        splits = list(dict.fromkeys(of_config.values()))
        distribution.append(nodes.files_of_config(config, of_config))
        record_sets += [nodes.splits(config, splits), nodes.rows(config, splits, columns[config])]
    title, description = _description(body)
    metadata = mlc.Metadata(
        ctx=nodes.context,
        name=re.sub(r"[^\w.-]", "_", name),
        description=description,
        url=url,
        version=version,
        license=_licence(head),
        in_language=head.get("language"),
        keywords=head.get("tags"),
        cite_as=_citation(body),
        creators=[nodes.node(mlc.Organization, name=name.partition("/")[0])],
        distribution=distribution,
        record_sets=record_sets,
        extra_properties={"alternateName": [name, head.get("pretty_name", title)], "isLiveDataset": False},
    )
    text = json.dumps(metadata.to_json(), indent=1, ensure_ascii=False)
    return text.replace("<", "\\u003c") + "\n"  # equal JSON that is safe to embed in an HTML page


class _Nodes:
    """Builds the nodes of one document, which share its context."""

    def __init__(self, context: mlc.Context, labels: Labels) -> None:
        self.context, self.labels = context, labels

    def node(self, kind: type[N], identity: str = "", **facts: Any) -> N:  # noqa: ANN401 - as the node takes them
        """Return a node; its id, if any, is also its name unless `facts` has another."""
        named = {"id": identity, "name": identity} if identity else {"id": "_:unnamed"}  # written without an id
        node: N = kind(ctx=self.context, **(named | facts))
        return node

    def repository(self, url: str, version: str) -> mlc.FileObject:
        return self.node(
            mlc.FileObject,
            _REPOSITORY,
            description="The git repository, at the tag of this version.",
            content_url=f"{url}/tree/refs%2Ftags%2Fv{version}",
            encoding_formats=["git+https"],
            # A repository has no checksum; the Hub's own metadata use this address instead.
            sha256="https://github.com/mlcommons/croissant/issues/80",
        )

    def file(self, path: str, file: FileFacts, url: str) -> mlc.FileObject:
        size, kind = f"{file.size} B", [_PARQUET]
        return self.node(
            mlc.FileObject, path, content_url=url, content_size=size, encoding_formats=kind, sha256=file.sha256
        )

    def files_of_config(self, config: str, files: Mapping[str, str]) -> mlc.FileSet:
        return self.node(
            mlc.FileSet,
            f"{config}_files",
            description=f"The files of the config {config}.",
            contained_in=[_REPOSITORY],
            encoding_formats=[_PARQUET],
            includes=sorted(files),
        )

    def enumeration(self, identity: str, names: Sequence[str]) -> mlc.RecordSet:
        """Return a record set of label names with their numbers."""
        data = [{f"{identity}/id": number, f"{identity}/name": label} for number, label in enumerate(names)]
        columns = {"id": _NUMBER, "name": _TEXT}
        return self._listed(identity, "The meaning of the labels' integers.", "Enumeration", columns, data)

    def splits(self, config: str, splits: Sequence[str]) -> mlc.RecordSet:
        identity = f"{config}_splits"
        data = [{f"{identity}/split": split} for split in splits]
        return self._listed(identity, f"Splits of the config {config}.", "Split", {"split": _TEXT}, data)

    def _listed(
        self, identity: str, description: str, kind: str, columns: Mapping[str, str], data: list[Json]
    ) -> mlc.RecordSet:
        """Return a record set that contains its records; the first column is its key."""
        fields = [
            self.node(mlc.Field, f"{identity}/{column}", name=column, data_types=[type_])
            for column, type_ in columns.items()
        ]
        vocabulary = "http://mlcommons.org/croissant/" if kind == "Split" else "https://schema.org/"
        return self.node(
            mlc.RecordSet,
            identity,
            description=description,
            data_types=[f"{vocabulary}{kind}"],
            key=[fields[0].id],
            fields=fields,
            data=data,
        )

    def rows(self, config: str, splits: Sequence[str], features: Features) -> mlc.RecordSet:
        """Return the record set of a config's rows."""
        files = f"{config}_files"
        pattern = f"{re.escape(config)}/({'|'.join(map(re.escape, splits))})-.+parquet$"
        split = self.node(
            mlc.Field,
            f"{config}/split",
            name="split",
            description="The split, taken from the file's path.",
            data_types=[_TEXT],
            source=self.node(
                mlc.Source,
                file_set=files,
                extract=self.node(mlc.Extract, file_property="fullpath"),
                transforms=[self.node(mlc.Transform, regex=pattern)],
            ),
            references=self.node(mlc.Source, field=f"{config}_splits/split"),
        )
        columns = [self.field(f"{config}/{name}", feature, files, [name]) for name, feature in features.items()]
        return self.node(mlc.RecordSet, config, description=f"The config {config}.", fields=[split, *columns])

    def field(
        self,
        identity: str,
        feature: Any,  # noqa: ANN401 - a feature of `datasets` may be anything
        files: str,
        path: Sequence[str],
        depth: int = 0,
    ) -> mlc.Field:
        """Return a column, or the part of one at `path`, as a field with its sub-fields.

        Args:
            identity: Id of the field.
            feature: Feature of `datasets`.
            files: Id of the file set.
            path: Name of the column and of the nested fields.
            depth: Number of enclosing lists.
        """
        shape = []
        while isinstance(feature, List):
            shape.append(str(feature.length))
            feature = feature.feature
        facts: Json = {"name": path[-1], **({"is_array": True, "array_shape": ",".join(shape)} if shape else {})}
        source = self.node(
            mlc.Source,
            file_set=files,
            extract=self.node(mlc.Extract, column=path[0]),
            transforms=[self.node(mlc.Transform, json_path=key) for key in path[1:]],
        )
        depth += len(shape)
        if isinstance(feature, dict):
            parts = [self.field(f"{identity}/{key}", part, files, [*path, key], depth) for key, part in feature.items()]
            if depth < 2:
                return self.node(mlc.Field, identity, **facts, sub_fields=parts)
            # Only the whole list has a source: if its sub-fields have one, mlcroissant 1.1 reads nothing at all.
            for part in parts:
                part.source = mlc.Source()
            return self.node(mlc.Field, identity, **facts, source=source, sub_fields=parts)
        if isinstance(feature, ClassLabel):
            facts["description"] = f"The label's number in the record set {self.labels[tuple(feature.names)]}."
            return self.node(mlc.Field, identity, **facts, data_types=[_NUMBER], source=source)
        if not isinstance(feature, Value) or feature.dtype not in _TYPES:
            raise ValueError(
                f"the column {'.'.join(path)} is of the type {feature}, which Croissant metadata cannot express"
            )
        return self.node(mlc.Field, identity, **facts, data_types=[_TYPES[feature.dtype]], source=source)


def _label_sets(columns: Mapping[str, Features]) -> Labels:
    """Return the distinct lists of class label names, each with the id for its record set."""
    enumerations = dict.fromkeys(names for features in columns.values() for names in _class_labels(features))
    return {names: f"label_names{f'_{number}' if number > 1 else ''}" for number, names in enumerate(enumerations, 1)}


def _class_labels(feature: Any) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - a feature of `datasets` may be anything
    if isinstance(feature, ClassLabel):
        yield tuple(feature.names)
    parts = list(feature.values()) if isinstance(feature, dict) else [getattr(feature, "feature", None)]
    for part in parts:
        if part is not None:
            yield from _class_labels(part)


def _features(head: Json, config: str) -> Features:
    infos = head.get("dataset_info") or []
    for info in infos if isinstance(infos, list) else [infos]:
        if info.get("config_name") == config and info.get("features"):
            return Features._from_yaml_list(info["features"])
    raise ValueError(
        f"the card's YAML has no dataset_info with features for the config {config!r}: run the command that wrote the "
        "folder again"
    )


def _description(body: str) -> tuple[str, str]:
    """Return the title of a card and the text between it and the first section, or the title twice if there is none."""
    heading = re.search(r"^# (.+)\n(?:(?!#)[\s\S]*?)?(?=^## |\Z)", body, re.MULTILINE)
    title = heading.group(1).strip() if heading else "A dataset"
    text = heading.group(0).partition("\n")[2].strip() if heading else ""
    return title, text or title


def _citation(body: str) -> str | None:
    citation = re.search(r"```bibtex\n([\s\S]+?)```", body)
    return citation.group(1).strip() if citation else None


def _licence(head: Json) -> list[str] | None:
    licence = head.get("license")
    if licence == "other":
        licence = head.get("license_link") or head.get("license_name") or licence
    return [licence] if licence else None
