"""The journal: events, their fold into a state, the words and numbers that every rule uses."""
