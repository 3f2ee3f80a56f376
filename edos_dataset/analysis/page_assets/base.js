"use strict";
// What the page is made of. Texts of others are put in as text, never as markup.
const { figures, shown, rejects } = JSON.parse(document.getElementById("report").textContent);
const [first, ...others] = figures.data;
const NONE = "without a label";

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

const el = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);

const count = (number) => (number === null || number === undefined ? "–" : number.toLocaleString("en"));
const fixed = (number, digits = 2) =>
  number === null || number === undefined ? "–" : number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${fixed(100 * share, digits)}\u00a0%`);
const between = (ends, show = fixed) => (!ends || ends[0] === null ? "–" : `${show(ends[0], 3)} to ${show(ends[1], 3)}`);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const range = (size) => [...Array(size).keys()];
const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
const short = (text, most = 60) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function section(id, title, ...content) {
  const made = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...content);
  document.getElementById("main").append(made);
  document.getElementById("contents").append(el("li", {}, el("a", { href: `#${id}` }, title)));
  return made;
}

const kindClass = (kind) => (kind === "emotion" ? "emotion" : kind === "neutral" ? "neutral" : "intent");

// A label under its name on the page and, where that is another, in the data.
const bothNames = ({ names, english }, label) => (!english || english[label] === names[label] ? names[label] : `${names[label]} (${english[label]})`);

function chip({ names, kinds, english }, label, sure) {
  if (label === null) return el("span", { class: "soft" }, NONE);
  const much = sure === null || sure === undefined ? null : el("small", {}, ` ${fixed(sure)}`);
  return el("span", { class: `chip ${kindClass(kinds[label])}`, title: english && english[label] }, names[label], much);
}
