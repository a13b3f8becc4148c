# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every gradient rule against difference quotients and torch.autograd.

Gradients are decomposed to standard ONNX ops and evaluated in float64, so what
is checked is the rule and the decomposition together.
"""

import numpy as np
import pytest

import rules

def all_cases():
    for family in rules.families():
        for case in rules.cases_of(family):
            yield pytest.param(family, case, id=f"{family}-{case.name}")


each_case = pytest.mark.parametrize("family, case", list(all_cases()))


def assert_close(actual, expected, tolerance):
    assert actual.keys() == expected.keys()
    largest = max(
        [1e-3, *(np.abs(v).max() for v in expected.values() if v.size)]
    )
    for name, value in expected.items():
        assert actual[name].shape == value.shape, name
        assert actual[name].dtype == np.float64, name
        error = np.abs(actual[name] - value)
        assert not value.size or error.max() <= tolerance * largest, name


@each_case
def test_difference_quotients(family, case):
    if case.kinks:
        pytest.skip("there is no derivative here")
    actual = rules.gradients(case)
    expected = rules.difference_quotients(case)
    assert any(np.any(v) for v in expected.values())
    assert_close(actual, expected, case.tolerance)


@each_case
def test_torch(family, case):
    expected = rules.stored_torch_gradients(case, family)
    if expected is None:
        pytest.skip("torch has no such operator")
    assert_close(rules.gradients(case), expected, case.torch_tolerance)


@each_case
def test_unknown_sizes(family, case):
    """The same numbers if no size is known before the model runs."""
    if not case.dynamic:
        pytest.skip("the operator needs to know its sizes")
    assert_close(
        rules.gradients(case, dynamic=True), rules.gradients(case), 1e-12
    )
