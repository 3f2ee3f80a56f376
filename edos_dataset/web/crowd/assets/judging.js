// The judging task: replies put into Good, Okay or Bad, by dragging, by their buttons, or by keys.
import { begin, byId, give, later, make, say, text } from "./work.js";

const zones = Array.from(document.querySelectorAll("#form .zone")), NAMES = { good: text("good"), okay: text("okay"), bad: text("bad") };
const zoneOf = (rating) => zones.find((zone) => zone.dataset.rating === rating), cards = () => Array.from(document.querySelectorAll(".card")).sort((one, other) => one.dataset.number - other.dataset.number);
const rated = (card) => card.closest(".zone").dataset.rating;
let picked = null, drag = null;

function pick(card, focus = true) {
  picked = card;
  for (const one of cards()) one.classList.toggle("picked", one === card);
  if (card && focus) card.focus();
}

function put(card, rating, announce = true) {
  zoneOf(rating).querySelector(".cards").append(card);
  for (const button of card.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.to === rating));
  card.setAttribute("aria-label", text("reply", { number: card.dataset.number, grade: NAMES[rating] || text("not_sorted"), text: card.querySelector("p").textContent }));
  if (!announce) return;
  const left = cards().filter((one) => !rated(one));
  say(text(left.length ? "put_with_left" : "put_last", { number: card.dataset.number, grade: NAMES[rating], left: left.length }));
  byId("validate").disabled = left.length > 0;
}

const onward = (focus) => { const open = cards().find((one) => !rated(one)); if (open) pick(open, focus); };

function card(reply, number) {
  const puts = Object.entries(NAMES).map(([to, name]) => make("button", { type: "button", textContent: name, dataset: { to }, attributes: { "aria-pressed": "false", "aria-label": text("button_of", { grade: name, number }) } }));
  const made = make("li", { className: "card", tabIndex: 0, dataset: { number: String(number) } }, make("span", { className: "grip", textContent: "⠿", attributes: { "aria-hidden": "true" } }), make("p", { textContent: reply }), make("div", { className: "puts" }, ...puts));
  made.addEventListener("focus", () => pick(made, false));
  made.addEventListener("pointerdown", (event) => start(event, made));
  for (const button of puts) button.addEventListener("click", () => { put(made, button.dataset.to); button.focus(); });
  return made;
}

function start(event, made) {
  // A finger drags by the grip, so that it can scroll the page elsewhere; a mouse drags the whole card.
  if (drag || event.button !== 0 || event.target.closest("button") || (event.pointerType !== "mouse" && !event.target.closest(".grip"))) return;
  drag = { made, pointer: event.pointerId, x: event.clientX, y: event.clientY + window.scrollY, over: null, moved: false };
}

function follow(event) {
  if (!drag || event.pointerId !== drag.pointer) return;
  const dx = event.clientX - drag.x, dy = event.clientY + window.scrollY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 6) return;
  drag.moved = true;
  event.preventDefault();
  window.getSelection().removeAllRanges();
  drag.made.classList.add("dragged");
  drag.made.style.transform = "translate(" + dx + "px, " + dy + "px)";
  const edge = 70, foot = document.querySelector(".foot").getBoundingClientRect().top;
  if (event.clientY > Math.min(foot, window.innerHeight - edge)) window.scrollBy(0, 14); else if (event.clientY < edge) window.scrollBy(0, -14);
  const under = document.elementFromPoint(event.clientX, event.clientY), over = under && under.closest("#form .zones .zone");
  if (over !== drag.over) for (const zone of zones) zone.classList.toggle("over", zone === over);
  drag.over = over;
}

function drop(event) {
  if (!drag || event.pointerId !== drag.pointer) return;
  if (event.type === "pointerup") follow(event); // of a quick finger the last moves may not have been told
  const { made, over, moved } = drag;
  drag = null;
  made.classList.remove("dragged");
  made.style.transform = "";
  for (const zone of zones) zone.classList.remove("over");
  if (moved && over && event.type === "pointerup") { put(made, over.dataset.rating); pick(made, false); } else if (!moved) pick(made);
}
document.addEventListener("pointermove", follow);
document.addEventListener("pointerup", drop);
document.addEventListener("pointercancel", drop);

function tellBonus(told) {
  if (told.bonus === true) say("✓ " + text("bonus_yes"), "right");
  if (told.bonus === false) say("✗ " + text("bonus_no"), "wrong");
}
const validate = () => later(async () => { if (await give(true)) tellBonus(current.answer.told); });
let current = null;
byId("validate").addEventListener("click", validate);

begin({
  name: "conversation_of",
  draw(item) {
    current = item;
    for (const one of cards()) one.remove();
    const made = item.choices.map((reply, place) => card(reply, place + 1)), given = item.answer && item.answer.given.value;
    made.forEach((one, place) => put(one, given ? given[place] : "", false));
    byId("bonus").hidden = byId("validate").hidden = item.kind !== "bonus";
    byId("validate").disabled = !given;
    pick(null);
    picked = made[0];
    if (item.answer) tellBonus(item.answer.told);
  },
  answer() {
    const value = cards().map(rated), left = value.filter((rating) => !rating).length;
    return left ? text(left === 1 ? "left_one" : "left_other", { number: left }) : { value };
  },
  key(pressed, item) {
    const own = cards(), rating = { g: "good", o: "okay", b: "bad" }[pressed], place = "123456789".indexOf(pressed);
    if (rating && picked) { put(picked, rating); if (cards().some((one) => !rated(one))) onward(true); else picked.focus(); }
    else if (place >= 0 && own[place]) pick(own[place]);
    else if (pressed === "ArrowDown" || pressed === "ArrowUp") pick(own[(own.indexOf(picked) + (pressed === "ArrowDown" ? 1 : own.length - 1)) % own.length]);
    else if (pressed === "v" && item.kind === "bonus") validate();
    else return false;
    return true;
  },
});
