"""How the loop is doing: detectors, recovery, checkpoints."""
