// What the page does beyond being read: sorting, hiding, choosing. Everything
// it acts on was rendered by prony-report, and the page is whole without it.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// A column head becomes a button: best first, then the other way. Cells
// without a figure stay last either way.
function makeSortable(table) {
  const body = table.tBodies[0];
  const heads = all("thead th", table);
  const key = (row, column) => row.cells[column].dataset.sort;
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  heads.forEach((head, column) => {
    const button = element("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
        return descending ? compare(y, x) : compare(x, y);
      });
      body.append(...rows);
    });
  });
}

// A legend's entry becomes a button that hides what has its colour, in the
// plots beside it.
function makeToggles(legend) {
  const scope = legend.parentElement;
  for (const item of all("li[data-k]", legend)) {
    const button = element("button", { type: "button" }, ...item.childNodes);
    button.setAttribute("aria-pressed", "true");
    item.replaceChildren(button);
    item.classList.add("live");
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const mark of all(`svg.plot g[data-k="${item.dataset.k}"]`, scope)) {
        mark.style.display = shown ? "" : "none";
      }
    });
  }
}

// Many folded candidates become a list to choose one from.
function makeChooser(figure) {
  const candidates = all("details.candidate", figure);
  if (candidates.length < 2) return;
  const select = element("select");
  candidates.forEach((details, i) => {
    const name = details.querySelector("summary").textContent;
    select.append(element("option", { value: String(i), textContent: name }));
    details.removeAttribute("name"); // open together, one of them shown
    details.open = true;
    details.classList.add("chosen");
  });
  const show = () => candidates.forEach((details, i) => (details.hidden = String(i) !== select.value));
  select.addEventListener("change", show);
  show();
  const label = element("label", { className: "pick" }, "Candidate", select);
  figure.querySelector("h3").after(label);
}

// Several plans: one at a time, or all of them.
function makePlans(plans) {
  if (plans.length < 2) return;
  const nav = element("nav", { className: "plans" });
  nav.setAttribute("aria-label", "Plans");
  const buttons = ["", ...plans.map((plan) => plan.id)].map((id, i) => {
    const button = element("button", { type: "button", textContent: i ? plans[i - 1].dataset.plan : "All plans" });
    button.addEventListener("click", () => show(id));
    nav.append(button);
    return [id, button];
  });
  const show = (id) => {
    plans.forEach((plan) => (plan.hidden = id !== "" && plan.id !== id));
    buttons.forEach(([its, button]) => button.setAttribute("aria-pressed", String(its === id)));
  };
  plans[0].before(nav);
  const asked = location.hash.slice(1);
  show(plans.some((plan) => plan.id === asked) ? asked : "");
}

function makeCopy(block) {
  const button = element("button", { type: "button", textContent: "Copy" });
  button.addEventListener("click", async () => {
    const copied = await navigator.clipboard?.writeText(block.querySelector("code").textContent).then(
      () => true,
      () => false,
    );
    button.textContent = copied ? "Copied" : "Select it and copy";
  });
  block.append(button);
}

function makeSave(place) {
  const button = element("button", { type: "button", textContent: "Save the data as JSON" });
  button.addEventListener("click", () => {
    const text = document.getElementById("data").textContent;
    const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    element("a", { href, download: "prony.json" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  });
  place.append(button);
}

all("table.sortable").forEach(makeSortable);
all("ul.legend").forEach(makeToggles);
all("figure.time").forEach(makeChooser);
makePlans(all("section.plan[id]"));
all("pre.copy").forEach(makeCopy);
all(".tools").forEach(makeSave);
