"""EmpatheticDialogues as others published it: files by emotion, or the authors' own three files."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from edos_dataset.releases.raw import Reject, Row, label_of, read_csv


def read_conversations(path: Path, annotated: bool) -> Iterator[Row | Reject]:
    """Yield the conversations of a file of EmpatheticDialogues, whose name is their emotion.

    "_comma_" becomes a comma, and blanks are collapsed. A row that is rejected takes its conversation with it: no
    history has a hole.
    """
    conversations: dict[str, Row] = {}
    broken: set[str] = set()
    for line, row in read_csv(path, ("Dialog_ID", "Type", "Actor", "Text", *(("Label",) if annotated else ()))):
        if isinstance(row, Reject):
            broken.add(row.detail)
            yield row
            continue
        name, text = row["Dialog_ID"].strip(), _plain(row["Text"])
        label = label_of(row["Label"]) if annotated else None
        faults = {
            "no_id": not name,
            "no_text": not text,
            "unknown_actor": row["Actor"] not in ("none", "speaker", "listener"),
            "unknown_label": annotated and label is None,
        }
        if reasons := [reason for reason, bad in faults.items() if bad]:
            broken.add(name)
            yield Reject(path.name, line, reasons[0], f"{name}: {row['Actor']}, {row.get('Label', '')}")
            continue
        entry = conversations.setdefault(
            name, {"dialogue_id": name, "emotion": label_of(path.stem), "situation": None, "turns": []}
        )
        if row["Actor"] == "none":
            entry["situation"] = text
        else:
            entry["turns"].append({"text": text, "speaker": row["Actor"], "label": label})
    for name, entry in conversations.items():
        if name in broken or not entry["turns"]:
            yield Reject(
                path.name,
                None,
                "no_text",
                f"{name}: {'a row of it is rejected' if name in broken else 'nothing but the situation'}",
            )
        else:
            yield entry


def read_splits(path: Path) -> Iterator[Row | Reject]:
    """Yield the conversations of `train.csv`, `valid.csv` or `test.csv` of EmpatheticDialogues as Rashkin et al.
    released it.

    Commas are "_comma_", quotes mean nothing, and a ninth value, candidates for the answer, has no name in the header
    and is left out. Whoever speaks first is the speaker. Turns come by their number, from 1; a conversation that lacks
    one, or of which a row is rejected, is rejected.
    """
    conversations: dict[str, dict[int, dict[str, str]]] = {}
    broken: dict[str, str] = {}
    for line, row in read_csv(
        path, ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance"), plain=True
    ):
        if isinstance(row, Reject):
            broken[row.detail] = "a row of it is rejected"
            yield row
            continue
        name, number = row["conv_id"].strip(), row["utterance_idx"].strip()
        faults = {
            "no_id": not name,
            "no_text": not row["utterance"].strip(),
            "unknown_label": label_of(row["context"]) is None,
        }
        faults["missing_turn"] = not number.isdecimal()
        if reasons := [reason for reason, bad in faults.items() if bad]:
            broken[name] = "a row of it is rejected"
            yield Reject(path.name, line, reasons[0], f"{name}: {number}, {row['context']}")
        elif conversations.setdefault(name, {}).setdefault(int(number), row) is not row:
            broken[name] = f"it has two turns {number}"
    for name, turns in conversations.items():
        speakers = list(dict.fromkeys(turns[number]["speaker_idx"] for number in sorted(turns)))
        if name not in broken and sorted(turns) != list(range(1, len(turns) + 1)):
            broken[name] = f"it has the turns {', '.join(map(str, sorted(turns)))}"
        if name in broken or len(speakers) > 2:
            reason = "missing_turn" if name in broken else "unknown_actor"
            yield Reject(path.name, None, reason, f"{name}: {broken.get(name) or f'{len(speakers)} speakers'}")
            continue
        first = turns[1]
        yield {
            "dialogue_id": name,
            "emotion": label_of(first["context"]),
            "situation": _plain(first["prompt"]) or None,
            "turns": [_said(turns[number], speakers[0]) for number in sorted(turns)],
        }


def _said(turn: Mapping[str, str], speaker: str) -> Row:
    who = "speaker" if turn["speaker_idx"] == speaker else "listener"
    return {"text": _plain(turn["utterance"]), "speaker": who, "label": None}


def _plain(text: str) -> str:
    return " ".join(text.replace("_comma_", ",").split())
