"""Pseudonyms for speakers: "speaker 1", "speaker 2", ... in the order in which they first speak in a document."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from edos_dataset.arrays import nest, unnest
from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.schema.tables import LINE
from edos_dataset.sources.subtitles.speakers import ORDINARY, is_anonymous, key_of

_PART = re.compile(r"[^\W\d_]{3,}")
_DEVICE_WORDS = "iphone ipad macbook phone laptop tablet android galaxy the external guest support"
_DEVICES = frozenset(_DEVICE_WORDS.split())


@dataclass
class Pseudonyms:
    """The pseudonyms of the speakers of one document, extended as speakers appear."""

    _of: dict[str, str] = field(default_factory=dict)
    _named: dict[str, str] = field(default_factory=dict)
    _pattern: re.Pattern[str] | None = None

    def add(self, names: Iterable[str | None]) -> None:
        """Give a pseudonym to each speaker that has none."""
        before = len(self._of)
        for name in names:
            if name is None or not key_of(name) or key_of(name) in self._of:
                continue
            self._of[key_of(name)] = pseudonym = f"speaker {len(self._of) + 1}"
            if not is_anonymous(name):
                for part in (name, *_parts(name)):
                    self._named.setdefault(part.casefold(), pseudonym)
        if len(self._of) > before:
            longest_first = sorted(self._named, key=lambda part: (-len(part), part))
            bare = "|".join(map(re.escape, longest_first))
            self._pattern = re.compile(rf"(?<![^\W_])@?(?:{bare})(?![^\W_])", re.IGNORECASE) if bare else None

    def of(self, name: str | None) -> str | None:
        """Return the pseudonym of a speaker."""
        return None if name is None else self._of.get(key_of(name), name)

    def in_text(self, text: str) -> str:
        """Return a text with mentions of speakers replaced by pseudonyms; a word in lower case is no mention."""
        return self._pattern.sub(self._mention, text) if self._pattern else text

    def in_name(self, name: str) -> str:
        """Return the name of a file or document; if it mentions a speaker, a digest with the same suffix instead."""
        if self._pattern is None or not self._pattern.search(name):
            return name
        suffix = re.search(r"(?:\.\w{1,5}){0,2}$", name)
        return f"document-{hashlib.sha256(name.encode()).hexdigest()[:12]}{suffix[0] if suffix else ''}"

    def _mention(self, match: re.Match[str]) -> str:
        word = match[0].removeprefix("@")
        is_mention = match[0].startswith("@") or not word.islower() or not word.isalpha()
        return self._named[word.casefold()] if is_mention else match[0]


def _parts(name: str) -> Iterator[str]:
    for part in _PART.findall(re.sub(r"['’]s\b", "", name)):
        if part.casefold() not in ORDINARY | _DEVICES:
            yield part


@dataclass(frozen=True)
class PseudonymizeSpeakers(Stage):
    """Replace the names of a document's speakers by pseudonyms: in `speaker`, where a text mentions them, and in the
    name of the document.

    Names of people who never speak stay in the texts.
    """

    name: ClassVar[str] = "pseudonyms"
    unit: ClassVar[Unit] = "lines"
    needs, gives = ("lines",), ()

    def __call__(self, table: pa.Table) -> pa.Table:
        """Rename the speakers of LINES."""
        lines, offsets = unnest(table, "lines")
        texts, speakers, manners = (lines.field(name).to_pylist() for name in ("text", "speaker", "manner"))
        ids, films, sources = (table[name].to_pylist() for name in ("document_id", "film", "source"))
        for row, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            known = Pseudonyms()
            known.add(speakers[start:stop])
            texts[start:stop] = map(known.in_text, texts[start:stop])
            manners[start:stop] = [note and known.in_text(note) for note in manners[start:stop]]
            speakers[start:stop] = map(known.of, speakers[start:stop])
            ids[row], films[row] = known.in_name(ids[row]), known.in_name(films[row])
            sources[row]["path"] = known.in_name(sources[row]["path"])
        columns = {part.name: lines.field(part.name) for part in LINE}
        columns |= {
            "text": pa.array(texts, pa.string()),
            "speaker": pa.array(speakers, pa.string()),
            "manner": pa.array(manners, pa.string()),
        }
        changed = {"document_id": ids, "film": films, "source": sources, "lines": nest(offsets, LINE, columns)}
        for name, values in changed.items():
            place, kind = table.column_names.index(name), table.schema.field(name)
            table = table.set_column(
                place, kind, values if isinstance(values, pa.Array) else pa.array(values, kind.type)
            )
        return table


def speakers_in(extras: Iterable[str | None], keys: Collection[str]) -> list[str]:
    """Return the speakers that values of turns, JSON objects or null, name under any of `keys` (in lower case)."""
    return [
        value
        for extra in extras
        if extra is not None
        for key, value in json.loads(extra).items()
        if key.casefold() in keys and isinstance(value, str)
    ]


def pseudonymized(
    texts: Sequence[str], extras: Sequence[str | None], known: Pseudonyms, keys: Collection[str]
) -> tuple[list[str], list[str | None]]:
    """Return the turns and their values, which are JSON objects or null, with speakers replaced by pseudonyms.

    The speakers are those that the values name under any of `keys` (in lower case); all are `known`.
    """
    renamed = [
        {
            key: known.of(value) if key.casefold() in keys and isinstance(value, str) else value
            for key, value in json.loads(extra or "{}").items()
        }
        for extra in extras
    ]
    shown = [json.dumps(values, ensure_ascii=False) if values else None for values in renamed]
    return list(map(known.in_text, texts)), shown
