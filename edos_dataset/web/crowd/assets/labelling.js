// The labelling task: one of three labels, or another one, searched or typed.
import { begin, byId, make, say } from "./work.js";

const choices = byId("choices"), typed = byId("typed"), found = byId("found"), radios = () => Array.from(choices.querySelectorAll("input"));
let labels = {}, active = -1, own = ""; // own: the word that the worker has said to be one of their own

function choice(name, number) {
  const meaning = name ? make("span", { className: "meaning", textContent: labels[name].meaning + " " }, labels[name].example ? make("q", { textContent: labels[name].example }) : "") : "";
  const radio = make("input", { type: "radio", name: "label", value: name, attributes: { "aria-keyshortcuts": String(number) } });
  const text = make("span", {}, make("b", { textContent: name || "Other" }), meaning || make("span", { className: "meaning", textContent: "none of these: search all labels, or use a word of your own" }));
  return make("label", { className: "choice", dataset: { name } }, radio, make("kbd", { textContent: String(number), attributes: { "aria-hidden": "true" } }), text);
}

function mark(told) {
  for (const one of choices.querySelectorAll(".choice")) {
    const input = one.querySelector("input");
    input.disabled = "truth" in told;
    if (!("truth" in told)) continue;
    const right = one.dataset.name === told.truth;
    if (!right && !input.checked) continue;
    one.classList.add(right ? "right" : "wrong");
    one.append(make("span", { className: "verdict", textContent: right ? "✓ right label" : "✗ your answer" }));
  }
  typed.disabled = "truth" in told;
  if (told.right === true) say("✓ This is right.", "right");
  if (told.right === false) say("✗ The right label is “" + told.truth + "”: " + labels[told.truth].meaning + " Go on when you have read it.", "wrong");
}

function showOther(shown) {
  byId("other").hidden = !shown;
  if (shown) list();
}

function list() {
  const word = typed.value.trim(), options = matching().map((name) => option(name, make("b", { textContent: name }), " ", make("span", { className: "meaning", textContent: labels[name].meaning })));
  if (word) options.push(option("", "Use “", make("b", { textContent: word }), "” as my own word"));
  active = -1;
  found.replaceChildren(...options);
  found.hidden = !options.length || Object.hasOwn(labels, word.toLowerCase()) || (word && word === own) || typed.disabled;
  typed.setAttribute("aria-expanded", String(!found.hidden));
  typed.removeAttribute("aria-activedescendant");
  if (word) move(1); // Enter takes what is marked
}

function option(name, ...content) {
  return make("li", { id: "label-" + (name || "own"), dataset: { name }, attributes: { role: "option", "aria-selected": "false" } }, ...content);
}

function matching() {
  // The labels in which a word begins with what is typed: in their name first, then in their meaning.
  const typing = typed.value.trim().toLowerCase(), begins = (text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(typing)) || text.toLowerCase().startsWith(typing);
  const rank = (name) => (name.startsWith(typing) ? 0 : begins(name) ? 1 : begins(labels[name].meaning) ? 2 : 3);
  return Object.keys(labels).filter((name) => rank(name) < 3).sort((one, other) => rank(one) - rank(other));
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
  if (name) typed.value = name; else own = typed.value.trim();
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
  name: "Dialogue",
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
      if (radio.value === "") typed.value = given.value || given.typed;
    }
    showOther(Boolean(given) && !item.choices.includes(given.value));
    mark(item.answer ? item.answer.told : {});
  },
  answer(item) {
    const radio = radios().find((one) => one.checked);
    if (!radio) return "Choose a label first.";
    if (radio.value) return { value: radio.value, typed: null };
    const word = typed.value.trim(), name = word.toLowerCase();
    if (!word) return "Search for a label, or type a word of your own.";
    if (Object.hasOwn(labels, name)) return { value: name, typed: null };
    if (word !== own && matching().length) return "Choose a label from the list, or “Use ‘" + word + "’ as my own word” at its end.";
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
