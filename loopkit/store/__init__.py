"""Files: journal, snapshot, locks, task lists, settings. Hooks import standard library only."""
