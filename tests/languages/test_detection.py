"""Codes of languages, and the language of a text against the one that it claims."""

from collections.abc import Sequence

import pytest

from edos_dataset.languages import check_language, code_of_language, primary_language, same_language
from edos_dataset.languages.detection import SAMPLE_LINES, contradict_language, guess_language


def sentences(text: str) -> list[str]:
    return text.split(". ")


ENGLISH = sentences("""
Where have you been all night? We were worried about you. I could not find my keys, so I walked home through the rain.
Why did nobody answer when I called? The telephone has been broken since last week, and your father forgot to mend it.
Come inside, there is soup on the stove and bread on the table. Thank you, mother, but first I want to change my shoes.
""")
GERMAN = sentences("""
Wo bist du die ganze Nacht gewesen? Wir haben uns Sorgen um dich gemacht. Ich konnte meine Schlüssel nicht finden, also
bin ich durch den Regen nach Hause gelaufen. Warum hat niemand geantwortet, als ich angerufen habe? Das Telefon ist seit
letzter Woche kaputt, und dein Vater hat vergessen, es zu reparieren. Komm herein, auf dem Herd steht noch Suppe, und
auf dem Tisch liegt Brot. Danke, Mutter, aber zuerst will ich meine Schuhe wechseln.
""")
HUNGARIAN = sentences("""
Hol voltál egész éjszaka? Nagyon aggódtunk miattad. Nem találtam a kulcsomat, ezért gyalog mentem haza az esőben. Miért
nem vette fel senki, amikor hívtalak? A telefon múlt hét óta rossz, és apád elfelejtette megjavítani. Gyere be, van még
leves a tűzhelyen és kenyér az asztalon. Köszönöm, anyám, de előbb szeretnék cipőt váltani, mert teljesen átázott. Akkor
siess, mert kihűl az étel, és holnap korán kell felkelned, ha el akarod érni a vonatot. Tudom, ne félj, majd felkelek.
""")
SPANISH = sentences("""
Dónde has estado toda la noche? Estábamos muy preocupados por ti. No encontraba mis llaves, así que volví caminando bajo
la lluvia. Por qué nadie contestó cuando llamé? El teléfono está roto desde la semana pasada, y tu padre olvidó
arreglarlo. Entra, hay sopa en la cocina y pan sobre la mesa. Gracias, madre, pero primero quiero cambiarme los zapatos.
""")
RUSSIAN = [
    "Где ты был всю ночь?",
    "Мы очень волновались за тебя.",
    "Я не мог найти ключи и пошёл домой пешком под дождём.",
]
UKRAINIAN = sentences("""
Де ти був усю ніч? Ми дуже хвилювалися за тебе. Я не міг знайти ключі, тому пішов додому пішки під дощем. Чому ніхто не
відповів, коли я дзвонив? Телефон зламаний з минулого тижня, і твій батько забув його полагодити. Заходь, на плиті є
суп, а на столі хліб. Дякую, мамо, але спочатку я хочу змінити черевики, бо вони зовсім мокрі. Тоді поспішай, бо їжа
вистигне, а завтра треба рано вставати, якщо хочеш встигнути на потяг. Знаю, не бійся, я прокинуся вчасно.
""")
CHINESE = [
    "你昨天晚上去哪里了？",
    "我们都很担心你。",
    "我找不到钥匙，所以冒着雨走回了家。",
    "为什么我打电话的时候没有人接？",
    "电话从上个星期起就坏了。",
]
JAPANESE = [
    "昨日の夜はどこにいたの？",
    "みんなとても心配していたよ。",
    "鍵が見つからなくて、雨の中を歩いて帰ったんだ。",
    "どうして誰も電話に出なかったの？",
]
KOREAN = [
    "어젯밤에 어디 있었어?",
    "우리는 모두 너를 걱정했어.",
    "열쇠를 찾을 수 없어서 비를 맞으며 집에 걸어갔어.",
    "왜 아무도 전화를 안 받았어?",
]
ARABIC = [
    "أين كنت طوال الليل؟",
    "كنا قلقين عليك جدا.",
    "لم أجد مفاتيحي فعدت إلى البيت سيرا تحت المطر.",
    "لماذا لم يجب أحد عندما اتصلت؟",
]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where have you been? I was so worried that you would not come.", "en"),
        ("Ich weiss nicht, wo das ist, aber wir sind da.", "de"),
        ("Nem tudom, hogy mi van, csak egy szot kell mondani.", "hu"),
        ("Je ne sais pas, mais vous le savez pour une fois.", "fr"),
        ("Hmm.", None),
        ("", None),
    ],
)
def test_language_by_its_commonest_words(text: str, language: str | None) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    ("texts", "said", "found"),
    [
        (GERMAN, "en", "de"),
        (HUNGARIAN, "en", "hu"),
        (SPANISH, "en_GB", "es"),
        (ENGLISH, "de", "en"),
        (ENGLISH, "hu", "en"),
        (ENGLISH, "ja", "en"),
        (ENGLISH, "vi", "en"),
        (GERMAN, "zh_tw", "de"),
        (RUSSIAN, "en", None),
        (UKRAINIAN, "ru", None),
        (CHINESE, "en", None),
        (CHINESE, "ja", "zh"),
        (JAPANESE, "en", "ja"),
        (JAPANESE, "zh", "ja"),
        (KOREAN, "en", "ko"),
        (KOREAN, "ja", "ko"),
        (ARABIC, "en", None),
        (ARABIC, "ru", None),
        ([line.upper() for line in GERMAN], "en", "de"),
    ],
)
def test_a_text_in_another_language(texts: Sequence[str], said: str, found: str | None) -> None:
    other = contradict_language(texts, said)
    assert other is not None
    assert other.language == found


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (ENGLISH, "en"),
        (ENGLISH, "eng"),
        (GERMAN, "de"),
        (HUNGARIAN, "hu"),
        (SPANISH, "es"),
        (RUSSIAN, "ru"),
        (UKRAINIAN, "uk"),
        (CHINESE, "zh_cn"),
        (JAPANESE, "ja"),
        (KOREAN, "ko"),
        (ARABIC, "ar"),
        ([line.upper() for line in ENGLISH], "en"),
        ([f"<i>{line}</i>" for line in ENGLISH], "en"),
        (['<font color="#ffff00" face="Schriftart">♪</font>'] * 100, "en"),  # nothing is said
        ([], "en"),
        (["Ja, ja.", "Nein!", "Also gut."], "en"),  # too little to say so
        (["你好"], "en"),
    ],
)
def test_a_text_in_the_language_that_it_is_said_to_be_in(texts: Sequence[str], said: str) -> None:
    assert contradict_language(texts, said) is None


def test_some_lines_in_another_language_do_not_matter() -> None:
    """An English film in which a German speaks now and then is English; one that is German but for that is not."""
    assert contradict_language(ENGLISH * 4 + GERMAN, "en") is None
    other = contradict_language([*GERMAN * 12, *ENGLISH[:1]], "en")
    assert other is not None
    assert other.language == "de"


def test_the_whole_file_is_looked_at_and_little_of_it() -> None:
    """A file that begins in another language is judged by all of it; a huge one takes no longer."""
    assert contradict_language([*GERMAN, *ENGLISH * 10], "en") is None
    read: list[int] = []

    class Line(str):
        def __getitem__(self, key):  # type: ignore[no-untyped-def]
            read.append(1)
            return super().__getitem__(key)

    assert contradict_language([Line(line) for line in GERMAN * 2000], "en") is not None
    assert len(read) <= SAMPLE_LINES


def test_languages() -> None:
    assert code_of_language("German") == "de"
    assert code_of_language("Klingon") is code_of_language(None) is None
    assert same_language("pt_br", "pt-PT")
    assert not same_language("de", "en")


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("en", "en"),
        ("EN-gb", "en"),
        ("pt_br", "pt"),
        ("eng", "en"),
        ("ger", "de"),
        ("fil", "fil"),
        ("", ""),
        (None, ""),
    ],
)
def test_the_language_of_a_code(code: str | None, language: str) -> None:
    assert primary_language(code) == language


@pytest.mark.parametrize(
    ("code", "clean"),
    [("en", "en"), ("EN", "en"), ("eng", "en"), ("ger", "de"), ("pt_br", "pt_br"), ("por-BR", "pt-BR"), ("no", "no")],
)
def test_known_codes(code: str, clean: str) -> None:
    assert check_language(code) == clean


@pytest.mark.parametrize(
    ("word", "hint"),
    [("english", "'en'"), ("Englisch", "'en'"), ("GERMAN", "'de'"), ("spanisch", "'es'")],
)
def test_what_is_no_code_names_the_nearest(word: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"no language has the code '{word}'; did you mean {hint}"):
        check_language(word)


@pytest.mark.parametrize("code", ["", "xx", "zz", "deutsch", "e", "en_", "en us", "en_us_x_y", "_en", "en\n"])
def test_what_is_like_no_code(code: str) -> None:
    with pytest.raises(ValueError, match="give one of ISO 639, such as en, de or pt_br"):
        check_language(code)
