"""From lines to sentences, from sentences to turns, from turns to dialogues."""
