"""The scorers of turn boundaries: labelled documents, training, metrics, reports."""
