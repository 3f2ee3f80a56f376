"""Steps as a user writes them, in a module of their own: workers import it, and nothing else that tests need."""

from edos_dataset import stages


class NoQuestions(stages.DialogueFilter):
    """Reject dialogues that open with a question."""

    def keep(self, dialogue):
        return not dialogue.turns[0].text.endswith("?") or "opens_with_question"


class Short(stages.TurnFilter):
    """Reject long turns.

    Args:
        most: characters that a turn may have.
    """

    most: int = 60

    def keep(self, turn, dialogue):
        return len(turn.text) <= self.most


class Plain(stages.BatchTurnMap):
    def map(self, batch):
        return [text.replace("…", "...") for text in batch.texts]


class Broken(stages.TurnFilter):
    def keep(self, turn, dialogue):
        return 1 / 0


class Wrong(stages.DialogueFilter):
    def keep(self, dialogue):
        return 3
