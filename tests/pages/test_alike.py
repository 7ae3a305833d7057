"""A report that says the same stays as it is; one that says anything else is replaced."""

import base64
import io

import numpy as np
import pytest
from matplotlib.image import imsave

from traincost.pages.alike import is_alike, update
from traincost.pages.exporter import SITE_END, SITE_START

PAGE = (
    f'<main>{SITE_START}{SITE_END}<p>3 runs took <data value="12.345678901">12.3 s</data></p>'
    '<table id="table-versions"><td>numpy</td><td>2.4.6</td></table></main>'
)
JSON = (
    '{"n_runs": 3, "numbers": {"a": 0.1234567890123, "p": 1.2e-17}, "versions": {"numpy": "2.4.6"},'
    ' "rows": [{"name": "numpy", "version": "2.4.6"}]}'
)


def put(root, page=PAGE, data=JSON, **tables):
    folder = root / "sweep"
    (folder / "profiling-tables").mkdir(parents=True, exist_ok=True)
    (folder / "profiling.html").write_text(page)
    (folder / "profiling.json").write_text(data)
    for name, text in {"cost": "a,1.5", **tables}.items():
        (folder / "profiling-tables" / f"{name}.csv").write_text(text)
    return root


def contents(root):
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_last_digits_versions_and_links_change_nothing(tmp_path):
    linked = PAGE.replace(SITE_START, f"{SITE_START}<nav>up</nav>")
    kept = put(tmp_path / "kept", linked, versions="numpy,1")
    old = contents(kept)
    page = PAGE.replace("12.345678901", "12.345678902").replace("2.4.6", "3.0.0")
    data = (
        JSON.replace("0.1234567890123", "0.1234567890124")
        .replace("1.2e-17", "-3.0e-18")
        .replace("2.4.6", "3")
    )
    made = put(tmp_path / "made", page, data, cost="a,1.5000000001", versions="numpy,2")
    assert update(made, kept) == []
    assert contents(kept) == old


@pytest.mark.parametrize(
    "changes",
    [
        {"page": PAGE.replace("took", "take")},
        {"page": PAGE.replace("12.345678901", "12.346")},
        {"page": PAGE.replace("3 runs", "4 runs")},
        {"data": JSON.replace("3,", "4,")},
        {"data": JSON.replace("1.2e-17", "null")},
        {"cost": "a,1.6"},
        {"more": "a,1"},
    ],
)
def test_anything_else_replaces_the_whole_report(tmp_path, changes):
    kept, made = put(tmp_path / "kept", gone="x"), put(tmp_path / "made", **changes)
    (kept / "sweep" / "page.png").write_bytes(b"\x89")
    assert update(made, kept) == ["sweep"]
    new = {path.relative_to(made): content for path, content in contents(made).items()}
    found = {path.relative_to(kept): content for path, content in contents(kept).items()}
    assert found == {**new, (kept / "sweep" / "page.png").relative_to(kept): b"\x89"}


def test_a_report_that_is_new_is_put_there(tmp_path):
    assert update(put(tmp_path / "made"), tmp_path / "kept") == ["sweep"]
    assert not is_alike("a.png", b"\x89\xff", b"\x89\xfe")


def with_picture(pixels, **packing):
    packed = io.BytesIO()
    imsave(packed, pixels, format="png", pil_kwargs=packing)
    address = b"data:image/png;base64," + base64.b64encode(packed.getvalue())
    return b'<p>1</p><img src="%s">' % address


def test_pictures_are_alike_by_what_they_show():
    pixels = np.random.default_rng(0).random((20, 30, 4))
    old = with_picture(pixels)
    packed = with_picture(pixels, compress_level=1)
    assert packed != old
    assert is_alike("a.html", old, packed)
    smoothed = pixels.copy()
    smoothed[3, 4] = np.clip(smoothed[3, 4] + 5 / 255, 0, 1)
    assert is_alike("a.html", old, with_picture(smoothed))
    moved = pixels.copy()
    moved[3, 4] = 1 - moved[3, 4]
    assert not is_alike("a.html", old, with_picture(moved))
    assert not is_alike("a.html", old, with_picture(pixels[:, :-1]))
    assert not is_alike("a.html", old, old + old[len("<p>1</p>") :])
    assert not is_alike("a.html", old, b'<p>1</p><img src="data:image/png;base64,AAAA">')
