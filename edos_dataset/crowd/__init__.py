"""Labels by people: which dialogues to ask for, how far the answers agree, one label out of many, and the split without
leaks.
"""
