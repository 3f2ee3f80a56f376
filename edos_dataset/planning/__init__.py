"""The cost of a run on machines that are not at hand, measured on a sample and scaled to a corpus."""
