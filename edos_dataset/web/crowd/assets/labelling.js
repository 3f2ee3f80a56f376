// The labelling task: one of three labels, or another one, searched or typed.
import { begin, byId, make, say, text } from "./work.js";

const choices = byId("choices"), typed = byId("typed"), found = byId("found"), radios = () => Array.from(choices.querySelectorAll("input"));
let labels = {}, active = -1, own = ""; // own: the word that the worker has said to be one of their own

// Texts as they are compared, without capitals and accents; and the label that has a name, in the page's language or in English.
const plain = (given) => given.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const named = (word) => Object.keys(labels).find((label) => [label, labels[label].name].some((name) => name.toLowerCase() === word.toLowerCase()));

function choice(name, number) {
  const meaning = name ? make("span", { className: "meaning", textContent: labels[name].meaning + " " }, labels[name].example ? make("q", { textContent: labels[name].example }) : "") : "";
  const radio = make("input", { type: "radio", name: "label", value: name, attributes: { "aria-keyshortcuts": String(number) } });
  const shown = make("span", {}, make("b", { textContent: name ? labels[name].name : text("other") }), meaning || make("span", { className: "meaning", textContent: text("other_meaning") }));
  return make("label", { className: "choice", dataset: { name } }, radio, make("kbd", { textContent: String(number), attributes: { "aria-hidden": "true" } }), shown);
}

function mark(told) {
  for (const one of choices.querySelectorAll(".choice")) {
    const input = one.querySelector("input");
    input.disabled = "truth" in told;
    if (!("truth" in told)) continue;
    const right = one.dataset.name === told.truth;
    if (!right && !input.checked) continue;
    one.classList.add(right ? "right" : "wrong");
    one.append(make("span", { className: "verdict", textContent: right ? "✓ " + text("right_label") : "✗ " + text("your_answer") }));
  }
  typed.disabled = "truth" in told;
  if (told.right === true) say("✓ " + text("is_right"), "right");
  if (told.right === false) say("✗ " + text("is_wrong", { label: labels[told.truth].name, meaning: labels[told.truth].meaning }), "wrong");
}

function showOther(shown) {
  byId("other").hidden = !shown;
  if (shown) list();
}

function list() {
  const word = typed.value.trim(), options = matching().map((name) => option(name, make("b", { textContent: labels[name].name }), " ", make("span", { className: "meaning", textContent: labels[name].meaning })));
  const [before, after] = text("own_word", { word: "\n" }).split("\n");
  if (word) options.push(option("", before, make("b", { textContent: word }), after));
  active = -1;
  found.replaceChildren(...options);
  found.hidden = !options.length || named(word) !== undefined || (word && word === own) || typed.disabled;
  typed.setAttribute("aria-expanded", String(!found.hidden));
  typed.removeAttribute("aria-activedescendant");
  if (word) move(1); // Enter takes what is marked
}

function option(name, ...content) {
  return make("li", { id: "label-" + (name || "own"), dataset: { name }, attributes: { role: "option", "aria-selected": "false" } }, ...content);
}

function matching() {
  // The labels in which a word begins with what is typed: in their name first, then in their English name, then in their meaning.
  const typing = plain(typed.value.trim()), begins = (given) => plain(given).startsWith(typing) || plain(given).split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(typing));
  const rank = (label) => (plain(labels[label].name).startsWith(typing) ? 0 : begins(labels[label].name) ? 1 : begins(label) ? 2 : begins(labels[label].meaning) ? 3 : 4);
  return Object.keys(labels).filter((label) => rank(label) < 4).sort((one, other) => rank(one) - rank(other));
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
  if (name) typed.value = labels[name].name; else own = typed.value.trim();
  list();
  typed.focus();
}

typed.addEventListener("input", () => { list(); byId("other").scrollIntoView({ block: "nearest" }); });
typed.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" && active >= 0 && !found.hidden && matching().length) take(found.children[active].dataset.name);
  else if (event.key === "Escape") radios().at(-1).focus();
  else return;
  event.preventDefault();
});
found.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
found.addEventListener("click", (event) => { const option = event.target.closest("[role=option]"); if (option) take(option.dataset.name); });
choices.addEventListener("change", (event) => { showOther(event.target.value === ""); say(""); });

begin({
  name: "dialogue_of",
  draw(item) {
    labels = this.labels;
    choices.querySelectorAll(".choice").forEach((one) => one.remove());
    choices.append(...[...item.choices, ""].map((name, place) => choice(name, place + 1)));
    const given = item.answer && item.answer.given;
    typed.value = "";
    own = (given && given.typed) || "";
    if (given) {
      const radio = radios().find((one) => one.value === given.value) || radios().at(-1);
      radio.checked = true;
      if (radio.value === "") typed.value = given.value ? labels[given.value].name : given.typed;
    }
    showOther(Boolean(given) && !item.choices.includes(given.value));
    mark(item.answer ? item.answer.told : {});
  },
  answer(item) {
    const radio = radios().find((one) => one.checked);
    if (!radio) return text("choose_first");
    if (radio.value) return { value: radio.value, typed: null };
    const word = typed.value.trim(), label = named(word);
    if (!word) return text("search_first");
    if (label !== undefined) return { value: label, typed: null };
    if (word !== own && matching().length) return text("choose_listed", { word });
    return { value: null, typed: word };
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
