"""The rules: pure functions and records, standard library only, no input or output, no clock."""
