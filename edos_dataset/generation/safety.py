"""What no program must answer: a person who may be about to harm themselves, or needs help at once.

The expressions find more than they should rather than less, and still miss what is said in other words or languages:
they are no protection that anybody may rely on. The labels of a turn do not decide: most turns that are *devastated*
or *terrified* are no danger, and a farewell may be labelled *grateful*.
"""

import re

_SELF_HARM = {
    "en": r"kill(?:ing)? my ?self|suicid\w*|(?:end|ending|take|taking) (?:it all|my (?:own )?life)|self[- ]?harm\w*"
    r"|(?:hurt|harm|cut|cutting|hurting|harming|hang|hanging|shoot|shooting) my ?self|overdos\w+"
    r"|(?:want|going|ready|better) to die|wanna die|(?:wish (?:i was|i were)|better off) dead|better off without me"
    r"|(?:no|any) (?:reason to live|point in living)"
    r"|(?:do not|don'?t|can'?t|cannot) (?:want to |wanna )?(?:live|go on living|be alive) any ?(?:more|longer)"
    r"|(?:do not|don'?t) (?:want to|wanna) (?:live|be alive)",
    "de": r"(?:mich|mir) (?:selbst )?(?:um(?:zu)?bringen|töten|etwas an(?:zu)?tun|das leben (?:zu )?nehmen)"
    r"|selbstmord\w*|suizid\w*|(?:will|möchte|mag) (?:nicht mehr (?:leben|da sein)|sterben)|ritze mich",
    "es": r"(?:matarme|suicid\w+|quitarme la vida|hacerme daño)|(?:quiero|prefiero) morir(?:me)?"
    r"|no quiero (?:seguir viviendo|vivir más)",
    "fr": r"(?:me (?:tuer|suicider|faire du mal)|suicid\w+|mettre fin à mes jours)|(?:je )?veux (?:mourir|en finir)"
    r"|ne veux plus vivre",
    "hu": r"(?:meg akarom ölni magam|megölöm magam|öngyilkos\w*|meg akarok halni|nem akarok (?:tovább )?élni)",
    "it": r"(?:uccidermi|ammazzarmi|suicid\w+|farla finita|farmi del male)|voglio morire|non voglio più vivere",
    "nl": r"(?:mezelf|mijzelf) (?:van kant te maken|(?:te )?doden|(?:iets )?(?:aan te doen|pijn te doen))"
    r"|zelfmoord\w*|(?:wil|wou) dood|niet meer leven",
    "pt": r"(?:me matar|matar-me|suic[ií]d\w+|tirar a minha vida|me machucar)|(?:eu )?quero morrer"
    r"|não quero mais viver",
}
_EMERGENCY = (
    r"(?:call|need|send) (?:me )?(?:an ambulance|the police|9-?1-?1|112|999)"
    r"|(?:i'?m|i am|she's|he's) bleeding (?:out|badly|to death)"
    r"|(?:can't|cannot|can not) breathe|having a (?:heart attack|stroke|seizure)|(?:chest pain|not breathing)"
    r"|(?:i'?ve|i have|i) (?:been|got|was) (?:stabbed|shot|raped|poisoned)"
    r"|swallowed (?:poison|bleach|all (?:the|my) pills)"
    r"|(?:somebody|someone|he|a man) is (?:breaking in|trying to kill me|going to kill me)|house is on fire"
)


def _whole_words(expression: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{expression})\b", re.IGNORECASE)


_FOUND = {"self_harm": _whole_words("|".join(_SELF_HARM.values())), "emergency": _whole_words(_EMERGENCY)}

_CALL = (
    "in an emergency call 112 (Europe), 911 (USA, Canada) or 999 (UK). Call or text 988 in the USA and Canada, call "
    "116 123 in the UK and Ireland, or find a line in your country at findahelpline.com."
)
HELP = {
    "self_harm": "It sounds as if you may be thinking of harming yourself. This program cannot help and will not "
    f"answer. Please talk to a person now: {_CALL}",
    "emergency": "It sounds as if somebody needs help at once. This program cannot help and will not answer: call 112 "
    "(Europe), 911 (USA, Canada), 999 (UK) or the emergency number of your country now.",
}
"""Danger → what is shown to a person instead of an answer."""


def danger_in(text: str) -> str | None:
    """Return "self_harm" if a text may be of somebody who thinks of harming themselves (English, German, Spanish,
    French, Hungarian, Italian, Dutch, Portuguese), "emergency" if somebody may need help at once (English), else None.
    """
    straight = text.replace("’", "'")
    return next((name for name, expression in _FOUND.items() if expression.search(straight)), None)


def help_for(texts: list[str]) -> str | None:
    """Return what is shown to a person instead of an answer, if one of their texts shows a danger."""
    return next((HELP[danger] for text in texts if (danger := danger_in(text))), None)
