"""What shows that work is done: commands, the project's own checks, baselines, masks."""
