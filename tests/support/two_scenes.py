"""A short subtitle for the tests of whole commands."""

FILM = """\
1
00:00:01,000 --> 00:00:03,000
- I am so afraid that the {name} will never come back!
- I am terrified for everybody on the {name}, and so sad.

2
00:00:03,500 --> 00:00:05,500
- Somebody left the gate open again.
- And the dog is gone with the {name}.
"""
"""Of a thing with a name, to be given by `format`; the third turn is the same in all of them."""
