// The labelling task: one of three labels, or another one, searched or typed.
import { begin, byId, make, say } from "./work.js";

const choices = byId("choices"), typed = byId("typed"), found = byId("found"), radios = () => Array.from(choices.querySelectorAll("input"));
let labels = {}, active = -1;

function choice(name, number) {
  const meaning = name ? make("span", { className: "meaning", textContent: labels[name].meaning + " " }, labels[name].example ? make("q", { textContent: labels[name].example }) : "") : "";
  const radio = make("input", { type: "radio", name: "label", value: name, attributes: { "aria-keyshortcuts": String(number) } });
  const text = make("span", {}, make("b", { textContent: name || "Other" }), meaning || make("span", { className: "meaning", textContent: "none of these: search all labels, or type one" }));
  return make("label", { className: "choice", dataset: { name } }, radio, make("kbd", { textContent: String(number), attributes: { "aria-hidden": "true" } }), text);
}

function mark(told) {
  for (const one of choices.querySelectorAll(".choice")) {
    const input = one.querySelector("input");
    input.disabled = "truth" in told;
    if (!("truth" in told)) continue;
    if (one.dataset.name === told.truth) one.classList.add("right");
    else if (input.checked && !told.right) one.classList.add("wrong");
  }
  typed.disabled = "truth" in told;
  if (told.right === true) say("This is right.", "right");
  if (told.right === false) say("The right label is “" + told.truth + "”: " + labels[told.truth].meaning + " Go on when you have read it.", "wrong");
}

function showOther(shown) {
  byId("other").hidden = !shown;
  if (shown) list();
}

function list() {
  const words = typed.value.trim().toLowerCase(), names = Object.keys(labels);
  const rank = (name) => (name.startsWith(words) ? 0 : name.includes(words) ? 1 : labels[name].meaning.toLowerCase().includes(words) ? 2 : 3);
  const matching = names.filter((name) => rank(name) < 3).sort((one, other) => rank(one) - rank(other));
  active = -1;
  found.replaceChildren(...matching.map((name) => make("li", { id: "label-" + name, dataset: { name }, attributes: { role: "option", "aria-selected": "false" } }, make("b", { textContent: name }), " ", make("span", { className: "meaning", textContent: labels[name].meaning }))));
  found.hidden = !matching.length || names.includes(words) || typed.disabled;
  typed.setAttribute("aria-expanded", String(!found.hidden));
  typed.removeAttribute("aria-activedescendant");
}

function move(step) {
  const options = Array.from(found.children);
  if (!options.length || found.hidden) return;
  active = (active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length;
  options.forEach((option, place) => option.setAttribute("aria-selected", String(place === active)));
  options[active].scrollIntoView({ block: "nearest" });
  typed.setAttribute("aria-activedescendant", options[active].id);
}

function take(name) {
  typed.value = name;
  list();
  typed.focus();
}

typed.addEventListener("input", list);
typed.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" && active >= 0 && !found.hidden) take(found.children[active].dataset.name);
  else if (event.key === "Escape") radios().at(-1).focus();
  else return;
  event.preventDefault();
});
found.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
found.addEventListener("click", (event) => { const option = event.target.closest("[role=option]"); if (option) take(option.dataset.name); });
choices.addEventListener("change", (event) => { showOther(event.target.value === ""); say(""); });

begin({
  name: "Dialogue",
  draw(item) {
    labels = this.labels;
    choices.querySelectorAll(".choice").forEach((one) => one.remove());
    choices.append(...[...item.choices, ""].map((name, place) => choice(name, place + 1)));
    const given = item.answer && item.answer.given;
    const own = given ? given.value || given.typed : null;
    typed.value = "";
    if (given) {
      const radio = radios().find((one) => one.value === given.value) || radios().at(-1);
      radio.checked = true;
      if (radio.value === "") typed.value = own;
    }
    showOther(Boolean(given) && !item.choices.includes(given.value));
    mark(item.answer ? item.answer.told : {});
  },
  answer(item) {
    const radio = radios().find((one) => one.checked);
    if (!radio) return "Choose a label first.";
    if (radio.value) return { value: radio.value, typed: null };
    const own = typed.value.trim(), name = own.toLowerCase();
    if (!own) return "Search a label, or type one.";
    return name in labels ? { value: name, typed: null } : { value: null, typed: own };
  },
  stay(told) {
    if (told.right !== false) return false;
    mark(told);
    return true;
  },
  key(pressed, item) {
    const place = pressed === "o" ? item.choices.length : "123456789".indexOf(pressed), radio = place >= 0 && radios()[place];
    if (!radio || radio.disabled) return false;
    radio.checked = true;
    radio.focus();
    showOther(radio.value === "");
    say("");
    if (radio.value === "") typed.focus();
    return true;
  },
});
