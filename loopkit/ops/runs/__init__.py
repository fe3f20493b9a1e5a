"""Runs of pipelines: start, go on, look, stop."""
