"""What all tests share."""

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
# A slow machine is no failure.
settings.register_profile("rarefy", deadline=None, max_examples=40)
settings.load_profile("rarefy")
