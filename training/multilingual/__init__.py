"""The labeler `multilingual`: an English labeler's answers, carried over to other languages by translated sentences."""
