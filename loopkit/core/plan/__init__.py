"""Tasks and their order: what is handed in, split, started, failed."""
