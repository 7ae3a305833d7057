"""YAML as plain values: no tag constructs anything, no file explodes."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traincost.reading.formats import yaml_text
from traincost.reading.formats.files import Unreadable
from traincost.reading.formats.yaml_text import parse_yaml


def test_scalars_are_what_yaml_says_and_text_stays_as_written():
    content = (
        b"a: 1\nb: 0.5\nc: 1e-3\nd: yes\ne: ~\nf: 2026-01-01\ng: 010\nh: 0x1F\ni: '1'\nj: 12:30:00\nk: .nan"
    )
    value = parse_yaml(content)
    assert math.isnan(value.pop("k"))
    assert value == {
        "a": 1,
        "b": 0.5,
        "c": "1e-3",
        "d": True,
        "e": None,
        "f": "2026-01-01",
        "g": "010",
        "h": "0x1F",
        "i": "1",
        "j": "12:30:00",
    }


def test_keys_are_text_so_that_no_two_are_one():
    assert parse_yaml(b"N: 1\nn: 2\nt: 3\nT: 4\n1: 5\ntrue: 6") == {
        "N": 1,
        "n": 2,
        "t": 3,
        "T": 4,
        "1": 5,
        "true": 6,
    }


def test_unknown_tags_are_text_and_construct_nothing(tmp_path):
    trap = tmp_path / "trap"
    content = f"""
scalar: !!python/object/apply:numpy.core.multiarray.scalar
- !!python/object/apply:numpy.dtype
  args: [f8]
- !!binary |
  AAAAAAAA8D8=
name: !!python/name:torch.nn.ReLU
call: !!python/object/apply:os.system ["touch {trap}"]
made: !<tag:example.com,2026:x> {{a: 1}}
kept: 3
"""
    value = parse_yaml(content.encode())
    assert value["kept"] == 3
    assert value["name"] == "python/name:torch.nn.ReLU"
    assert value["call"].startswith("python/object/apply:os.system(touch")
    assert "AAAAAAAA8D8=" in value["scalar"]
    assert value["made"] == "tag:example.com,2026:x(a=1)"
    assert not trap.exists()


def bomb(width=9, height=12):
    lines = [b"a0: &a0 [" + b"x, " * width + b"]"]
    lines += [b"a%d: &a%d [" % (i, i) + b"*a%d, " % (i - 1) * width + b"]" for i in range(1, height)]
    return b"\n".join(lines)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bomb(), f"more than {yaml_text.MAX_NODES} values"),
        (b"a: &a [*a]", "nested deeper"),
        (b"a: &a {b: *a}", "nested deeper"),
        (b"- " * 5000 + b"x", "nested deeper"),
        (b"a: [b", "is not YAML: .*line"),
        (b"a: *nothing", "is not YAML: .*alias"),
        (b"\xff\xfe\x00", "is not YAML"),
        (b"a: \x00", "is not YAML"),
        (b"x" * (yaml_text.MAX_YAML_MIB * 2**20 + 1), f"larger than the {yaml_text.MAX_YAML_MIB} MiB"),
    ],
)
def test_what_cannot_be_read_says_why(content, reason):
    with pytest.raises(Unreadable, match=reason):
        parse_yaml(content)


def test_an_empty_document_and_the_first_of_several():
    assert parse_yaml(b"") is None
    assert parse_yaml(b"# nothing\n") is None
    assert parse_yaml(b"{}") == {}
    assert parse_yaml(b"a: 1\n---\nb: 2\n") == {"a": 1}


@given(st.binary(max_size=200) | st.text(alphabet="a:-[]{}&*!<>|\n '\"#0", max_size=60).map(str.encode))
def test_any_bytes_are_a_value_or_a_reason(content):
    with contextlib.suppress(Unreadable):
        parse_yaml(content)


@pytest.mark.parametrize("content", [b"a: 1\nb: 2\na: 3", b"x:\n  a: 1\n  b: 2\n  a: 3"])
def test_a_field_that_stands_twice_is_named(content):
    with pytest.raises(Unreadable, match=r"^has 'a' twice in one mapping \(line [34]\)$"):
        parse_yaml(content)
