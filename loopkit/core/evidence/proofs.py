"""How a criterion may be shown: the types of verification."""

from __future__ import annotations

EXECUTION, OBSERVATION, MEASUREMENT = "execution output", "observation", "measurement"
REASONED, REVIEWED, ASSUMED = "reasoned inference", "code review", "assumption"
#: Verification types, strongest first (rule: Shape).
TYPES = (EXECUTION, OBSERVATION, MEASUREMENT, REASONED, REVIEWED, ASSUMED)
#: Types on which a criterion cannot pass the gate: nobody has seen anything.
UNSEEN = (REASONED, ASSUMED)
SEEN = tuple(kind for kind in TYPES if kind not in UNSEEN)
