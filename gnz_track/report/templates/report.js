"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const WORDS = {
    A: "first is better", B: "second is better", a: "first is better, by less than the margin",
    b: "second is better, by less than the margin", e: "equivalent", u: "undetermined",
    i: "the same score on every seed", n: "both learnt nothing: no better than a constant answer",
  };
  const SIGNS = { A: "\u25b2", B: "\u25bc", a: "\u25b3", b: "\u25bd", e: "=", u: "?", i: "\u2261", n: "\u2205" };
  const TURNED = { A: "B", B: "A", a: "b", b: "a", e: "e", u: "u", i: "i", n: "n" };
  const MOST_IN_MATRIX = 40, ROWS_AT_ONCE = 200;
  const byId = (id) => document.getElementById(id);
  // An element with its text; text is always text, whatever it holds.
  const make = (tag, text, attributes) => {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = String(text);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    return made;
  };
  const named = (text) => make("bdi", text);
  const show = (number) => (number === null || number === undefined ? "" : String(number));

  // --- sorting and filtering -------------------------------------------------------------------------------------
  const valueOf = (cell) => {
    const text = cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent.trim();
    const number = text === "" ? NaN : Number(text);
    return Number.isNaN(number) ? text : number;
  };
  // What is empty comes last in both directions.
  const compare = (a, b, sign) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const sortBy = (header) => {
    const table = header.closest("table"), place = [...header.parentNode.children].indexOf(header);
    const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [valueOf(row.cells[place]), row]);
    keyed.sort((one, two) => compare(one[0], two[0], sign));
    body.append(...keyed.map(([, row]) => row));
  };
  const wordsOf = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const filter = (input) => {
    const table = byId(input.getAttribute("aria-controls")), words = wordsOf(input), rows = table.tBodies[0].rows;
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    const said = byId(`${table.id}-count`);
    if (said) said.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  };

  // --- tables that are made on demand ----------------------------------------------------------------------------
  const heading = (columns) => {
    const row = make("tr");
    for (const column of columns) {
      const cell = make("th", null, { scope: "col", class: column.startsWith(">") ? "n" : "" });
      cell.append(make("button", column.replace(/^>/, ""), { type: "button" }));
      row.append(cell);
    }
    const head = make("thead");
    head.append(row);
    return head;
  };
  const link = (run) => {
    if (!run) return make("span", "no run");
    const made = make("a", run, { class: "id", target: "_blank", rel: "noopener", "data-run": run });
    made.href = addressOf(run);
    return made;
  };
  const pairsOf = (task) => (task < 0 ? data.across.pairs || data.across : data.tasks[task].pairs);
  const pairRow = (task, place) => {
    const pairs = pairsOf(task), first = data.models[pairs.a[place]], second = data.models[pairs.b[place]];
    const row = make("tr"), opener = make("button", null, { type: "button", class: "cell" });
    opener.append(named(first), " \u2013 ", named(second));
    opener.dataset.pair = `${task} ${pairs.a[place]} ${pairs.b[place]}`;
    const letter = pairs.v[place], title = make("th", null, { scope: "row" });
    title.append(opener);
    row.append(title);
    const verdict = make("td", `${SIGNS[letter]} ${WORDS[letter]}`, { class: `v${letter} w` });
    if (task < 0) {
      row.append(verdict);
      for (const name of ["wins", "ties", "losses", "p", "nemenyi"]) row.append(make("td", show(pairs[name][place]), { class: "n" }));
      return row;
    }
    row.append(verdict);
    for (const name of ["d", "low", "high", "p", "n"]) row.append(make("td", show(pairs[name][place]), { class: "n" }));
    row.append(make("td", pairs.note[place] || "", { class: pairs.note[place] ? "said" : "" }));
    return row;
  };
  const PAIR_COLUMNS = ["pair (first \u2013 second)", "verdict", ">advantage of first", ">from", ">to", ">adjusted p", ">seeds", "remarks"];
  const ACROSS_COLUMNS = ["pair (first \u2013 second)", "verdict", ">tasks won", ">tied", ">lost", ">adjusted p", ">Nemenyi p"];
  const showPairs = (holder) => {
    const task = Number(holder.dataset.pairs), pairs = pairsOf(task), n = pairs.a.length;
    const id = `pairs-${task < 0 ? "across" : task}`, tools = make("div", null, { class: "tools" });
    const label = make("label", "Filter pairs"), input = make("input", null, { type: "search" });
    const count = make("span", "", { role: "status", class: "soft" }), box = make("div", null, { class: "box", tabindex: "0", role: "region", "aria-label": "Pairs" });
    const table = make("table", null, { id }), body = make("tbody");
    label.append(input);
    tools.append(label, count);
    table.append(heading(task < 0 ? ACROSS_COLUMNS : PAIR_COLUMNS), body);
    box.append(table);
    const fill = () => {
      const words = wordsOf(input), found = [];
      for (let place = 0; place < n; place += 1) {
        const text = `${data.models[pairs.a[place]]} ${data.models[pairs.b[place]]} ${WORDS[pairs.v[place]]}`.toLowerCase();
        if (words.every((word) => text.includes(word))) found.push(place);
      }
      body.replaceChildren(...found.slice(0, ROWS_AT_ONCE).map((place) => pairRow(task, place)));
      const cut = found.length > ROWS_AT_ONCE ? `, the first ${ROWS_AT_ONCE} shown; type a name to see others` : "";
      count.textContent = `${found.length} of ${n} pairs${cut}`;
    };
    input.addEventListener("input", fill);
    fill();
    holder.replaceChildren(tools, box);
  };

  // --- the matrix of verdicts --------------------------------------------------------------------------------------
  const lookUp = (task) => {
    const pairs = pairsOf(task), found = new Map();
    for (let place = 0; place < pairs.a.length; place += 1) {
      found.set(`${pairs.a[place]} ${pairs.b[place]}`, pairs.v[place]);
      found.set(`${pairs.b[place]} ${pairs.a[place]}`, TURNED[pairs.v[place]]);
    }
    return found;
  };
  const tally = () => {
    const found = new Map();
    data.tasks.forEach((_, task) => {
      for (const [key, letter] of lookUp(task)) {
        const counts = found.get(key) || { A: 0, B: 0, n: 0 };
        counts.n += 1;
        if (letter === "A" || letter === "B") counts[letter] += 1;
        found.set(key, counts);
      }
    });
    return found;
  };
  const KINDS = {
    // Over all tasks: on how many of them each one is better.
    tally: (counts) => {
      const letter = counts.A === counts.B ? (counts.A ? "x" : "u") : counts.A > counts.B ? "A" : "B";
      const parts = [counts.A ? `${counts.A}\u25b2` : "", counts.B ? `${counts.B}\u25bc` : ""].filter(Boolean);
      return [letter, parts.join(" ") || "?", `row better on ${counts.A}, worse on ${counts.B} of ${counts.n} tasks`];
    },
    single: (letter) => [letter, SIGNS[letter], WORDS[letter].replace("first", "row").replace("second", "column")],
  };
  let tallied = null;
  const showMatrix = () => {
    const chosen = byId("matrix-task").value, words = wordsOf(byId("matrix-filter")), task = Number(chosen);
    if (chosen === "tally" && !tallied) tallied = tally();
    const found = chosen === "tally" ? tallied : lookUp(task), write = KINDS[chosen === "tally" ? "tally" : "single"];
    const matching = data.models.map((_, place) => place).filter((place) => words.every((word) => data.models[place].toLowerCase().includes(word)));
    const models = matching.slice(0, MOST_IN_MATRIX), table = byId("matrix"), head = make("tr"), rows = [];
    head.append(make("th", "row against column", { scope: "col" }));
    for (const column of models) { const cell = make("th", null, { scope: "col" }); cell.append(named(data.models[column])); head.append(cell); }
    for (const row of models) {
      const line = make("tr"), title = make("th", null, { scope: "row", class: data.models[row].length <= 24 ? "one" : "" });
      title.append(named(data.models[row]));
      line.append(title);
      for (const column of models) {
        const value = found.get(`${row} ${column}`), cell = make("td");
        if (row === column) cell.className = "self";
        else if (value === undefined) { cell.className = "none"; cell.title = "not compared"; } else {
          const [letter, text, words_] = write(value), opener = make("button", text, { type: "button", class: "cell" });
          const said = `${data.models[row]} against ${data.models[column]}: ${words_}`;
          opener.title = said;
          opener.setAttribute("aria-label", said);
          opener.dataset.pair = `${chosen === "tally" ? -2 : task} ${row} ${column}`;
          cell.className = `v${letter}`;
          cell.append(opener);
        }
        line.append(cell);
      }
      rows.push(line);
    }
    const top = make("thead"), body = make("tbody");
    top.append(head);
    body.append(...rows);
    table.replaceChildren(make("caption", "", { class: "soft" }), top, body);
    const cut = matching.length > models.length ? `; ${models.length} of ${matching.length} fit, type part of a name to see others` : "";
    const nRanked = models.filter((place) => place < data.n_ranked).length, nOthers = models.length - nRanked;
    const others = nOthers ? `, then ${nOthers} not ranked, as not on every task of the ranks` : "";
    const order = nRanked ? `${nRanked} by mean rank, best first${others}` : "not ranked";
    byId("matrix-count").textContent = `${models.length} model${models.length === 1 ? "" : "s"}: ${order}${cut}`;
  };

  // --- runs behind a cell --------------------------------------------------------------------------------------------
  // In MLflow's artifact view the page is a blob of MLflow's own address, in a frame that may not open anything.
  const isBoxed = location.protocol === "blob:" || location.protocol === "about:";
  const around = isBoxed ? (location.href.match(/^blob:(https?:\/\/[^/]+)/) || [])[1] || (location.ancestorOrigins || [])[0] : "";
  const ui = byId("ui");
  ui.value = around || data.ui || "http://127.0.0.1:5000";
  const addressOf = (run) => {
    const base = ui.value.trim().replace(/\/+$/, "");
    // Nothing but web addresses: a link must not run anything.
    return /^https?:\/\//i.test(base) ? `${base}/#/runs/${encodeURIComponent(run)}` : `#${encodeURIComponent(run)}`;
  };
  const renewLinks = () => {
    for (const made of document.querySelectorAll("a[data-run]")) made.href = addressOf(made.dataset.run);
  };
  const runRows = (task, model) => {
    const shown = data.tasks[task], rows = [];
    for (const [place, seeds, scores, runs] of shown.cells) {
      if (place === model) seeds.forEach((seed, at) => rows.push([seed, scores[at], "finished", runs[at]]));
    }
    for (const [place, seed, run, reason] of shown.failed) if (place === model) rows.push([seed, "", `failed: ${reason || "no reason known"}`, run]);
    return rows.sort((one, two) => one[0] - two[0]).map(([seed, score, state, run]) => {
      const row = make("tr"), where = make("td");
      where.append(link(run));
      for (const name of [shown.name, data.models[model]]) { const cell = make("td", null, { class: "name" }); cell.append(named(name)); row.append(cell); }
      row.append(make("td", seed, { class: "n" }), make("td", show(score), { class: "n" }), make("td", state, { class: state === "finished" ? "" : "said" }), where);
      return row;
    });
  };
  const openRuns = (title, said, rows) => {
    const table = make("table", null, { id: "runs" }), body = make("tbody");
    body.append(...rows);
    table.append(heading(["task", "model", ">seed", ">score", "state", "run in MLflow"]), body);
    byId("panel-title").textContent = title;
    byId("panel-said").textContent = said;
    byId("panel-runs").replaceChildren(table);
    byId("boxed").hidden = !isBoxed;
    if (!byId("panel").open) byId("panel").showModal();
  };
  const openCell = (task, model) => {
    const rows = runRows(task, model);
    openRuns(`${data.models[model]} on ${data.tasks[task].name}`, `${rows.length} runs; ${data.tasks[task].metric}, ${data.tasks[task].direction === "up" ? "larger" : "smaller"} is better`, rows);
  };
  const openPair = (task, first, second) => {
    const tasks = task < 0 ? data.tasks.map((_, place) => place) : [task];
    const rows = tasks.flatMap((place) => [...runRows(place, first), ...runRows(place, second)]);
    const where = task < 0 ? `${tasks.length} tasks` : data.tasks[task].name;
    openRuns(`${data.models[first]} and ${data.models[second]}`, `${rows.length} runs on ${where}`, rows);
  };

  // --- what the reader does --------------------------------------------------------------------------------------------
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.closest("thead")) sortBy(button.closest("th"));
    else if (button.dataset.cell) openCell(...button.dataset.cell.split(" ").map(Number));
    else if (button.dataset.pair) openPair(...button.dataset.pair.split(" ").map(Number));
    else if (button.id === "close") byId("panel").close();
    else if (button.dataset.copy) {
      getSelection().selectAllChildren(byId(button.dataset.copy));
      document.execCommand("copy");
      button.textContent = "copied";
    }
  });
  document.addEventListener("click", (event) => {
    const followed = event.target.closest("a[data-run]");
    // Nothing opens from within MLflow's frame: the address is marked, ready to be copied.
    if (followed && isBoxed) { event.preventDefault(); byId("copied").textContent = followed.href; getSelection().selectAllChildren(byId("copied")); document.execCommand("copy"); }
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("input[data-filter]")) filter(event.target);
    else if (event.target.id === "matrix-filter" || event.target.id === "matrix-task") showMatrix();
    else if (event.target === ui) renewLinks();
  });
  const fillPairs = (within) => {
    for (const holder of within.querySelectorAll("[data-pairs]")) if (!holder.hasChildNodes()) showPairs(holder);
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.tagName === "DETAILS" && event.target.open) for (const holder of event.target.querySelectorAll(":scope > [data-pairs]")) if (!holder.hasChildNodes()) showPairs(holder);
  }, true);
  // On paper nothing can be opened any more.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) { one.open = true; fillPairs(one); }
  });
  addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
  // A link to something within closed details opens them.
  const openTarget = () => {
    let target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
    const first = target;
    for (; target; target = target.parentElement) if (target.tagName === "DETAILS") target.open = true;
    if (first) first.scrollIntoView();
  };
  addEventListener("hashchange", openTarget);
  for (const input of document.querySelectorAll("input[data-filter]")) if (input.value) filter(input);
  if (byId("matrix")) showMatrix();
  openTarget();
})();
