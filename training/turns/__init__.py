"""The scorers of turn borders: labelled documents, learners, measures, reports."""
