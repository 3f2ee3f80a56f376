"""Sets of dialogues and sentences that others labelled, with labels of their own: read, and what their labels mean in
ours.
"""
