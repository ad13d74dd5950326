"use strict";
(() => {
  const ROW = 58; // the height of a row in the list, as in the style
  const byId = (id) => document.getElementById(id);
  const runs = JSON.parse(byId("runs").textContent);
  const VERDICTS = { __proto__: null, answered: "good", failed: "bad", unknown: "warn", unreadable: "warn" };
  const TINTS = { __proto__: null, error: "bad", warning: "warn", info: "calm" };
  const RANK = { __proto__: null, error: 0, warning: 1, info: 2 };
  const words = (text) => String(text).replaceAll("_", " ");

  // Everything that is shown is made here: text becomes text, never markup.
  const make = (name, css, ...inside) => {
    const made = document.createElement(name);
    if (css) made.className = css;
    for (const part of inside) if (part !== null && part !== undefined) made.append(part);
    return made;
  };
  const chip = (text, tint) => {
    const made = make("span", "chip " + (tint || "calm"), String(text));
    made.title = String(text);
    return made;
  };

  let stepLines = null;
  const stepsOf = (index) => {
    stepLines ??= byId("steps").textContent.split("\n");
    return stepLines[index] ? JSON.parse(stepLines[index]) : null;
  };

  // ---- what is chosen -------------------------------------------------------------------------
  const GROUPS = {
    verdicts: (run) => [run.verdict],
    stops: (run) => [run.stop_reason],
    kinds: (run) => kindsOf(run),
  };
  const chosen = { verdicts: new Set(), stops: new Set(), kinds: new Set() };
  const kindsOf = (run) => (run.kinds ??= [...new Set(run.findings.map((found) => found.kind))]);
  const count = (run, severity) => run.findings.filter((found) => found.severity === severity).length;
  const badness = (run) =>
    (run.badness ??= (run.verdict === "failed" ? 1e8 : 0) + 1e4 * count(run, "error") + count(run, "warning"));
  const searched = (run) =>
    (run.searched ??= [run.question, run.answer, run.headline, run.file, run.run, run.id,
      run.framework, ...run.findings.flatMap((found) => [found.kind, found.message, found.evidence]),
    ].join("\n").toLowerCase());

  let shown = [];
  let current = -1; // the chosen run, as its place among all
  const fits = (run, group) =>
    chosen[group].size === 0 || GROUPS[group](run).some((name) => chosen[group].has(name));

  const filter = () => {
    const asked = byId("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const counts = { verdicts: new Map(), stops: new Map(), kinds: new Map() };
    shown = [];
    runs.forEach((run, index) => {
      if (asked.length && !asked.every((word) => searched(run).includes(word))) return;
      const missed = Object.keys(GROUPS).filter((group) => !fits(run, group));
      if (missed.length === 0) shown.push(index);
      // A bar counts what it would show, so its own choice does not empty the others beside it.
      for (const group of Object.keys(GROUPS))
        if (missed.length === 0 || (missed.length === 1 && missed[0] === group))
          for (const name of GROUPS[group](run)) tallied(counts[group], name, tintOf(group, name, run));
    });
    if (byId("order").getAttribute("aria-pressed") === "true")
      shown.sort((a, b) => badness(runs[b]) - badness(runs[a]) || a - b);
    drawFacets(counts);
    const some = asked.length || Object.values(chosen).some((names) => names.size);
    byId("clear").hidden = !some;
    byId("shown").textContent =
      (some ? shown.length.toLocaleString("en") + " of " : "") + runs.length.toLocaleString("en") +
      (runs.length === 1 ? " run" : " runs");
    byId("space").style.height = shown.length * ROW + "px";
    byId("list").scrollTop = 0;
    if (!shown.includes(current)) choose(shown.length ? shown[0] : -1);
    drawRows();
  };

  // How often each thing is there, by the tint that it is drawn in.
  const tallied = (map, name, tint) => {
    const known = map.get(name) || { total: 0 };
    known.total += 1;
    known[tint] = (known[tint] || 0) + 1;
    map.set(name, known);
  };
  const tintOf = (group, name, run) => {
    if (group !== "kinds") return name === "final_answer" ? "good" : "calm";
    const worst = run.findings.find((found) => found.kind === name); // the worst come first
    return TINTS[worst.severity] || "calm";
  };
  const all = { verdicts: new Map(), stops: new Map(), kinds: new Map() };
  for (const run of runs)
    for (const group of Object.keys(GROUPS))
      for (const name of GROUPS[group](run)) tallied(all[group], name, tintOf(group, name, run));
  const ordered = (group) => [...all[group]].sort((a, b) => b[1].total - a[1].total);

  const toggle = (group, name) => {
    if (!chosen[group].delete(name)) chosen[group].add(name);
    filter();
  };
  // Made once and then changed, so that the keyboard stays where it is.
  const facets = new Map();
  const makeFacets = () => {
    for (const [name, known] of ordered("verdicts")) {
      const made = make("button", VERDICTS[name] || "calm");
      made.type = "button";
      made.style.flexGrow = String(known.total);
      made.addEventListener("click", () => toggle("verdicts", name));
      facets.set("verdicts " + name, made);
      byId("verdicts").append(made);
    }
    for (const group of ["stops", "kinds"]) {
      for (const [name] of ordered(group)) {
        const fills = ["bad", "warn", "good", "calm"].map((tint) => make("div", "fill " + tint));
        const label = make("span", "", words(name));
        const made = make("button", "facet", make("span", "name", label, make("span")), make("div", "track", ...fills));
        made.type = "button";
        made.title = words(name);
        made.addEventListener("click", () => toggle(group, name));
        facets.set(group + " " + name, made);
        byId(group).append(made);
      }
      if (!all[group].size) byId(group).append(make("p", "empty", "None."));
    }
  };
  const drawFacets = (counts) => {
    for (const group of Object.keys(GROUPS)) {
      const most = Math.max(1, ...[...all[group].values()].map((known) => known.total));
      for (const [name] of all[group]) {
        const made = facets.get(group + " " + name);
        const found = counts[group].get(name) || { total: 0 };
        made.setAttribute("aria-pressed", String(chosen[group].has(name)));
        made.classList.toggle("zero", found.total === 0);
        if (group === "verdicts") {
          made.textContent = words(name) + " " + found.total.toLocaleString("en");
          made.title = made.textContent;
        } else {
          made.querySelector(".name").lastChild.textContent = found.total.toLocaleString("en");
          for (const tint of ["bad", "warn", "good", "calm"])
            made.querySelector(".fill." + tint).style.width = (100 * (found[tint] || 0)) / most + "%";
        }
      }
    }
  };

  // ---- the list: only what can be seen is drawn -----------------------------------------------
  const place = (run) => (run.file === null ? "run " : run.file.split(/[\\/]/).pop() + " · ") + run.run;
  const makeRow = (at) => {
    const index = shown[at];
    const run = runs[index];
    const kinds = run.findings.filter((found, n) =>
      found.severity !== "info" && run.findings.findIndex((each) => each.kind === found.kind) === n);
    const row = make("div", "row",
      make("div", "line", chip(words(run.verdict), VERDICTS[run.verdict]),
        make("span", "ask", run.question || run.headline || "")),
      make("div", "line small", make("span", "ask", place(run)),
        make("span", "", run.steps + (run.steps === 1 ? " step" : " steps")),
        ...kinds.slice(0, 3).map((found) => chip(words(found.kind), TINTS[found.severity])),
        kinds.length > 3 ? make("span", "", "+" + (kinds.length - 3)) : null));
    row.id = "row" + index;
    row.style.top = at * ROW + "px";
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(index === current));
    row.setAttribute("aria-setsize", String(shown.length));
    row.setAttribute("aria-posinset", String(at + 1));
    row.addEventListener("click", () => { choose(index); drawRows(); });
    return row;
  };
  const drawRows = () => {
    const list = byId("list");
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 4);
    const rows = [];
    for (let at = first; at < last; at++) rows.push(makeRow(at));
    byId("space").replaceChildren(...rows);
    if (current >= 0) list.setAttribute("aria-activedescendant", "row" + current);
  };
  let waiting = false;
  byId("list").addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; drawRows(); });
  }, { passive: true });
  window.addEventListener("resize", drawRows);

  // ---- one run ----------------------------------------------------------------------------------
  const fact = (name, text) =>
    text === null || text === undefined || text === "" ? [] : [make("dt", "", name), make("dd", "", String(text))];
  const jumpTo = (number) => {
    const jump = make("button", "", "step " + (number + 1));
    jump.type = "button";
    jump.addEventListener("click", () => {
      const step = byId("step" + number) || document.querySelector("li.gap");
      if (step) { step.scrollIntoView(); step.focus(); }
    });
    return jump;
  };
  // Findings that say the same stand together, with the steps that show them.
  const finding = (alike, link) => {
    const found = alike[0];
    const notes = [found.severity, found.certainty, found.recovered ? "recovered" : ""].filter(Boolean);
    const box = make("div", "found " + (found.severity in RANK ? found.severity : ""),
      make("b", "", words(found.kind)), make("span", "note", notes.join(", ")));
    const steps = link ? alike.filter((each) => each.step !== null) : [];
    for (const each of steps.slice(0, 12)) box.append(" ", jumpTo(each.step));
    if (steps.length > 12) box.append(make("span", "note", " and " + (steps.length - 12) + " more"));
    box.append(make("div", "", found.message));
    if (found.evidence && found.evidence !== found.message && !link) box.append(make("pre", "", found.evidence));
    return box;
  };
  const together = (findings) => {
    const groups = new Map();
    for (const found of findings) {
      const key = JSON.stringify([found.kind, found.severity, found.certainty, found.recovered, found.message]);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(found);
    }
    return [...groups.values()];
  };
  const drawStep = (step, found) => {
    const item = make("li", found.some((each) => each.severity === "error") ? "error"
      : found.some((each) => each.severity === "warning") ? "warning" : "");
    item.dataset.number = step.skipped ? "…" : String(step.number + 1);
    item.id = "step" + step.number;
    item.tabIndex = -1;
    if (step.skipped) {
      item.classList.add("gap");
      item.append(make("p", "empty", step.skipped.toLocaleString("en") + " steps are left out"));
      for (const each of found) item.append(finding([each], false));
      return item;
    }
    const chips = make("div", "chips");
    if (step.agent) chips.append(chip(step.agent));
    if (step.form) chips.append(chip(step.form));
    for (const repair of step.repairs || []) chips.append(chip("repaired: " + repair, "warn"));
    if (step.tokens) chips.append(chip(step.tokens.toLocaleString("en") + " tokens"));
    if (step.seconds) chips.append(chip(step.seconds.toPrecision(3) + " s"));
    if (chips.childNodes.length) item.append(chips);
    for (const plan of step.plans || [])
      item.append(make("p", "facts", make("span", "label", "plan"), plan.selected + ". " + plan.why));
    if (step.text) item.append(make("p", "said", step.text));
    if (step.failure)
      item.append(make("div", "result failed", make("span", "label", "not read with certainty"), make("div", "", step.failure)));
    for (const call of step.calls || [])
      item.append(make("div", "call", make("span", "label", "call"), make("b", "", call.name), make("pre", "", call.arguments)));
    for (const result of step.results || [])
      item.append(make("div", result.failed ? "result failed" : "result",
        make("span", "label", result.failed ? "result, failed" : "result"), make("pre", "", result.text)));
    if (step.more) item.append(make("p", "empty", step.more.toLocaleString("en") + " more calls and results are left out"));
    if (step.error) item.append(make("div", "result failed", make("span", "label", "error"), make("pre", "", step.error)));
    if (step.answer) item.append(make("div", "call", make("span", "label", "answer"), make("pre", "", step.answer)));
    for (const each of found) item.append(finding([each], false));
    return item;
  };
  const drawRun = (index) => {
    const page = byId("run");
    if (index < 0) { page.replaceChildren(make("p", "empty", "No run matches.")); return; }
    const run = runs[index];
    const steps = stepsOf(index);
    const facts = [run.file, "run " + run.run, run.id, run.framework,
      run.steps + (run.steps === 1 ? " step" : " steps"),
      run.tokens ? run.tokens.toLocaleString("en") + " tokens" : null,
      run.seconds ? run.seconds.toPrecision(3) + " s" : null].filter(Boolean);
    const parts = [
      make("div", "chips", chip(words(run.verdict), VERDICTS[run.verdict]), chip(words(run.stop_reason))),
      make("h3", "", run.headline),
      make("p", "facts", facts.join(" · ")),
      make("dl", "", ...fact("Question", run.question), ...fact("Answer", run.answer)),
      ...together(run.findings).map((alike) => finding(alike, true)),
    ];
    if (!run.findings.length) parts.push(make("p", "empty", "No findings."));
    if (steps === null) {
      parts.push(make("p", "empty", run.steps ? "This page omits the steps to stay small"
        + (run.file === null ? "." : "; `loopmend show` shows them.") : "No steps."));
    } else {
      // What was found in a step that is left out stands where the gap is.
      const drawn = new Set(steps.map((step) => step.number));
      const gap = steps.find((step) => step.skipped);
      const at = (found) => (drawn.has(found.step) ? found.step : gap && found.step !== null ? gap.number : null);
      const timeline = steps.map((step) => drawStep(step, run.findings.filter((found) => at(found) === step.number)));
      parts.push(make("ol", "", ...timeline));
    }
    page.replaceChildren(...parts);
    page.scrollTop = 0;
  };
  const choose = (index) => {
    current = index;
    drawRun(index);
  };

  // ---- keyboard -----------------------------------------------------------------------------------
  const go = (at) => {
    if (!shown.length) return;
    const to = Math.max(0, Math.min(shown.length - 1, at));
    const list = byId("list");
    choose(shown[to]);
    if (to * ROW < list.scrollTop) list.scrollTop = to * ROW;
    else if ((to + 1) * ROW > list.scrollTop + list.clientHeight)
      list.scrollTop = (to + 1) * ROW - list.clientHeight;
    drawRows();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const search = byId("search");
    const typing = event.target === search;
    const inRun = byId("run").contains(event.target);
    const here = shown.indexOf(current);
    const page = Math.max(1, Math.floor(byId("list").clientHeight / ROW) - 1);
    const moves = { ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + page, PageUp: here - page,
      Home: 0, End: shown.length - 1, j: here + 1, k: here - 1 };
    if (event.key === "Escape") {
      if (typing && search.value) { search.value = ""; filter(); } else byId("list").focus();
    } else if (typing) {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return;
      byId("list").focus();
    } else if (event.key === "/") {
      search.focus();
      search.select();
    } else if (event.key === "Enter" && event.target === byId("list")) {
      byId("run").focus();
    } else if (event.key in moves && !inRun && !(event.target instanceof HTMLButtonElement)) {
      go(moves[event.key]);
    } else return;
    event.preventDefault();
  });
  let typed = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(filter, 80);
  });
  byId("clear").addEventListener("click", () => {
    byId("search").value = "";
    for (const names of Object.values(chosen)) names.clear();
    filter();
  });
  byId("order").addEventListener("click", (event) => {
    const button = event.currentTarget;
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    filter();
  });
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  makeFacets();
  filter();
  byId("list").focus({ preventScroll: true });
})();
