"""Response generation: response models, the predictor of the answer's label, decoding, and a responder over them."""
