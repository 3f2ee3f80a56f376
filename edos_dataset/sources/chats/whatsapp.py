"""WhatsApp's "Export chat": a text whose form depends on the phone's language, with a 12- or 24-hour clock."""

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import pairwise

from edos_dataset.sources.chats.messages import DELETED, MEDIA, NOTICE, Conversation

_DATE = r"(\d{1,4})\u200f?([./-])\s?(\d{1,2})\u200f?[./-]\s?(\d{1,4})\.?(?:\sг\.)?"
_HALF = (
    r"[AaPp]\.?\s?[Mm]\.?|上午|下午|午前|午後|오전|오후|[ap]|du\.?|de\.?|π\.?μ\.?|μ\.?μ\.?|nachm\.|vorm\.|ö[ös]|[صم]"
)
_TIME = rf"({_HALF})?\s?(\d{{1,2}})[:.](\d{{2}})(?:[:.](\d{{2}}))?\s?({_HALF})?(?:\sч\.)?"
_WHEN = rf"{_DATE}[,،]?\s(?:(?:klo|kl\.|um|à|às|om|at)\s)?{_TIME}"
_STAMP = re.compile(rf"[\u200e\u200f\ufeff]*(?:\[{_WHEN}\]\s|{_WHEN}\s[-–]\s)(.*)", re.DOTALL | re.IGNORECASE)
_TIME_FIRST = re.compile(r"^(\d{1,2}:\d\d), (\d{1,2}/\d{1,2}/\d{2,4}) - ", re.MULTILINE)  # of Vietnamese phones
_AFTERNOON = frozenset({"p", "pm", "下午", "午後", "오후", "du", "μμ", "nachm", "ös", "م"})
_SENDER = re.compile(r"([^:\n]{1,80}?):(?:\s|$)(.*)", re.DOTALL)

_OMITTED = re.compile(
    r"<[^<>\n]{3,60}>|null|[\w\s]{3,30}\s(?:omitted|weggelassen|ausgeschlossen|omitid[ao]s?|omise?s?|absente?s?|omess[aoi]"
    r"|weggelaten|ocult[ao]s?|ocultad[ao]s?|pominięt[ey]|kihagyva)\.?"
    r"|.*\((?:file attached|Datei angehängt|archivo adjunto|fichier joint|file allegato|bestand bijgevoegd"
    r"|arquivo anexado)\).*"
    r"|(?:live[- ])?(?:location|standort|ubicación|localisation|posizione|locatie|localização|helyzet)(?: \w+)?:?"
    r".{0,20}https?://maps.*",
    re.IGNORECASE | re.DOTALL,
)
_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|diese nachricht wurde (?:von .{1,80} )?gelöscht"
    r"|du hast diese nachricht gelöscht|se eliminó este mensaje|eliminaste este mensaje|este mensaje fue eliminado"
    r"|ce message a été supprimé|vous avez supprimé ce message|questo messaggio è stato eliminato"
    r"|hai eliminato questo messaggio|dit bericht is verwijderd|je hebt dit bericht verwijderd"
    r"|(?:esta )?mensagem (?:foi )?apagada|(?:você apagou|apagou) esta mensagem"
    r"|ez az üzenet törölve lett|törölted ezt az üzenetet)(?: by .{1,80})?\.?",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r".*(?:end-to-end.encrypt|end-to-end versleuteld|ende-zu-ende-verschlüsselt|cifrad[oa]s? de extremo a extremo"
    r"|chiffrés de bout en bout|crittografati end-to-end|criptografia de ponta|protegidas com a criptografia"
    r"|végpontok közötti titkosítás).*"
    r"|(?:missed|verpasster|llamada perdida|appel \w+ manqué|chiamata \w+ persa).{0,40}"
    r"|(?:voice|video) call.{0,40}|(?:sprach|video)anruf.{0,40}",
    re.IGNORECASE | re.DOTALL,
)
_EDITED = re.compile(
    r"<(?:this message was edited|diese nachricht wurde bearbeitet|se editó este mensaje|ce message a été modifié"
    r"|questo messaggio è stato modificato|dit bericht is bewerkt|mensagem editada)\.?>$",
    re.IGNORECASE,
)


def is_whatsapp(text: str) -> bool:
    """Whether one of the first lines of a text has a WhatsApp time stamp."""
    first = [line for line in text[:5_000].split("\n") if line.strip()][:5]
    return any(_STAMP.match(line) or _TIME_FIRST.match(line) for line in first)


def read_whatsapp(text: str) -> Conversation:
    """Return the conversation of an export.

    Day and month are taken in the order in which all dates exist and time does not run backward. If both orders fit,
    the month comes first if there are slashes and AM or PM, as in America.
    """
    entries = _entries(_TIME_FIRST.sub(r"\2, \1 - ", text))
    order = _order(entries)
    found = Conversation()
    for stamp, content in entries:
        sender = _SENDER.match(content)
        if sender is None:
            found.left_out[NOTICE] += 1
            continue
        said = _EDITED.sub("", sender[2].replace("\u200e<", "<").strip("\n\r \t\u200f")).rstrip()
        bare = said.strip("\u200e \n")
        if _DELETED.fullmatch(bare):
            found.left_out[DELETED] += 1
        elif _OMITTED.fullmatch(bare):
            found.left_out[MEDIA] += 1
        elif said.startswith("\u200e") or _NOTICE.fullmatch(bare):
            found.left_out[NOTICE] += 1
        else:
            found.add(_seconds(stamp, order), sender[1].lstrip("~\u202f\u00a0 "), said)
    return found


class _Stamp:
    """Date and time of an entry, as numbers."""

    def __init__(self, match: re.Match[str]) -> None:
        parts = match.groups()
        parts = parts[:9] if parts[0] else parts[9:18]
        first, self.mark, second, third, before, hour, minute, second_of_minute, after = parts
        self.date = (first, second, third)
        half = (before or after or "").replace(".", "").replace(" ", "").replace("\u202f", "").casefold()
        self.half = bool(half)
        self.hour = int(hour) % 12 + 12 * (half in _AFTERNOON) if half else int(hour)
        self.minute, self.second = int(minute), int(second_of_minute or 0)


def _entries(text: str) -> list[tuple[_Stamp, str]]:
    """Return time stamp and content of each entry; lines without a stamp continue the previous entry."""
    found: list[tuple[_Stamp, str]] = []
    for line in text.split("\n"):
        if match := _STAMP.match(line):
            found.append((_Stamp(match), match.groups()[-1]))
        elif found and line.strip():
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{line}")
    return found


def _order(entries: Sequence[tuple[_Stamp, str]]) -> tuple[int, int, int]:
    """Return the positions of year, month and day in a date."""
    stamps = [stamp for stamp, _ in entries]
    if any(len(stamp.date[0]) == 4 for stamp in stamps):
        return 0, 1, 2
    day_first, month_first = (2, 1, 0), (2, 0, 1)
    faults = {order: _faults(stamps, order) for order in (day_first, month_first)}
    if faults[day_first] != faults[month_first]:
        return min(faults, key=lambda order: faults[order])
    american = any(stamp.half and stamp.mark == "/" for stamp in stamps)
    return month_first if american else day_first


def _faults(stamps: Sequence[_Stamp], order: tuple[int, int, int]) -> int:
    times = [_seconds(stamp, order) for stamp in stamps]
    known = [time for time in times if time is not None]
    return 10 * times.count(None) + sum(after < before for before, after in pairwise(known))


def _seconds(stamp: _Stamp, order: tuple[int, int, int]) -> float | None:
    year, month, day = (int(stamp.date[place]) for place in order)
    year += 2000 if year < 100 else 0
    try:
        time = datetime(year, month, day, stamp.hour, stamp.minute, stamp.second, tzinfo=timezone.utc)
    except ValueError:
        return None
    return time.timestamp()
