"""The two classifiers: recipe, data, model, training, results."""
