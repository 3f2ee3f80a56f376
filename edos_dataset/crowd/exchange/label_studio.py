"""Label Studio: a labeling configuration with tasks to import, and annotations from its JSON export."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from edos_dataset.crowd.exchange.questions import JUDGE, OTHER, PROMPT, Questions, answer_of, speakers
from edos_dataset.crowd.hit_answers import GRADES, HitAnswer, items_by_id


def export(questions: Questions) -> dict[str, str]:
    """Return the files by name: `config.xml` for the project's labeling interface, `tasks.json` to import."""
    tasks = []
    for hit, item in questions.each():
        data: dict[str, Any] = {"hit": hit, "item": item.id}
        data["dialogue"] = [{"author": name, "text": turn} for name, turn in speakers(item)]
        if questions.judging:
            data |= {f"reply{place + 1}": "" for place in range(questions.most)}
            data |= {f"reply{place}": text for place, text in enumerate(item.choices, 1)}
        else:
            data["choices"] = [{"value": name} for name in (*item.choices, OTHER)]
        tasks.append({"data": data})
    return {"config.xml": _config(questions), "tasks.json": json.dumps(tasks, ensure_ascii=False, indent=1)}


def _config(questions: Questions) -> str:
    lines = ['<Paragraphs name="dialogue" value="$dialogue" layout="dialogue" nameKey="author" textKey="text"/>']
    if questions.judging:
        lines.append(f"<Header value={quoteattr(JUDGE)}/>")
        for place in range(1, questions.most + 1):
            lines.append(f'<Text name="reply{place}" value="$reply{place}"/>')
            lines.append(f'<Choices name="grade{place}" toName="reply{place}" choice="single" showInline="true">')
            lines += [*(f'<Choice value="{grade}"/>' for grade in GRADES), "</Choices>"]
    else:
        lines.append(f"<Header value={quoteattr(PROMPT)}/>")
        lines.append('<Choices name="label" toName="dialogue" choice="single" required="true" value="$choices"/>')
        lines.append(
            '<TextArea name="other" toName="dialogue" maxSubmissions="1" placeholder="another word" '
            f'visibleWhen="choice-selected" whenTagName="label" whenChoiceValue="{OTHER}"/>'
        )
    return "\n".join(["<View>", *lines, "</View>", ""])


def read(path: Path, questions: Questions, alias: Callable[[str], str]) -> Iterator[HitAnswer]:
    """Yield the answers of a JSON export; cancelled annotations are left out.

    Raises:
        ValueError: the file is none, or of another batch.
    """
    items = items_by_id(questions.hits)
    try:
        tasks = json.loads(path.read_text(encoding="utf-8"))
        for task in tasks:
            for one in task["annotations"]:
                if one.get("was_cancelled"):
                    continue
                facts = {
                    "seconds": one.get("lead_time"),
                    "at": str(one.get("updated_at") or one.get("created_at") or ""),
                }
                hit, item, worker = task["data"]["hit"], task["data"]["item"], alias(_annotator(one))
                if answer := answer_of(items, hit, item, worker, _fields(one), **facts):
                    yield answer
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is no JSON export of Label Studio ({error!r}): export it as JSON, not JSON-MIN"
        ) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _annotator(annotation: Mapping[str, Any]) -> str:
    """Return who annotated: exports have an id, or the user with it."""
    user = annotation.get("completed_by", "")
    return str(user.get("id") or user.get("email") if isinstance(user, dict) else user)


def _fields(annotation: Mapping[str, Any]) -> dict[str, str]:
    fields = {}
    for region in annotation["result"]:
        value = region["value"].get("choices") or region["value"].get("text") or [""]
        fields[region["from_name"]] = str(value if isinstance(value, str) else value[0])
    return fields
