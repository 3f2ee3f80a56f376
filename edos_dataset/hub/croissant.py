"""Croissant metadata of a published version: its files with their checksums, and what is in their columns, as JSON-LD.

The format is Croissant 1.1 (MLCommons, http://mlcommons.org/croissant/1.1), with the vocabulary that the Hub's own
metadata use. Those of the Hub describe whatever the branch holds today; these describe one version and say by which
checksum each file of it is known.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from edos_dataset.hub.croissant_columns import Json, enumeration, field_of, label_sets
from edos_dataset.publishing.front_matter import split_card

if TYPE_CHECKING:
    from datasets import Features

FILE = "croissant.json"
"""Name of the file in the repository."""

_REPOSITORY = "repo"
_PARQUET = "application/x-parquet"
_TERMS = (
    "arrayShape citeAs column containedIn equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isArray isLiveDataset jsonPath key "
    "md5 parentField path recordSet references regex repeated replace samplingRate separator source subField transform"
)
_CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}


class FileFacts(Protocol):
    """What is known of a file: `contents.ContentFile` says it."""

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

    A config is a record set whose files are taken from the repository at the version's tag, as in the Hub's own
    metadata; every file also stands there by itself, with its checksum. `CONFIG_splits` lists the splits, and
    `label_names` what the integers of class labels stand for.

    Args:
        name: of the repository, such as "ns/edos".
        url: of its page; files lie at `URL/resolve/vVERSION/PATH`.
        version: three numbers, such as "1.2.0".
        card: text of its README.md, whose YAML says licence, languages, tags and features.
        files: path in the repository → size and checksum, of all data files at least.
        configs: config → path → split, as `contents.configs_of` returns it.

    Raises:
        ValueError: the card's YAML names no features for a config, or a type that has no counterpart in Croissant.
    """
    head, body = split_card(card)
    columns = {config: _features(head, config) for config in configs}
    labels = label_sets(columns)
    paths = sorted({path for of_config in configs.values() for path in of_config})
    record_sets = [enumeration(identity, names) for names, identity in labels.items()]
    distribution = [
        _repository(url, version),
        *(_file_object(path, files[path], f"{url}/resolve/v{version}/{path}") for path in paths),
    ]
    for config, of_config in configs.items():
        splits = list(dict.fromkeys(of_config.values()))
        distribution.append(_file_set(config, of_config))
        record_sets += [_split_set(config, splits), _record_set(config, splits, columns[config], labels)]
    title, description = _described(body)
    facts = {
        "name": re.sub(r"[^\w.-]", "_", name),
        "alternateName": [name, head.get("pretty_name", title)],
        "description": description,
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "url": url,
        "version": version,
        "license": _licence(head),
        "inLanguage": head.get("language"),
        "keywords": head.get("tags"),
        "citeAs": _citation(body),
        "creator": {"@type": "sc:Organization", "name": name.partition("/")[0]},
        "isLiveDataset": False,
        "distribution": distribution,
        "recordSet": record_sets,
    }
    stated = {key: value for key, value in facts.items() if value is not None}
    text = json.dumps({"@context": _CONTEXT, "@type": "sc:Dataset", **stated}, indent=1, ensure_ascii=False)
    return text.replace("<", "\\u003c") + "\n"  # equal JSON, of which a page of HTML may be made


def _features(head: Json, config: str) -> "Features":
    from datasets import Features

    infos = head.get("dataset_info") or []
    for info in infos if isinstance(infos, list) else [infos]:
        if info.get("config_name") == config and info.get("features"):
            return Features._from_yaml_list(info["features"])
    raise ValueError(
        f"the card's YAML has no dataset_info with features for the config {config!r}: give the command that wrote the "
        "folder again"
    )


def _described(body: str) -> tuple[str, str]:
    """Return the title of a card, and what stands between it and the first section, or the title again where nothing
    does.
    """
    heading = re.search(r"^# (.+)\n(?:(?!#)[\s\S]*?)?(?=^## |\Z)", body, re.MULTILINE)
    title = heading.group(1).strip() if heading else "A data set"
    text = heading.group(0).partition("\n")[2].strip() if heading else ""
    return title, text or title


def _citation(body: str) -> str | None:
    citation = re.search(r"```bibtex\n([\s\S]+?)```", body)
    return citation.group(1).strip() if citation else None


def _licence(head: Json) -> str | None:
    licence = head.get("license")
    return head.get("license_link") or head.get("license_name") or licence if licence == "other" else licence


def _split_set(config: str, splits: list[str]) -> Json:
    identity = f"{config}_splits"
    return {
        "@type": "cr:RecordSet",
        "@id": identity,
        "name": identity,
        "description": f"Splits of the config {config}.",
        "dataType": "cr:Split",
        "key": {"@id": f"{identity}/split"},
        "field": [{"@type": "cr:Field", "@id": f"{identity}/split", "name": "split", "dataType": "sc:Text"}],
        "data": [{f"{identity}/split": split} for split in splits],
    }


def _repository(url: str, version: str) -> Json:
    """Return the repository at the version's tag; it has no checksum of its own, and the text in its place is what the
    Hub's own metadata say.
    """
    return {
        "@type": "cr:FileObject",
        "@id": _REPOSITORY,
        "name": _REPOSITORY,
        "description": "The git repository, at the tag of this version.",
        "contentUrl": f"{url}/tree/refs%2Ftags%2Fv{version}",
        "encodingFormat": "git+https",
        "sha256": "https://github.com/mlcommons/croissant/issues/80",
    }


def _file_object(path: str, file: FileFacts, url: str) -> Json:
    size, kind = f"{file.size} B", _PARQUET
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": url,
        "contentSize": size,
        "encodingFormat": kind,
        "sha256": file.sha256,
    }


def _file_set(config: str, files: Mapping[str, str]) -> Json:
    return {
        "@type": "cr:FileSet",
        "@id": f"{config}_files",
        "name": f"{config}_files",
        "description": f"The files of the config {config}.",
        "containedIn": {"@id": _REPOSITORY},
        "encodingFormat": _PARQUET,
        "includes": sorted(files),
    }


def _record_set(
    config: str, splits: Sequence[str], features: "Features", labels: Mapping[tuple[str, ...], str]
) -> Json:
    fields = [
        field_of(f"{config}/{column}", feature, f"{config}_files", [column], labels)
        for column, feature in features.items()
    ]
    split = {
        "@type": "cr:Field",
        "@id": f"{config}/split",
        "name": "split",
        "description": "The split, read off the file's path.",
        "dataType": "sc:Text",
        "source": {
            "fileSet": {"@id": f"{config}_files"},
            "extract": {"fileProperty": "fullpath"},
            "transform": {"regex": f"{re.escape(config)}/({'|'.join(map(re.escape, splits))})-.+parquet$"},
        },
        "references": {"field": {"@id": f"{config}_splits/split"}},
    }
    return {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": f"The config {config}.",
        "field": [split, *fields],
    }
