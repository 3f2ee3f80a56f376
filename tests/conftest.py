"""Settings of all tests."""

from hypothesis import settings

# A busy machine is no defect: no example has a time limit.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
