"""Pipelines: fresh agents, one after the other, in stages."""
