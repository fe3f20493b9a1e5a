"""What is due next, and what a session or an agent is told of it."""
