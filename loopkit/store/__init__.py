"""Files: journal, snapshot, locks, task lists, settings. Modules that hooks import are standard
library only."""
