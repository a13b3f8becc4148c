# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tutorials are true: from an empty folder, their commands run as written and
print what is shown. pages.py says how blocks are marked.

Where there is no torch (MPOPT_TORCH_PYTHON), Inputs has what it exports.
"""

import pages
import pytest
from support import ROOT

TUTORIALS = sorted(
    str(page.relative_to(ROOT)) for page in ROOT.glob("docs/tutorials/*.md")
)


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial(name, tmp_path):
    pages.run_page(name, tmp_path)


def test_there_are_tutorials():
    assert len(TUTORIALS) >= 4
