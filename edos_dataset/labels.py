"""The 41 labels of EDOS: 32 emotions, 8 response intents and neutral.

The ids are those of the authors' files (EDOS paper, Table 9; id 0 is "afraid", id 40 "neutral"). No other module
writes a label name.
"""

from difflib import get_close_matches

EMOTIONS: tuple[str, ...] = (
    "afraid",
    "angry",
    "annoyed",
    "anticipating",
    "anxious",
    "apprehensive",
    "ashamed",
    "caring",
    "confident",
    "content",
    "devastated",
    "disappointed",
    "disgusted",
    "embarrassed",
    "excited",
    "faithful",
    "furious",
    "grateful",
    "guilty",
    "hopeful",
    "impressed",
    "jealous",
    "joyful",
    "lonely",
    "nostalgic",
    "prepared",
    "proud",
    "sad",
    "sentimental",
    "surprised",
    "terrified",
    "trusting",
)
"""The emotions of EmpatheticDialogues, ids 0 to 31."""

INTENTS: tuple[str, ...] = (
    "agreeing",
    "acknowledging",
    "encouraging",
    "consoling",
    "sympathizing",
    "suggesting",
    "questioning",
    "wishing",
)
"""The response intents of the EDOS taxonomy, ids 32 to 39."""

NEUTRAL = "neutral"
"""The label of a turn with neither, id 40."""

LABELS: tuple[str, ...] = (*EMOTIONS, *INTENTS, NEUTRAL)
"""All 41 names; a label's id is its index."""

GROUPS: dict[str, tuple[str, ...]] = {
    "fear": ("terrified", "afraid", "anxious", "apprehensive"),
    "anger": ("furious", "angry", "annoyed", "disgusted", "jealous"),
    "sadness": ("devastated", "sad", "disappointed", "lonely"),
    "shame": ("ashamed", "embarrassed", "guilty"),
    "memory": ("nostalgic", "sentimental"),
    "closeness": ("caring", "faithful", "trusting", "grateful"),
    "outlook": ("hopeful", "anticipating", "prepared", "confident"),
    "joy": ("proud", "content", "joyful", "excited"),
    "wonder": ("impressed", "surprised"),
    "intents": INTENTS,
    NEUTRAL: (NEUTRAL,),
}
"""The labels by similarity, similar ones side by side; each is in one group. Our own grouping, for reports."""

DEFINITIONS: dict[str, str] = {
    "afraid": "The speaker fears something or someone.",
    "angry": "The speaker resents a wrong and is strongly displeased with the person responsible.",
    "annoyed": "The speaker is mildly angry, often about a nuisance that continues.",
    "anticipating": "The speaker looks forward to something that is to come.",
    "anxious": "The speaker is nervous and worried, and cannot rest, because the outcome is uncertain.",
    "apprehensive": "The speaker hesitates, uneasy that something ahead may go badly.",
    "ashamed": "The speaker feels unworthy because of something done or left undone.",
    "caring": "The speaker is concerned for somebody's well-being and looks after them.",
    "confident": "The speaker is sure of succeeding, or of being right.",
    "content": "The speaker is quietly satisfied with how things are.",
    "devastated": "The speaker is crushed by a great loss or blow.",
    "disappointed": "The speaker is let down: what was hoped for did not come.",
    "disgusted": "The speaker is repelled by something foul, in body or in morals.",
    "embarrassed": "The speaker feels awkward before others, over a slip or over being looked at.",
    "excited": "The speaker is eager and stirred up by something good.",
    "faithful": "The speaker is loyal and keeps a bond or a promise.",
    "furious": "The speaker is in a rage, beyond plain anger.",
    "grateful": "The speaker is thankful for something received.",
    "guilty": "The speaker regrets having done wrong or caused harm.",
    "hopeful": "The speaker believes that things may turn out well.",
    "impressed": "The speaker admires what somebody has done, or what something is like.",
    "jealous": "The speaker wants what another has, or fears to lose somebody to another.",
    "joyful": "The speaker is very happy, and it shows.",
    "lonely": "The speaker misses company and feels alone.",
    "nostalgic": "The speaker thinks back with longing to times that are gone.",
    "prepared": "The speaker is ready for what is to come, having made the arrangements.",
    "proud": "The speaker takes pleasure in an achievement, whether their own or that of someone close.",
    "sad": "The speaker is unhappy, often over something lost.",
    "sentimental": "The speaker is moved by tender feelings for a person, a keepsake or a memory.",
    "surprised": "The speaker meets something unexpected, good or bad.",
    "terrified": "The speaker is in extreme fear.",
    "trusting": "The speaker relies on somebody's honesty or ability without a doubt.",
    "agreeing": "The speaker says that the other is right, or thinks the same.",
    "acknowledging": "The speaker shows that the other was heard and understood, without taking sides.",
    "encouraging": "The speaker gives the other the courage to continue or to try.",
    "consoling": "The speaker comforts the other, so that it may hurt less.",
    "sympathizing": "The speaker is sorry for what happened to the other, and says so.",
    "suggesting": "The speaker proposes what the other, or both, might do.",
    "questioning": "The speaker asks to learn more.",
    "wishing": "The speaker wishes the other well, as in greetings, congratulations and farewells.",
    "neutral": "The turn shows none of the 32 emotions and none of the 8 intents.",
}
"""Label name → definition, in the order of the ids. Our own: the papers define none."""

EXAMPLES: dict[str, str] = {
    "afraid": "Don't turn off the light, something moved out there.",
    "angry": "You read my letters behind my back. How dare you!",
    "annoyed": "That is the third time you've left the gate open this week.",
    "anticipating": "Only two more sleeps until we board the ship.",
    "anxious": "They said they'd call by noon. It's four. Why don't they call?",
    "apprehensive": "I'm not sure that we should go in. It's too quiet.",
    "ashamed": "I let them all down. I can't look them in the eye.",
    "caring": "Sit down, put your feet up, I'll make you some soup.",
    "confident": "Give me the map. I'll get us there before dark.",
    "content": "A warm stove, a full plate, and you. I need nothing else.",
    "devastated": "It's all gone. The house, the photographs, everything.",
    "disappointed": "I thought that you'd come to my recital.",
    "disgusted": "There's hair in this. Take it away, I feel sick.",
    "embarrassed": "Oh no, I've been waving at a complete stranger.",
    "excited": "They picked us! We're going to play in front of thousands!",
    "faithful": "I gave him my word, and I'll wait, however long it takes.",
    "furious": "Get out! Get out of my house this instant!",
    "grateful": "You stayed with me all night. I won't forget that.",
    "guilty": "It was me who left the window open. It's my fault.",
    "hopeful": "The fever is down a little. Perhaps he'll pull through.",
    "impressed": "You built this with your own hands? It's magnificent.",
    "jealous": "She gets the corner office, and I've been here twice as long.",
    "joyful": "She said yes! Oh, I could dance all the way home!",
    "lonely": "Since you moved out, I set the table for one.",
    "nostalgic": "We used to race our bicycles down this very hill.",
    "prepared": "The bags are packed, the tank is full, the route is marked.",
    "proud": "My little girl, a doctor. Who would have thought it?",
    "sad": "The garden isn't the same without her.",
    "sentimental": "I've kept your first shoes in this box for twenty years.",
    "surprised": "You? Here? I thought you were in Lisbon!",
    "terrified": "He's on the stairs! He's going to kill us!",
    "trusting": "Take the wheel. I know that you'll bring us home.",
    "agreeing": "You're right, we should have left an hour ago.",
    "acknowledging": "I see. So that's why you moved here.",
    "encouraging": "You're nearly there. One more try, you can do it.",
    "consoling": "Don't cry. It'll look better in the morning.",
    "sympathizing": "I'm so sorry about your brother.",
    "suggesting": "Why don't we ask the ferryman?",
    "questioning": "Where did you find this key?",
    "wishing": "Happy birthday, and a safe journey home!",
    "neutral": "The train to the coast leaves from platform two.",
}
"""Label name → an invented turn with that label, in the order of the ids."""

LABEL_IDS: dict[str, int] = {name: index for index, name in enumerate(LABELS)}
"""Name to id, 0 to 40."""


def parse_label(name: str) -> int:
    """Return the id (0 to 40) of a label name, ignoring case and surrounding blanks.

    Raises:
        ValueError: The name is not one of the 41; the message ends with the most similar one.
    """
    key = name.strip().lower()
    if key not in LABEL_IDS:
        near = get_close_matches(key, LABELS, n=1, cutoff=0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown label {name!r}: expected one of {', '.join(LABELS)}{meant}")
    return LABEL_IDS[key]
