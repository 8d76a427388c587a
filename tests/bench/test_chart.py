"""Charts are well-formed, and say what they show."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.bench.cases import row
from verified_tir.bench.chart import HEIGHT, charts

NS = "{http://www.w3.org/2000/svg}"


def test_a_chart_for_each_kernel() -> None:
    found = charts([row(1.0, numpy=2.0), row(0.5, torch=4.0), row(1.0, "a<b")])
    assert list(found) == ["k-float32-1.svg", "a<b-float32-1.svg"]
    chart = ElementTree.fromstring(found["k-float32-1.svg"])
    said = [t.text for t in chart.iter(f"{NS}title")]
    assert said[0] == "k, float32, 1 thread"
    assert [t.split(":")[0] for t in said[1:] if t] == ["ours", "numpy", "ours", "torch"]
    texts = [t.text for t in chart.iter(f"{NS}text")]
    assert {"ours", "numpy", "torch"} <= set(texts)


def test_bars_are_as_high_as_rates() -> None:
    (chart,) = charts([row(1.0, numpy=2.0)]).values()
    root = ElementTree.fromstring(chart)
    bars = [float(r.attrib["height"]) for g in root.iter(f"{NS}g") for r in g.iter(f"{NS}rect")]
    ours, numpy = bars[-2:]
    assert ours == 2 * numpy and ours <= HEIGHT
