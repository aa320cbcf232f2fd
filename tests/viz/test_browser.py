"""The page of a graph in a real browser: clicks, search, colours, modules, ten thousand nodes."""

from __future__ import annotations

import shutil

import pytest

import retrograd as rg
from retrograd import nn

WHY = "the page needs a browser: pip install retrograd[browser], and Chromium on the path"
playwright = pytest.importorskip("playwright.sync_api", reason=WHY)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WHY)
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-quic"]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a picture; fails a test whose page said anything to the console."""
    said = []

    def opened(picture, width=1280, height=800):
        page = browser.new_page(viewport={"width": width, "height": height})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(picture.save(tmp_path / "picture.html").as_uri())
        return page

    yield opened
    assert said == []


@pytest.fixture(scope="module")
def network():
    net = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.Tanh(), nn.Linear(8, 2)))
    with rg.viz.recording() as seen:
        net(rg.ones(3, 4)).square().sum().backward()
    return rg.viz.graph(seen.root)


def middle(page, label):
    """Where on the canvas the middle of a box is."""
    return page.evaluate(
        """label => {
            const one = items.find(each => each.label === label);
            return { x: at.x + at.scale * (one.x + shape.wide / 2),
                     y: at.y + at.scale * (one.y + shape.high / 2) };
        }""",
        label,
    )


def labels(page):
    return page.evaluate("items.map(each => each.label)")


def test_a_click_tells_what_a_node_is(visit, network):
    page = visit(network)
    page.locator("canvas").click(position=middle(page, "Tanh"))
    told = page.locator("#facts").inner_text()
    assert "Sequential.1.0" in told
    assert "out: float32 3×8, 96 B" in told
    assert "test_browser.py" in told


def test_a_search_finds_and_shows(visit, network):
    page = visit(network)
    page.locator("#search").fill("weight")
    assert page.locator("#summary").inner_text() == "2 found"
    page.locator("#found button").first.click()
    assert "weight" in page.locator("#facts h2").inner_text()


def test_modules_collapse_and_open(visit, network):
    page = visit(network)
    assert "Tanh" in labels(page)
    page.locator("#collapse").click()
    assert sorted(labels(page)) == ["Pow", "Sequential.0", "Sequential.1", "Sum"]
    page.locator("canvas").dblclick(position=middle(page, "Sequential.1"))
    assert "Tanh" in labels(page)
    page.locator("#expand").click()
    assert len(labels(page)) == 9


def test_modules_of_a_large_graph_begin_collapsed(visit):
    net = nn.Sequential(*[nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in range(15)])
    with rg.viz.recording() as seen:
        net(rg.ones(1, 2)).sum().backward()
    page = visit(rg.viz.graph(seen.root))
    assert len(labels(page)) == 16
    page.locator("#expand").click()
    assert len(labels(page)) == 61


def test_a_drag_moves_and_a_wheel_zooms(visit, network):
    page = visit(network)
    before = page.evaluate("({ ...at })")
    page.mouse.move(300, 400)
    page.mouse.down()
    page.mouse.move(350, 430)
    page.mouse.up()
    after = page.evaluate("({ ...at })")
    assert (after["x"] - before["x"], after["y"] - before["y"]) == (50, 30)
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"at.scale > {before['scale']}")


def test_colours_are_by_the_numbers_of_nodes(visit, network):
    page = visit(network)
    for key in ("bytes", "seconds", "norm"):
        page.locator("#color").select_option(key)
        assert page.evaluate("new Set(items.map(colorOf)).size") > 2


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_window(visit, network, width):
    page = visit(network, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_ten_thousand_nodes_are_all_there(visit):
    x = rg.ones(2, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y.sin() + x
    page = visit(rg.viz.graph(y))
    assert len(labels(page)) == 10001
    page.locator("#search").fill("sin")
    assert page.locator("#summary").inner_text() == "5000 found"
    assert page.locator("#found button").count() == 50
