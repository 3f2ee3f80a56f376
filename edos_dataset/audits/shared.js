"use strict";
// One card at a time, judged by keys or buttons. A page says what a judgement is: `audit.draw(judgement)` marks the
// buttons, `audit.said(judgement)` names it, `audit.verdict(judgement)` colours the card, `audit.press(key)` takes a key,
// `audit.decided(judgement)` says whether what is hidden may be shown, `audit.told(judgement)` is what is saved of it; `audit.fits(place)` says which cards are shown, `audit.arrived()` follows.
const byId = (id) => document.getElementById(id), key = "edos-audit-" + document.body.dataset.key;
const items = Array.from(document.querySelectorAll("article"), (card) => ({ card, facts: JSON.parse(card.dataset.judge) }));
const state = Object.assign({ judged: {}, at: 0, reader: "" }, stored()), undone = [];
const given = (place) => state.judged[items[place].facts.item], judged = () => items.filter((_, place) => given(place)).length;
const audit = { fits: () => true, decided: Boolean, arrived: () => {}, count: () => judged() + " of " + items.length + " judged" + (judged() === items.length ? ": download the judgements" : "") };
function stored() {
  try { return JSON.parse(localStorage.getItem(key)) || {}; } catch (error) { return {}; /* no storage: judgements last as long as the page */ }
}
function keep() {
  try { localStorage.setItem(key, JSON.stringify(state)); } catch (error) { /* as above */ }
}
function next(step) {
  for (let place = state.at + step; place >= 0 && place < items.length; place += step) if (audit.fits(place)) return place;
}
function show() {
  state.at = Math.min(Math.max(state.at, 0), items.length - 1);
  items.forEach(({ card }, place) => {
    const judgement = given(place);
    card.hidden = place !== state.at;
    card.dataset.verdict = judgement ? audit.verdict(judgement) : "";
    for (const part of card.querySelectorAll("[data-blind=yes]")) part.hidden = !audit.decided(judgement);
  });
  audit.draw(given(state.at));
  byId("back").disabled = next(-1) === undefined;
  byId("on").disabled = next(1) === undefined;
  byId("undo").disabled = !undone.length;
  byId("progress").value = judged();
  byId("status").textContent = (given(state.at) ? audit.said(given(state.at)) : "not judged") + " · " + audit.count();
  keep();
}
function go(place) {
  if (place === undefined) return;
  state.at = place;
  show();
  lift();
  items[state.at].card.querySelector("h2").focus({ preventScroll: true });
  audit.arrived();
}
function lift() {
  window.scrollTo(0, Math.max(0, items[state.at].card.getBoundingClientRect().top + window.scrollY - 8));
}
function set(judgement) {
  undone.push({ at: state.at, judgement: given(state.at) });
  put(state.at, judgement);
  show();
}
function put(place, judgement) {
  if (judgement) state.judged[items[place].facts.item] = judgement; else delete state.judged[items[place].facts.item];
}
function goToOpen() {
  go([...items.keys()].map((step) => (state.at + step) % items.length).find((place) => !given(place) && audit.fits(place)));
}
function undo() {
  const last = undone.pop();
  if (!last) return;
  put(last.at, last.judgement);
  go(last.at);
}
function download(judgements) {
  const content = { audit: key, ...JSON.parse(document.body.dataset.about), reader: state.reader, judgements }, link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" }));
  link.download = key + (state.reader ? "-" + state.reader.replace(/[^\p{L}\p{N}]+/gu, "-") : "") + ".json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function begin() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !byId("keys").checked || event.target.matches("input:not([type=checkbox]), select")) return;
    const pressed = event.key.toLowerCase();
    if (pressed === "arrowright") go(next(1));
    else if (pressed === "arrowleft") go(next(-1));
    else if (pressed === "u") undo();
    else if (!audit.press(pressed, event.target)) return;
    event.preventDefault();
  });
  for (const [name, act] of [["undo", undo], ["back", () => go(next(-1))], ["on", () => go(next(1))]]) byId(name).addEventListener("click", act);
  byId("reader").value = state.reader;
  byId("reader").addEventListener("input", () => { state.reader = byId("reader").value; keep(); });
  byId("reader").addEventListener("keydown", (event) => { if (event.key === "Enter") go(state.at); });
  byId("download").addEventListener("click", () => download(items.filter((_, place) => given(place)).map(({ facts }) => ({ ...facts, ...audit.told(state.judged[facts.item]) }))));
  byId("top").hidden = byId("judge").hidden = false;
  show();
}
