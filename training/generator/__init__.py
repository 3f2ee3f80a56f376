"""The response models and the predictor of the response's label: recipe, data, batches, training, results."""
