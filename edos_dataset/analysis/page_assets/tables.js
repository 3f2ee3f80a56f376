// Tables: under every picture, and where a table says it best.
function table(caption, columns, rows) {
  const head = columns.map(([name, kind]) => el("th", { scope: "col", class: kind }, name));
  const body = rows.map((row) =>
    el("tr", {}, row.map((cell, place) =>
      place ? el("td", { class: columns[place][1] }, cell ?? "–") : el("th", { scope: "row", class: columns[0][1] }, cell ?? "–"))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

// A table that is made when somebody opens it: some have thousands of cells.
function folded(title, make) {
  const made = el("details", {}, el("summary", {}, title));
  made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) made.append(make()); });
  return made;
}

const NUMBER = "number";
const numbered = (name) => [name, NUMBER];
