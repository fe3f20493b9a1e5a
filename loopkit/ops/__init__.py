"""Use cases: what a command does, without a terminal: typed arguments, a typed result."""
