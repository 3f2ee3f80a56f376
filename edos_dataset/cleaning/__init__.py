"""What must not be in the data: line by line, turn by turn, and over the corpus."""
