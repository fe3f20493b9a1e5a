"""loopkit: loops that hold until the evidence is in."""

__version__ = "0.1.0"
