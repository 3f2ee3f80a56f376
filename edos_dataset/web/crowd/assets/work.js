// What both tasks share: the HIT, one item after the other, answers that are sent until they are stored, keys, dialogs.
export const byId = (id) => document.getElementById(id);
const texts = JSON.parse(document.querySelector("meta[name=texts]").content);
const csrf = document.querySelector("meta[name=csrf]").content, assignment = Number(byId("work").dataset.assignment);
const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
const state = { items: [], at: 0, busy: false, spent: 0, since: null };
let task;

export function make(tag, properties = {}, ...children) {
  const { dataset, attributes, ...plain } = properties, made = Object.assign(document.createElement(tag), plain);
  Object.assign(made.dataset, dataset);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A text of crowd/languages, with values in place of its {placeholders}.
export const text = (name, values = {}) => texts[name].replace(/\{(\w+)\}/g, (all, key) => values[key]);

export function say(sentence, kind = "") {
  byId("told").textContent = sentence;
  byId("told").className = "told " + kind;
}

async function ask(path, body) {
  // Asks again until there is an answer: an answer of a worker is never dropped because a network was.
  const options = body ? { method: "POST", headers: { "content-type": "application/json", "x-csrf-token": csrf }, body: JSON.stringify(body) } : {};
  for (let wait = 1; ; wait = Math.min(2 * wait, 8)) {
    let response = null;
    try { response = await fetch(path, { ...options, credentials: "same-origin" }); } catch (error) { /* no network */ }
    if (response && response.ok) return response.json();
    if (response && response.status < 500 && response.status !== 429) throw new Error((await response.json().catch(() => ({}))).error || text("load_again"));
    say(text(body ? "not_saved" : "not_loaded"), "trouble");
    await sleep(wait);
  }
}

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const clock = () => { const now = performance.now(); if (state.since !== null) state.spent += now - state.since; state.since = document.hidden ? null : now; return state.spent / 1000; };
document.addEventListener("visibilitychange", clock);

const said = (speaker, turn) => speaker ? [make("b", { textContent: speaker + ": " }), turn] : [turn];

function show() {
  const item = state.items[state.at], turns = byId("turns");
  byId("count").textContent = text(task.name, { number: state.at + 1, of: state.items.length });
  byId("progress").max = state.items.length;
  byId("progress").value = state.items.filter((one) => one.answer).length;
  turns.replaceChildren(...item.turns.map((turn, place) => make("li", place === item.turns.length - 1 ? { className: "marked", dataset: { note: text("marked_turn") } } : {}, ...said(item.speakers[place], turn))));
  byId("back").disabled = state.at === 0;
  byId("next").textContent = text(state.at === state.items.length - 1 ? "finish" : "next") + " →";
  say("");
  clock();
  state.spent = 0;
  task.draw(item);
}

function go(place) {
  state.at = place;
  show();
  window.scrollTo(0, 0);
  byId("heading").focus({ preventScroll: true });
}

export async function give(check = false) {
  // Returns whether the answer to the item that is shown is stored.
  const item = state.items[state.at], answer = task.answer(item);
  if (typeof answer === "string") { say(answer, "trouble"); return false; }
  if (item.answer && item.answer.final) return true;
  if (!check && item.answer && JSON.stringify(answer) === JSON.stringify(item.answer.given)) return true;
  say(text("saving"));
  const stored = await ask("/api/answer", { ...answer, assignment, place: state.at, id: newId(), seconds: Math.min(clock(), 86400), check });
  state.spent = 0;
  item.answer = { given: answer, told: stored, final: "truth" in stored };
  byId("progress").value = state.items.filter((one) => one.answer).length;
  say(text("saved"));
  return true;
}

async function once(act) {
  if (state.busy) return;
  state.busy = true;
  document.body.setAttribute("aria-busy", "true");
  try { await act(); } catch (error) { say(error.message, "trouble"); }
  state.busy = false;
  document.body.removeAttribute("aria-busy");
}

const next = () => once(async () => {
  const seen = state.items[state.at].answer;
  if (!(await give())) return;
  const answer = state.items[state.at].answer;
  if (answer !== seen && task.stay && task.stay(answer.told)) return;
  if (state.at < state.items.length - 1) return go(state.at + 1);
  const done = await ask("/api/finish", { assignment });
  if (done.missing !== null) { go(done.missing); say(text("no_answer"), "trouble"); } else window.location.assign("/done/" + assignment);
});
const back = () => { if (!state.busy && state.at > 0) go(state.at - 1); };

export function open(id) {
  if (!document.querySelector("dialog[open]")) byId(id).showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || !state.items.length) return;
  const typing = event.target.matches("input:not([type=radio]), select"), pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (typing) return;
  if (pressed === "Enter") { if (event.target.matches("button, a, input")) return; next(); }
  else if (pressed === "Backspace") back();
  else if (pressed === "t") open("tutorial");
  else if (pressed === "?") open("shortcuts");
  else if (!task.key(pressed, state.items[state.at])) return;
  event.preventDefault();
});
for (const button of document.querySelectorAll("[data-opens]")) button.addEventListener("click", () => open(button.dataset.opens));

export async function begin(own) {
  task = own;
  byId("form").addEventListener("submit", (event) => { event.preventDefault(); next(); });
  byId("back").addEventListener("click", back);
  await once(async () => {
    const hit = await ask("/api/hit/" + assignment);
    state.items = hit.items.map((item) => ({ ...item, answer: item.answer && { given: item.answer, told: item.told, final: "truth" in item.told } }));
    task.labels = hit.labels;
    const open = state.items.findIndex((item) => !item.answer);
    go(open < 0 ? state.items.length - 1 : open);
  });
}
export const later = once;
