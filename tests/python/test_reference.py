"""docs/reference/python.md is what the docstrings say now."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]


@pytest.mark.skipif(sys.version_info < (3, 10), reason="skipped: signatures are written otherwise by this Python")
def test_the_page_is_fresh():
    environment = dict(os.environ, PYTHONPATH=str(SOURCE / "python"))
    written = subprocess.run([sys.executable, str(SOURCE / "scripts" / "python-reference.py")], check=True, capture_output=True, text=True,
                             env=environment).stdout
    assert written == (SOURCE / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
