"use strict";
// The page can be read without this: it adds keys, the switch between light and dark, and the link between pictures.
(function () {
  const root = document.documentElement;
  const steps = Array.from(document.querySelectorAll("main .step"));

  function at() {  // the step at the top of the window
    if (window.scrollY === 0) { return -1; }
    const line = window.innerHeight * 0.35;
    const above = steps.filter(function (s) { return line >= s.getBoundingClientRect().top; });
    return above.length ? steps.indexOf(above[above.length - 1]) : -1;
  }
  function current() {
    const focused = document.activeElement ? document.activeElement.closest("main .step") : null;
    return focused ? steps.indexOf(focused) : at();
  }
  function show(number) {
    const step = steps[Math.max(0, Math.min(steps.length - 1, number))];
    if (step) {
      step.focus({ preventScroll: true });
      step.scrollIntoView({ block: "start" });
      history.replaceState(null, "", "#" + step.id);
      mark(step);
    }
  }
  function mark(step) {
    document.querySelectorAll(".step-link").forEach(function (link) {
      if (step !== null ? link.getAttribute("href") === "#" + step.id : false) {
        link.setAttribute("aria-current", "step");
      } else {
        link.removeAttribute("aria-current");
      }
    });
  }
  function theme() {
    const dark = root.dataset.theme ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) { return; }
    if (event.key === "j" || event.key === "ArrowRight") { show(current() + 1); }
    else if (event.key === "k" || event.key === "ArrowLeft") { show(current() - 1); }
    else if (event.key === "t") { theme(); }
    else { return; }
    event.preventDefault();
  });
  let waiting = false;
  document.addEventListener("scroll", function () {
    if (waiting) { return; }
    waiting = true;
    requestAnimationFrame(function () { waiting = false; mark(at() >= 0 ? steps[at()] : null); });
  }, { passive: true });
  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", theme);

  function keys(cell) { return cell.dataset.key ? cell.dataset.key.split(" ") : []; }
  document.querySelectorAll("figure.linked").forEach(function (figure) {
    const cells = Array.from(figure.querySelectorAll(".cell[data-key]"));
    figure.addEventListener("pointerover", function (event) {
      const here = event.target.closest(".cell");
      const wanted = here ? keys(here) : [];
      cells.forEach(function (cell) {
        cell.classList.toggle("on", keys(cell).some(function (key) { return wanted.includes(key); }));
      });
    });
    figure.addEventListener("pointerleave", function () {
      cells.forEach(function (cell) { cell.classList.remove("on"); });
    });
  });
})();
