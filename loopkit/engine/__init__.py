"""Doing: programs that are run, agents, drives through a whole loop."""
