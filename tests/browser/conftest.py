"""The book that these tests open."""

from pathlib import Path

import pytest

from tests.needs import HTML, ROOT, require

__all__ = ["HTML", "ROOT"]


@pytest.fixture(scope="session")
def html() -> Path:
    """The rendered book, where there is one."""
    require(["book"])
    return HTML
