// The playground in the browser.  Whatever comes from the server, or from the address, is text and becomes text nodes.
"use strict";

const TOKEN = document.currentScript.dataset.token;
const byId = (id) => document.getElementById(id);
const program = byId("program"), steps = byId("steps"), outcome = byId("outcome"), cards = byId("cards");
let running = null; // what ends the request that is under way

/** An element with attributes and children; a text becomes a text node. */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((c) => c !== null));
  return made;
}

const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

function duration(seconds) {
  if (seconds < 0.9995) return `${(seconds * 1000).toFixed(seconds < 0.00995 ? 1 : 0)} ms`;
  return `${seconds.toFixed(1)} s`;
}

// -- programs ---------------------------------------------------------------------------------------------------------

const TOKENS = /(#.*$)|("(?:[^"\\]|\\.)*")|\b(def|for|in|if|else|elif|while|with|return|and|or|not|True|False|None|class|pass)\b|\b(\d[\w.]*)\b/gm;

function coloured(line) {
  const found = [];
  let end = 0;
  for (const match of line.matchAll(TOKENS)) {
    found.push(line.slice(end, match.index));
    const kind = match[1] ? "c" : match[2] ? "s" : match[3] ? "k" : "n";
    found.push(make("span", { class: kind }, match[0]));
    end = match.index + match[0].length;
  }
  found.push(line.slice(end));
  return found;
}

/** Lines with a sign in front: " " of both programs, "-" of the one before, "+" of the one after. */
function listing(lines) {
  const rows = lines.map(([sign, line]) => {
    const kind = line.includes("# <-- ") ? "here" : { "+": "added", "-": "removed" }[sign] || "";
    return make("span", { class: `row ${kind}`, "data-sign": sign }, ...coloured(line), "\n");
  });
  return make("pre", { class: "program", tabindex: "0" }, ...rows);
}

const plain = (text) => listing(text.trimEnd().split("\n").map((line) => [" ", line]));

// -- cards ------------------------------------------------------------------------------------------------------------

function obligations(owed) {
  const rows = owed.map((o) =>
    make("tr", {},
      make("td", { class: "verdict" }, o.verdict),
      make("td", {}, o.claim),
      make("td", {}, o.how),
      make("td", { class: "time" }, o.seconds ? duration(o.seconds) : "")));
  const head = make("tr", {}, ...["", "claim", "method", "time"].map((text) => make("th", { scope: "col" }, text)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

function card(kind, line, text, badge, seconds, body) {
  const title = line ? { title: `line ${line} of the steps` } : {};
  const summary = make("summary", title,
    make("code", {}, text),
    make("span", { class: kind === "refused" ? "badge bad" : "badge" }, badge),
    make("span", { class: "time" }, seconds === null ? "" : duration(seconds)));
  const made = make("details", { class: `card ${kind}` }, summary, make("div", { class: "body" }, ...body));
  cards.append(make("li", {}, made));
  return made;
}

function proved(step) {
  const body = step.diff.length
    ? [make("h3", {}, "What it changed"), listing(step.diff)]
    : [make("h3", {}, step.line ? "The program stays as it is" : "The program"), plain(step.program)];
  if (step.obligations.length) {
    const label = `${count(step.obligations.length, "obligation")}, all proved`;
    body.push(make("details", { class: "owed" }, make("summary", {}, label), obligations(step.obligations)));
  }
  const what = step.obligations.length ? `✓ ${step.obligations.length} proved` : "✓ nothing to prove";
  return card("proved", step.line, step.text, what, step.seconds, body);
}

const remedy = (text) => make("p", { class: "remedy" }, make("strong", {}, "What to try: "), text);

const WHY = {
  refuted: "This is false: ",
  undecided: "The solver could not decide this: ",
  "not-applicable": "The step does not apply: ",
};

function refused(found) {
  const body = [make("p", { class: "claim" }, make("strong", {}, WHY[found.kind]), found.claim)];
  const values = Object.entries(found.counterexample);
  if (values.length) {
    const items = values.map(([name, value]) => make("code", {}, `${name} = ${value}`));
    body.push(make("h3", {}, "Counterexample"), make("p", { class: "values" }, ...items));
  }
  if (found.answers) {
    const [element, before, after] = found.answers;
    body.push(make("h3", {}, `Both programs were run on an input of that kind; ${element} is`),
      make("div", { class: "answers" },
        make("div", {}, make("span", {}, "before the step"), make("b", {}, before)),
        make("div", {}, make("span", {}, "after it"), make("b", {}, after))));
  } else if (found.replay) {
    body.push(make("h3", {}, found.replay.confirmed ? "Both programs were run" : "Both programs were run: unconfirmed"),
      make("p", { class: "claim" }, found.replay.message));
  }
  if (found.advice) body.push(remedy(found.advice));
  body.push(make("h3", {}, "Where"), plain(found.program));
  const made = card("refused", found.line, found.step, `✗ refused ${found.code}`, null, body);
  made.open = true;
  return made;
}

// -- the state of a run -----------------------------------------------------------------------------------------------

function show(kind, head, ...more) {
  outcome.className = `outcome ${kind}`;
  outcome.replaceChildren(make("strong", {}, head), ...more);
}

function mistake(found) {
  const field = found.field === "end" ? "steps" : found.field;
  const place = found.line ? `Line ${found.line}: ` : "";
  byId(`${field}-mistake`).textContent = place + found.message;
  byId(`${field}-mistake`).hidden = false;
  mark(byId(field), found.line, "marked");
  show("bad", field === "program" ? "The program cannot be read." : "A step cannot be read.", ` ${place}${found.message}`);
}

function ended(end, done) {
  const vacuous = end.input.found === "vacuous" || end.input.found === "no input found";
  const what = `${count(done, "step")}, ${count(end.obligations, "obligation")}, ${duration(end.seconds)}`;
  const items = [...end.assumptions.map((a) => `assuming: ${a}`), ...end.notes];
  if (vacuous) items.unshift(end.input.sentence);
  const list = items.length ? [make("ul", {}, ...items.map((text) => make("li", {}, text)))] : [];
  show(vacuous ? "odd" : "good", vacuous ? "Proved, but of no input that is known." : "Proved.", ` ${what}`, ...list);
}

/** One answer of the server; gives whether it was the last. */
function heard(answer, state) {
  if (answer.program) {
    state.last = proved({ ...answer.program, text: `program(${answer.program.arguments})`, line: 0 });
  } else if (answer.step) {
    state.done += 1;
    state.last = proved(answer.step);
    mark(steps, answer.step.line, "done");
    show("busy", `${count(state.done, "step")} proved …`);
  } else if (answer.refused) {
    const found = answer.refused;
    state.refused = refused(found);
    if (found.field === "steps") mark(steps, found.line, "marked");
    if (found.field === "program") show("bad", "Refused.", " The program itself is refused, before any step.");
    else {
      const before = state.done ? `${count(state.done, "step")} proved, then` : "The first step,";
      show("bad", "Refused.", ` ${before} ${found.step}${state.done ? "" : ","} was refused.`);
    }
    return true;
  } else if (answer.remedy) {
    state.refused.querySelector(".remedy")?.remove();
    state.refused.querySelector(".claim").after(remedy(answer.remedy));
    return true;
  } else if (answer.mistake) {
    mistake(answer.mistake);
    return true;
  } else if (answer.stopped) {
    if (!state.refused) show("bad", "Not finished.", ` ${answer.stopped}`);
    return true;
  } else if (answer.end) {
    ended(answer.end, state.done);
    if (state.last) state.last.open = true;
    return true;
  }
  return false;
}

async function run() {
  if (running) running.abort();
  const own = (running = new AbortController());
  cards.replaceChildren();
  for (const field of [program, steps]) {
    byId(`${field.id}-mistake`).hidden = true;
    numbers(field);
  }
  remember();
  show("busy", "Proving …");
  const state = { done: 0, last: null, refused: null };
  let finished = false;
  try {
    const response = await fetch("work", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Vtir-Token": TOKEN },
      body: JSON.stringify({ program: program.value, steps: steps.value }),
      signal: own.signal,
    });
    if (!response.ok) return show("bad", "Not done.", ` ${await response.text()}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) finished = heard(JSON.parse(line), state) || finished;
    }
    if (!finished) show("bad", "Not finished.", " The connection was lost.");
  } catch (problem) {
    if (problem.name !== "AbortError") show("bad", "No answer.", " Does vtir serve still run?");
  } finally {
    if (running === own) running = null;
  }
}

// -- what is written --------------------------------------------------------------------------------------------------

function numbers(field) {
  const lines = field.value.split("\n").length;
  const rows = Array.from({ length: lines }, (_, k) => make("span", {}, `${k + 1}\n`));
  field.previousElementSibling.replaceChildren(...rows);
}

function mark(field, line, kind) {
  const row = field.previousElementSibling.children[line - 1];
  if (row) row.className = kind;
}

function encoded(text) {
  const bytes = new TextEncoder().encode(text);
  const binary = Array.from(bytes, (b) => String.fromCharCode(b)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decoded(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)));
}

/** Keep what is written in the address, so that the address is a link to it. */
function remember() {
  history.replaceState(null, "", `#${encoded(JSON.stringify([program.value, steps.value]))}`);
}

function remembered() {
  if (location.hash.length < 2) return false;
  try {
    const [a, b] = JSON.parse(decoded(location.hash.slice(1)));
    put(String(a), String(b));
    return true;
  } catch {
    show("bad", "This link is damaged.");
    return false;
  }
}

function put(text, calls) {
  program.value = text;
  steps.value = calls;
  for (const field of [program, steps]) numbers(field);
}

async function loadExamples() {
  const response = await fetch(`examples.json?token=${encodeURIComponent(TOKEN)}`);
  const examples = await response.json();
  const select = byId("examples");
  for (const example of examples) select.append(make("option", { value: example.name }, example.title));
  select.addEventListener("change", () => {
    const chosen = examples.find((e) => e.name === select.value);
    if (chosen) {
      put(chosen.program, chosen.steps);
      run();
    }
  });
}

for (const field of [program, steps]) {
  field.addEventListener("input", () => numbers(field));
  field.addEventListener("scroll", () => (field.previousElementSibling.scrollTop = field.scrollTop));
  numbers(field);
}
byId("run").addEventListener("click", run);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  }
});
byId("copy").addEventListener("click", async () => {
  remember();
  const button = byId("copy");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "It is in the address bar";
  }
  setTimeout(() => (button.textContent = "Copy link"), 2000);
});
window.addEventListener("hashchange", () => remembered() && run());
loadExamples();
if (remembered()) run();
