// Pictures: SVG in the colours of the page, each with a text in its place for who doesn't see it, and as wide as there is room.
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;
const svg = (name, attributes = {}, ...children) => filled(document.createElementNS(SVG, name), attributes, children);
const KINDS = ["emotion", "response intent", "neutral"];
const paint = (name) => `var(--${name})`, ofKind = (kind) => paint(kindClass(kind));
const FONT = "system-ui, sans-serif", SIZE = 12;
const measure = document.createElement("canvas").getContext("2d");
const wide = (text, size = SIZE) => { measure.font = `${size}px ${FONT}`; return measure.measureText(text).width; };
const widest = (texts, size = SIZE) => Math.max(0, ...texts.map((text) => wide(text, size)));
const compact = new Intl.NumberFormat("en", { notation: "compact" });

const write = (x, y, text, { anchor = "start", size = SIZE, colour = "ink", ...more } = {}) =>
  svg("text", { x, y, dy: ".35em", "text-anchor": anchor, "font-size": size, fill: paint(colour), ...more }, text);
const line = (x1, y1, x2, y2, colour = "line", more = {}) => svg("line", { x1, y1, x2, y2, stroke: paint(colour), ...more });
const box = (x, y, width, height, fill, more = {}) => svg("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), fill, ...more });

// Signs of the sets that are compared, around a place; hollow.
const SIGNS = ["M0-5 5 0 0 5-5 0Z", "M-4-4H4V4H-4Z", "M0-5 5 4H-5Z", "M0 5 5-4H-5Z", "M-4-4 4 4M4-4-4 4"];
const sign = (place, x, y, more = {}) => svg("path", { d: SIGNS[place % SIGNS.length], transform: `translate(${x} ${y})`, fill: paint("card"), stroke: paint("ink"), "stroke-width": 1.5, ...more });

// What the colours and signs mean, in rows from a place on: { nodes, height }.
function legend(items, left, top, right) {
  const nodes = [];
  let x = left, y = top + 8;
  for (const { name, mark } of items) {
    const width = wide(name) + 36;
    if (x + width > right && x > left) { x = left; y += 20; }
    nodes.push(mark(x + 6, y), write(x + 16, y, name));
    x += width;
  }
  return { nodes, height: items.length ? y + 12 - top : 0 };
}
const swatch = (fill) => (x, y) => box(x - 5, y - 5, 10, 10, fill);

// Round numbers from 0 to the first that is not below `most`.
function steps(most, about = 5) {
  const ten = 10 ** Math.floor(Math.log10(most / about || 1));
  const step = [1, 2, 5, 10].map((factor) => factor * ten).find((each) => each * about >= most * 0.999) || 1;
  return range(Math.max(1, Math.ceil((most / step) * 0.999)) + 1).map((number) => number * step);
}

// The axis of a picture whose values stand upright: { nodes, left, right, bottom, at }.
function upright(width, height, ticks, name, show = compact.format, top = 10) {
  const left = widest(ticks.map(show)) + 32, right = width - 10, bottom = height - 44, most = ticks[ticks.length - 1];
  const at = (value) => bottom - (value / most) * (bottom - top);
  const nodes = ticks.flatMap((tick) => [line(left, at(tick), right, at(tick)), write(left - 6, at(tick), show(tick), { anchor: "end" })]);
  nodes.push(write(12, (top + bottom) / 2, name, { anchor: "middle", transform: `rotate(-90 12 ${(top + bottom) / 2})` }));
  return { nodes, left, right, bottom, at };
}

// Names under the columns of such a picture, as many as there is room for.
function below(axis, names, title) {
  const band = (axis.right - axis.left) / names.length, each = Math.ceil((widest(names) + 8) / band);
  return [write((axis.left + axis.right) / 2, axis.bottom + 34, title, { anchor: "middle" }),
    names.map((name, place) => (place % each ? null : write(axis.left + (place + 0.5) * band, axis.bottom + 13, name, { anchor: "middle" })))];
}

// A picture: make(width, height) gives its parts; its height is a number, or a function of its width; text says in words what is to be seen; a part says its `data-say` under the pointer.
const resized = new ResizeObserver((seen) => seen.forEach(({ target }) => target.draw()));
function picture(caption, text, make, { below: after = null, above = null, least = 0, height = 360 } = {}) {
  const place = el("div", { role: "img", "aria-label": text });
  const scrolled = least ? { tabindex: "0", role: "region", "aria-label": caption } : {};
  const save = (format) => el("button", { type: "button", "aria-label": `${format.toUpperCase()} of: ${caption}`, onclick: () => download(place.firstChild, format) }, format.toUpperCase());
  const made = el("figure", {}, el("figcaption", {}, caption), above, el("div", { class: "drawing", style: `--least:${least}px`, ...scrolled }, place), after,
    el("p", { class: "save" }, "Save as ", save("png"), " ", save("svg")));
  let drawn = 0;
  const again = () => {
    drawn = Math.max(200, Math.floor(place.clientWidth) || 720);
    const high = typeof height === "function" ? height(drawn) : height;
    place.replaceChildren(svg("svg", { viewBox: `0 0 ${drawn} ${high}`, width: drawn, height: high, "font-family": FONT }, make(drawn, high)));
  };
  place.draw = () => { if (place.clientWidth && Math.floor(place.clientWidth) !== drawn) again(); };
  resized.observe(place);
  return { made, place, again };
}

// A picture as a file of its own, in the colours and on the ground that it has on the page.
function download(drawing, format) {
  const { width, height } = drawing.viewBox.baseVal, copy = drawing.cloneNode(true);
  copy.prepend(box(0, 0, width, height, paint("card")));
  const style = getComputedStyle(document.documentElement);
  const text = new XMLSerializer().serializeToString(copy).replace(/ data-say="[^"]*"/g, "").replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  const content = new Blob([text], { type: "image/svg+xml" });
  if (format === "svg") return give(content, format);
  const image = new Image();
  image.onload = () => {
    const canvas = el("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    canvas.toBlob((made) => give(made, format));
  };
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
}

function give(content, format) {
  const href = URL.createObjectURL(content);
  el("a", { href, download: `picture.${format}` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

// What a part of a picture says, beside the pointer.
const hint = el("div", { class: "hint", "aria-hidden": "true", hidden: true });
document.body.append(hint);
addEventListener("scroll", () => { hint.hidden = true; }, { capture: true, passive: true });
document.addEventListener("pointermove", ({ target, clientX, clientY }) => {
  const said = target.dataset?.say;
  hint.hidden = !said;
  if (!said) return;
  hint.textContent = said;
  hint.style.left = `${Math.min(clientX + 12, innerWidth - hint.offsetWidth - 4)}px`;
  hint.style.top = `${clientY > innerHeight - 60 ? clientY - 34 : clientY + 14}px`;
});
