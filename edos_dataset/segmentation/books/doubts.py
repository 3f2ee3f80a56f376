"""What a dialogue of a book may be wrong in: the guesses that are made where the text gives no certain evidence."""

from enum import Enum


class Doubt(Enum):
    """A guess, in words."""

    __hash__ = object.__hash__  # a tenth of the time of one by name

    # of a turn
    TWO = "its paragraph holds turns of others, too"
    JOINED = "another sentence of the narrator's stands between its quotes"
    LED = "a sentence of the narrator's leads in its second quote, and names nobody who has spoken"
    WITHIN = "it stands behind narration, and nobody is told to say it"
    UNHEARD = "beside it somebody thinks, writes, or says to themselves"
    # of two turns with narration between
    SAME = "names tell that one person goes on"
    PROBABLY_SAME = "pronouns or silence tell that one person goes on"
    OTHER = "names tell that another answers"
    PROBABLY_OTHER = "something tells that another answers"
    UNSURE = "nothing tells who speaks"
    TAIL = "the narrator goes on for long behind the last quote"
    CONFIRMED = "one of these, and those who are named before and after it take turns as it says"
    QUOTED = "what is quoted in the narration is taken as nobody's speech"
    # of the dialogue's ends
    BACK = "somebody who is named in it speaks before or after it, behind narration"
    CUT_NEAR = "somebody speaks before or after it, behind a paragraph at most, none of those who are named in it"
    CUT = "somebody speaks before or after it, behind more narration"
    EDGE = "narration stands in its first paragraph before the speech, or at length behind it in the last one"
    ASKED = "it ends with a question"
    LATER = "time or place changes"
    # of the whole
    THIRD = "three are named, perhaps one in two ways"
    FOURTH = "three have a proper name, or four are named"
    SEVERAL = "several speak at once"
    CROSSED = "those who are told to speak do not take turns"
