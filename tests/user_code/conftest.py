"""A project of a user, and the digest of its model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from user_projects import Project, project

from gnz_track.user_code.digests import describe_code

__all__ = ["project"]


@pytest.fixture
def digest(project: Project) -> Callable[..., str]:
    """Return a function that tells the digest of ``net:Net`` as a process does that begins now."""

    def tell(target: str = "net:Net") -> str:
        project.forget()
        module, _, name = target.partition(":")
        return describe_code(getattr(project.load(module), name)).digest

    return tell
