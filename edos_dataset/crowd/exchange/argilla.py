"""Argilla 2: the folder that `rg.Dataset.from_disk` reads, and the one that `to_disk` writes, with the responses."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from edos_dataset.crowd.exchange.questions import JUDGE, OTHER, PROMPT, Questions, answer_of, speakers
from edos_dataset.crowd.hit_answers import GRADES, HitAnswer, items_by_id
from edos_dataset.labels import LABELS

RECORDS = "records.json"


def export(questions: Questions) -> dict[str, str]:
    """Return the files by name: `.argilla/dataset.json`, `.argilla/settings.json`, `records.json`.

    Its options are the same for all records, so a label is chosen from all 41; the three suggested ones stand beside
    the dialogue, none is chosen beforehand.
    """
    guidelines = JUDGE if questions.judging else PROMPT
    distribution = {"strategy": "overlap", "min_submitted": questions.workers}
    replies = range(1, questions.most + 1)
    fields = [_field("dialogue", "Dialogue", {"type": "chat", "use_markdown": False})]
    if questions.judging:
        text = {"type": "text", "use_markdown": False}
        fields += [_field(f"reply{place}", f"Reply {place}", text, place <= 2) for place in replies]
        asked = [_question(f"grade{place}", f"Reply {place}", GRADES, place <= 2) for place in replies]
    else:
        fields.append(_field("suggested", "Suggested", {"type": "text", "use_markdown": False}))
        typed = {"name": "other", "title": "Another word", "required": False}
        asked = [
            _question("label", PROMPT, (*LABELS, OTHER)),
            {**typed, "settings": {"type": "text", "use_markdown": False}},
        ]
    settings = {
        "guidelines": guidelines,
        "fields": fields,
        "questions": asked,
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": True,
        "distribution": distribution,
        "mapping": None,
    }
    dataset = {
        "name": "edos_judging" if questions.judging else "edos_labelling",
        "status": "draft",
        "guidelines": guidelines,
        "allow_extra_metadata": True,
        "distribution": distribution,
    }
    records = [_record(hit, item, questions) for hit, item in questions.each()]
    content = {".argilla/dataset.json": dataset, ".argilla/settings.json": settings, RECORDS: records}
    return {name: json.dumps(value, ensure_ascii=False, indent=1) for name, value in content.items()}


def _field(name: str, title: str, settings: dict[str, Any], required: bool = True) -> dict[str, Any]:
    return {"name": name, "title": title, "required": required, "settings": settings}


def _question(name: str, title: str, options: tuple[str, ...], required: bool = True) -> dict[str, Any]:
    chosen = [{"value": option, "text": option, "description": None} for option in options]
    settings = {"type": "label_selection", "options": chosen, "visible_options": len(options)}
    return {"name": name, "title": title, "required": required, "settings": settings}


def _record(hit: str, item: Any, questions: Questions) -> dict[str, Any]:  # noqa: ANN401 - an Item
    fields: dict[str, Any] = {
        "dialogue": [{"role": name, "content": turn} for name, turn in speakers(item)],
    }
    if questions.judging:
        fields |= {f"reply{place}": text for place, text in enumerate(item.choices, 1)}
    else:
        fields["suggested"] = ", ".join(item.choices)
    facts = {"hit": hit, "item": item.id}
    empty: dict[str, Any] = {"suggestions": {}, "responses": {}, "vectors": {}}
    return {"id": f"{hit}/{item.id}", "fields": fields, "metadata": facts, **empty, "status": "pending"}


def read(path: Path, questions: Questions, alias: Callable[[str], str]) -> Iterator[HitAnswer]:
    """Yield the answers of a folder that `to_disk` wrote, or of its `records.json`.

    Raises:
        ValueError: there is no such file, or it is of another batch.
    """
    path, items = path / RECORDS if path.is_dir() else path, items_by_id(questions.hits)
    try:
        for record in json.loads(path.read_text(encoding="utf-8")):
            users: dict[str, dict[str, str]] = {}
            for name, responses in (record["responses"] or {}).items():
                for one in responses:
                    users.setdefault(str(one["user_id"]), {})[name] = str(one["value"] or "")
            hit, item = record["metadata"]["hit"], record["metadata"]["item"]
            for user, fields in users.items():
                if answer := answer_of(items, hit, item, alias(user), fields):
                    yield answer
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is none of Argilla's records ({error!r}): give the folder of `to_disk`") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
