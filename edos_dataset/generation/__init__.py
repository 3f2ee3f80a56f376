"""Machines that answer: response models, the predictor of the answer's label, decoding, and a responder over them."""
