// Dialogues to look at. What is looked for stands in the address behind "#", to be sent to others.
const byId = new Map(shown.dialogues.map((dialogue) => [dialogue.id, dialogue]));
const STEP = 25;

function dialogueArticle(dialogue, wanted = () => false) {
  if (!dialogue) return null;
  const { names } = first.labels;
  const link = `#${new URLSearchParams({ dialogue: dialogue.id })}`;
  const facts = [dialogue.film, dialogue.year, dialogue.split, dialogue.certainty === null ? null : `certainty ${fixed(dialogue.certainty)}`].filter((fact) => fact !== null);
  return el("article", {}, el("header", {}, el("a", { href: link }, dialogue.id), facts.map((fact) => el("span", {}, String(fact)))),
    el("ol", {}, dialogue.turns.map((turn, place) => {
      const [text, label, sure, second, probability] = turn;
      const next = second === null ? null : `then ${names[second]}${probability === null ? "" : `, ${fixed(probability)}`}`;
      return el("li", { class: wanted(turn, dialogue.turns[place - 1]) ? "wanted" : null }, el("span", { dir: "auto" }, text), el("span", { title: next }, chip(first.labels, label, sure)));
    }), dialogue.more ? el("li", { class: "soft" }, `and ${plural(dialogue.more, "turn")} more`) : null));
}

function browserSection() {
  const { names } = first.labels;
  const field = (name, input, kind) => [name, input, el("label", { class: kind }, name, input)];
  const films = [...new Set(shown.dialogues.map((one) => one.film).filter((film) => film !== null))].sort();
  const splits = [...new Set(shown.dialogues.map((one) => one.split))];
  const any = (name, values) => el("select", { name }, el("option", { value: "" }, "any"), values.map((value) => el("option", { value }, value)));
  const fields = [
    field("label", any("label", names)),
    field("after the label", any("after", names)),
    field("confidence from", el("input", { name: "from", type: "number", min: 0, max: 1, step: 0.05 }), "narrow"),
    field("confidence to", el("input", { name: "to", type: "number", min: 0, max: 1, step: 0.05 }), "narrow"),
    field("certainty from", el("input", { name: "certainty", type: "number", min: 0, max: 1, step: 0.05 }), "narrow"),
    field("split", any("split", splits)),
    field("film", el("input", { name: "film", list: "film-names" })),
    field("text", el("input", { name: "text", type: "search" })),
  ];
  const inputs = Object.fromEntries(fields.map(([, input]) => [input.name, input]));
  const status = el("p", { class: "status", role: "status" }), list = el("div"), more = el("button", { type: "button" }, "more");
  let found = [], at = 0, alone = false;
  const fits = (turn, before) => {
    const { label, after, from, to, text } = inputs, [said, its, sure] = turn;
    return (!after.value || (before && before[1] !== null && names[before[1]] === after.value)) && (!label.value || (its !== null && names[its] === label.value)) && (from.value === "" || (sure !== null && sure >= Number(from.value))) &&
      (to.value === "" || (sure !== null && sure <= Number(to.value))) && (!text.value || said.toLowerCase().includes(text.value.toLowerCase()));
  };
  const asks = () => [inputs.label, inputs.after, inputs.from, inputs.to, inputs.text].some((input) => input.value !== "");
  const add = () => {
    list.append(...found.slice(at, at + STEP).map((dialogue) => dialogueArticle(dialogue, (turn, before) => asks() && fits(turn, before))));
    at += STEP;
    more.hidden = at >= found.length;
  };
  // A page holds few dialogues of all: the matrix may count more than are found here.
  const often = () => {
    const from = names.indexOf(inputs.after.value), to = names.indexOf(inputs.label.value);
    return from < 0 || to < 0 ? "" : ` In all of the data ${names[to]} comes ${plural(first.transitions[from][to], "time")} after ${names[from]}.`;
  };
  const show = (only = null) => {
    const film = inputs.film.value.toLowerCase(), split = inputs.split.value, sure = inputs.certainty.value;
    const wanted = (one) => (!film || (one.film ?? "").toLowerCase().includes(film)) && (!split || one.split === split) && (sure === "" || (one.certainty !== null && one.certainty >= Number(sure)));
    found = only ? [only] : shown.dialogues.filter((one) => wanted(one) && (!asks() || one.turns.some((turn, place) => fits(turn, one.turns[place - 1]))));
    alone = only !== null;
    at = 0;
    list.replaceChildren();
    status.textContent = only ? `One dialogue, ${only.id}.` : `${plural(found.length, "dialogue")} of the ${count(shown.dialogues.length)} in this page.${often()}`;
    add();
  };
  const write = () => {
    const chosen = Object.entries(inputs).filter(([, input]) => input.value !== "").map(([name, input]) => [name, input.value]);
    history.replaceState(null, "", chosen.length ? `#${new URLSearchParams(chosen)}` : "#browser");
    show();
  };
  const read = () => {
    const hash = location.hash.slice(1);
    if (!hash.includes("=")) {
      if (alone) show(); // by the reader's way back
      return;
    }
    const asked = new URLSearchParams(hash);
    for (const [name, input] of Object.entries(inputs)) input.value = asked.get(name) ?? "";
    const id = asked.get("dialogue");
    if (id !== null && !byId.has(id)) {
      show();
      status.textContent = `There is no dialogue ${id} in this page; it shows ${count(shown.dialogues.length)} of all.`;
    } else show(id === null ? null : byId.get(id));
    document.getElementById("browser").scrollIntoView();
  };
  const form = el("form", { oninput: write, onsubmit: (event) => event.preventDefault() }, fields.map(([, , label]) => label),
    el("button", { type: "reset", onclick: () => setTimeout(write) }, "all"), el("datalist", { id: "film-names" }, films.slice(0, 500).map((film) => el("option", { value: film }))));
  more.addEventListener("click", add);
  section("browser", "Dialogues to read", el("p", {}, `${plural(shown.dialogues.length, "dialogue")} of ${first.name}: drawn by chance, for every label, and the least sure. The filters mean one turn that is all of what is asked for. The address of this page tells what is shown, to be sent to others.`), form, status, list, more);
  window.addEventListener("hashchange", read);
  show();
  return read;
}
