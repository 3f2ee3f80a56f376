"""The response models and the predictor of the answer's label: recipe, data, batches, training, results."""
