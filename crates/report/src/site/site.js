// Sorting and filters for tables that are complete without them.
"use strict";

const FILTER_ROWS_MIN = 10;

// What a cell is sorted by: its first number with the size of its unit, or its text. A bound stands above its figure.
function key(cell) {
  const text = cell.textContent.trim();
  if (/^\d{4}-\d\d-\d\d/.test(text)) return text;
  const found = /^([≥>]?) ?([−-]?[\d,]*\.?\d+)(?: (ns|µs|ms|s|min|h))?/.exec(text);
  if (!found) return text;
  const number = Number(found[2].replace(/,/g, "").replace("−", "-"));
  const unit = { ns: 1e-6, "µs": 1e-3, ms: 1, s: 1e3, min: 6e4, h: 3.6e6 }[found[3]] ?? 1;
  return number * unit * (found[1] ? 1 + 1e-9 : 1);
}

function compare(a, b) {
  // What was not measured stands below.
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return typeof a === "number" ? a - b : a.localeCompare(b);
}

function sort(table, column, head) {
  const ascending = head.getAttribute("aria-sort") !== "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
  rows.sort(([a], [b]) => (typeof a === typeof b && !ascending ? -1 : 1) * compare(a, b));
  body.append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table")) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, column, head));
    head.append(button);
  });
  if (rows.length < FILTER_ROWS_MIN) continue;
  const label = document.createElement("label");
  label.className = "filter";
  const input = document.createElement("input");
  input.type = "search";
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    }
  });
  label.append("Filter", input);
  table.parentElement.before(label);
}
