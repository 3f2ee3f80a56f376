"""The linear heads and the fast labeler: softmax regressions on embeddings and on n-grams."""
