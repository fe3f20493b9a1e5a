"""The same project as for commands."""

from tests.cli.conftest import project, repository

__all__ = ["project", "repository"]
