"""Tasks and their order: what is submitted, split, started, failed."""
