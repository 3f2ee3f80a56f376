"""From few labels to many: vectors of dialogues, the search for similar ones, and the rules by which a label spreads to
them.
"""
