"""The reference's cases, faults found on real collections: each comes out as its ``expected.json`` says."""

import check_cases
import pytest

pytestmark = [pytest.mark.reference, pytest.mark.slow]


def _inputs():
    return [(kind, item) for kind in check_cases.kinds() for item in check_cases.expected(kind)["inputs"]]


@pytest.mark.parametrize(("kind", "item"), _inputs())
def test_a_case_comes_out_as_expected(kind, item):
    spec = check_cases.expected(kind)
    if spec["command"] == "formats":  # of each kind, the page of the first input is built, too
        verdict, missing = check_cases.held(kind, item, page=item == next(iter(spec["inputs"])))
    else:
        verdict, missing = check_cases.held_command(kind, item)
    assert verdict == "pass", missing
