"""What earlier work taught: decisions, learnings, and finding them again."""
