"""What a run takes on machines that are not at hand: measured on a sample, reckoned, and simulated."""
