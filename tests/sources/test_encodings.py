import pytest

from edos_dataset.sources.encodings import decode
from edos_dataset.sources.parsed import ReadError

HUNGARIAN = "Őrült vagy? Nem tudom, hol van a kulcs, de megnézem. Tűz van!"
RUSSIAN = "Я не знаю, где мои ключи. Ты опоздал!"


@pytest.mark.parametrize(
    ("encoding", "language", "text"),
    [
        ("cp1252", "en", "It’s a long way home. “Don’t you dare,” she said…"),
        ("cp1252", "en", "Don’t!"),
        ("cp1252", "en", "Well…um…national holiday"),
        ("cp1252", "en", "We met at the café."),
        ("cp1252", "en", "é"),
        ("cp1252", "de", "Ich weiß nicht, wo die Tür ist. Schöne Grüße!"),
        ("cp1252", "en", "Ich weiß nicht, wo die Tür ist. Schöne Grüße!"),
        ("cp1252", "fr", "Où est passé le garçon ? C’est l’été… « Ça va »"),
        ("cp1252", "es", "¿Dónde está el niño? ¡Mañana!"),
        ("cp1252", "pt", "Não, irmã, são corações."),
        ("cp1252", "sv", "Jag vet inte var nycklarna är. På måndag, över ån."),
        ("cp1250", "hu", HUNGARIAN),
        ("iso8859-2", "hu", HUNGARIAN),
        ("cp1250", "en", HUNGARIAN),
        ("iso8859-2", "en", "Gyere be gyorsan, mert hűvös az idő. Győző, the boy has been eating!"),
        ("iso8859-2", "cs", "Nevím, kde je můj klíč. Přišel jsi pozdě, žádný strach. Štěstí"),
        ("cp1250", "pl", "Nie wiem, gdzie są moje klucze. Przyszedłeś późno, żaden strach. Śpij"),
        ("cp1251", "ru", RUSSIAN),
        ("cp1251", "en", RUSSIAN),
        ("koi8-r", "ru", RUSSIAN),
        ("cp866", "ru", RUSSIAN),
        ("cp1253", "el", "Δεν ξέρω πού είναι τα κλειδιά μου. Άργησες!"),
        ("cp1254", "tr", "Anahtarlarımın nerede olduğunu bilmiyorum. Geç kaldın! Şimdi İstanbul"),
        ("cp1255", "he", "אני לא יודע איפה המפתחות שלי"),
        ("cp1256", "ar", "لا أعرف أين مفاتيحي"),
        ("gb18030", "zh", "我不知道我的钥匙在哪里。你来晚了！"),
        ("big5", "zh", "我不知道我的鑰匙在哪裡。你來晚了！"),
        ("shift_jis", "ja", "鍵がどこにあるのか分からない。遅いよ！"),
        ("euc-kr", "ko", "내 열쇠가 어디 있는지 모르겠어. 늦었어!"),
        ("cp850", "fr", "Où est passé le garçon ? Déjà été"),
        ("cp437", "en", "We met at the café."),
        ("mac-roman", "fr", "Où est passé le garçon ? Déjà été"),
    ],
)
def test_the_text_decides_the_code_page(encoding: str, language: str, text: str) -> None:
    decoded, name, confidence = decode(text.encode(encoding), None, language)
    assert decoded == text, name
    assert 0.4 < confidence <= 1


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"plain", "plain", "utf-8"),
        ("naïve ♪".encode(), "naïve ♪", "utf-8"),
        ("naïve".encode("utf-8-sig"), "naïve", "utf-8"),
        ("naïve ♪".encode("utf-16"), "naïve ♪", "utf-16-le"),
        (b"\xfe\xff" + "naïve ♪".encode("utf-16-be"), "naïve ♪", "utf-16-be"),
        ("It’s 1\n".encode("utf-16-le"), "It’s 1\n", "utf-16-le"),
        ("It’s 1\n".encode("utf-16-be"), "It’s 1\n", "utf-16-be"),
        ("naïve".encode("utf-32"), "naïve", "utf-32-le"),
        (b"a stray\0 zero" + b" and more text" * 100, "a stray zero" + " and more text" * 100, "utf-8"),
    ],
)
def test_unicode(data: bytes, text: str, encoding: str) -> None:
    assert decode(data)[:2] == (text, encoding)


def test_utf_8_takes_precedence_over_a_declaration() -> None:
    assert decode("café".encode(), "iso-8859-1")[0] == "café"


def test_a_declaration_decides_between_equals() -> None:
    data = "tõ".encode("iso8859-15")
    assert decode(data, "iso8859-2")[0] == "tő"
    assert decode(data, "iso8859-15")[0] == "tõ"
    assert decode("café".encode("cp1252"), "no such encoding")[0] == "café"


def test_a_damaged_byte_does_not_cost_a_file() -> None:
    assert decode(b"Wh\xd7t? " + b"All right then. " * 50)[0].endswith("All right then. ")


def test_utf_8_with_a_broken_character_is_still_utf_8() -> None:
    text, encoding, confidence = decode("Où est passé le garçon ? Été".encode() + b" \xff caf\xc3", None, "fr")
    assert (text, encoding) == ("Où est passé le garçon ? Été \ufffd caf\ufffd", "utf-8")
    assert confidence < 1


@pytest.mark.parametrize(
    ("misread", "text"),
    [
        ("donâ€™t cafÃ© Â¿quÃ©?", "don’t café ¿qué?"),
        ("â™ª la la â™ª", "♪ la la ♪"),
        ("It’s “ok”… naïve – ♪ Ő".encode().decode("latin-1"), "It’s “ok”… naïve – ♪ Ő"),
        ("It’s “ok”…".encode("cp1252").decode("latin-1"), "It’s “ok”…"),
        ("Ãrvíztűrő: Ã¡rvÃ­ztÅ±rÅ‘", "Ãrvíztűrő: árvíztűrő"),
    ],
)
def test_text_read_once_too_often_is_repaired(misread: str, text: str) -> None:
    decoded, encoding, confidence = decode(misread.encode())
    assert decoded == text
    assert encoding != "utf-8"
    assert confidence < 1


@pytest.mark.parametrize("text", ["NÃO, IRMÃO… irmã", "pâté à l’âge", "Ångström, Ärger", "CLICHÉ… Ó… ¡NO…", "Â"])
def test_sound_text_is_not_repaired(text: str) -> None:
    assert decode(text.encode()) == (text, "utf-8", 1.0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bytes(range(256)) * 4, "not_subtitles"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not_subtitles"),
        (b"\xff\xfe" + b"\x00\xd8" * 100, "unknown_encoding"),
        (b"a\xd7b\xf7c" * 50, "unknown_encoding"),
    ],
)
def test_binary_data_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        decode(data)
    assert caught.value.reason == reason
