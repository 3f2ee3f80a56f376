"""Subtitles in two languages at once: the lines in the language wanted stay."""

import pytest

from edos_dataset.sources.parsed import Parsed
from edos_dataset.sources.subtitles.bilingual import OTHER_LINES, one_language
from edos_dataset.sources.subtitles.text import parse_subtitles

ENGLISH = """You said you would be home by eight. / I know. I'm really sorry. / I cooked for three hours, Ben.
The train stood still in the snow. / And your phone was frozen, too? / It was dead. I was scared that you'd leave.
I was afraid that you were hurt. / Can you ever forgive me? / Only if you wash all these dishes.
My mother called this morning. / Is she feeling better? / The doctor says that she can go home on Friday."""
SPANISH = """Dijiste que estarías en casa a las ocho. / Lo sé. Lo siento mucho. / Cociné durante tres horas, Ben.
El tren se quedó parado en la nieve. / ¿Y tu teléfono también se congeló? / Estaba apagado. Tenía miedo de perderte.
Yo temía que estuvieras herido. / ¿Me puedes perdonar alguna vez? / Solo si lavas todos estos platos.
Mi madre llamó esta mañana. / ¿Se siente mejor? / El médico dice que puede volver a casa el viernes."""
CHINESE = """你说八点会到家的。 / 我知道，我真的很抱歉。 / 我做了三个小时的饭，本。
火车在雪里停了。 / 你的手机也冻住了吗？ / 没电了，我很怕你会离开。
我怕你受伤了。 / 你能原谅我吗？ / 只要你洗碗。
我妈妈今天早上打电话来了。 / 她好些了吗？ / 医生说她星期五可以回家。"""


def pieces(text: str) -> list[str]:
    return [piece.strip() for line in text.split("\n") for piece in line.split(" / ")]


def parsed(cues: list[str], together: bool = True) -> Parsed:
    """Read cues, of which each line is a cue of its own unless they stand together."""
    blocks = [
        f"00:00:{2 * number:02},000 --> 00:00:{2 * number + 1:02},000\n{text}"
        for number, cue in enumerate(cues)
        for text in ([cue] if together else cue.split("\n"))
    ]
    return parse_subtitles("\n\n".join(blocks).encode())


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("other", [SPANISH, CHINESE])
@pytest.mark.parametrize("is_first", [True, False])
def test_lines_in_the_language_wanted_stay(together: bool, other: str, is_first: bool) -> None:
    pairs = zip(pieces(ENGLISH), pieces(other), strict=True)
    cues = ["\n".join(pair if is_first else pair[::-1]) for pair in pairs]
    found = one_language(parsed([*cues, "Okay."], together), "en")
    assert found.texts == [*pieces(ENGLISH), "Okay."]
    assert found.left_out == {OTHER_LINES: 12}
    assert found.starts[-1] == 24


def test_a_short_file_is_enough() -> None:
    cues = [f"{spanish}\n{english}" for english, spanish in zip(pieces(ENGLISH)[:6], pieces(SPANISH)[:6], strict=True)]
    assert one_language(parsed(cues), "en").texts == pieces(ENGLISH)[:6]
    assert one_language(parsed(cues), "es").texts == pieces(SPANISH)[:6]


def test_a_moment_of_three_lines_keeps_the_one_in_the_middle_with_its_language() -> None:
    cues = [f"{english}\n{spanish}" for english, spanish in zip(pieces(ENGLISH), pieces(SPANISH), strict=True)]
    found = one_language(parsed([*cues, "I was afraid\nthat you were hurt.\nYo temía que estuvieras herido."]), "en")
    assert found.texts[-2:] == ["I was afraid", "that you were hurt."]


@pytest.mark.parametrize(("text", "language"), [(ENGLISH, "en"), (SPANISH, "es"), (SPANISH, "en"), (CHINESE, "en")])
def test_files_in_one_language_stay_as_they_are(text: str, language: str) -> None:
    lines = pieces(text)
    file = parsed(["\n".join(pair) for pair in zip(lines[::2], lines[1::2], strict=True)])
    assert one_language(file, language) is file
