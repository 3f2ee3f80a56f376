// Pictures: drawn by plotly in the colours of the page, each with a text in its place for who doesn't see it.
// A picture is drawn when it comes near to what is to be seen, and all are before the page is printed.
const pictures = new Map();
const near = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach(({ target }) => { near.unobserve(target); pictures.get(target).draw(); }), { rootMargin: "600px" });
window.addEventListener("beforeprint", () => pictures.forEach(({ draw }) => draw()));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const ofKind = (kind) => colour(kindClass(kind));
const see = (name, alpha) => {
  const [r, g, b] = colour(name).match(/[0-9a-f]{2}/gi).map((pair) => parseInt(pair, 16));
  return `rgba(${r},${g},${b},${alpha})`;
};
const SYMBOLS = ["diamond", "circle", "square", "triangle-up", "triangle-down", "pentagon"];

function layout(more) {
  const axis = () => ({ gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true, fixedrange: true });
  const { xaxis = {}, yaxis = {}, ...rest } = more;
  return {
    paper_bgcolor: colour("card"), plot_bgcolor: "rgba(0,0,0,0)", dragmode: false, margin: { l: 10, r: 10, t: 10, b: 40 },
    font: { color: colour("ink"), family: "system-ui, sans-serif", size: 12 }, legend: { orientation: "h", y: -0.15, yanchor: "top" },
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
    xaxis: { ...axis(), ...xaxis }, yaxis: { ...axis(), ...yaxis }, ...rest,
  };
}

// make() gives { data, layout }; text says in words what is to be seen.
function picture(caption, text, make, { below = null, least = 0, height = 360 } = {}) {
  const place = el("div", { role: "img", "aria-label": text, style: `height:${height}px` });
  const scrolled = least ? { tabindex: "0", role: "region", "aria-label": caption } : {};
  const save = (format) => el("button", { type: "button", "aria-label": `${format.toUpperCase()} of: ${caption}`, onclick: () =>
    shape.draw().then(() => Plotly.downloadImage(place, { format, filename: "picture", width: place.clientWidth, height, scale: format === "png" ? 2 : 1 })) }, format.toUpperCase());
  const made = el("figure", {}, el("figcaption", {}, caption), el("div", { class: "drawing", style: `--least:${least}px`, ...scrolled }, place), below,
    el("p", { class: "save" }, "Save as ", save("png"), " ", save("svg")));
  const shape = { drawn: null };
  shape.draw = () => {
    const what = make();
    shape.drawn = Plotly.react(place, what.data, { height, ...layout(what.layout ?? {}) }, { responsive: true, displayModeBar: false });
    return shape.drawn;
  };
  pictures.set(place, shape);
  near.observe(place);
  return { made, place, shape };
}

function bars(caption, text, names, values, xtitle, ytitle, below) {
  return picture(caption, text, () => ({
    data: [{ type: "bar", x: names, y: values, marker: { color: colour("emotion") }, hovertemplate: "%{x}: %{y:,}<extra></extra>" }],
    layout: { bargap: 0.05, xaxis: { type: "category", title: { text: xtitle } }, yaxis: { title: { text: ytitle } } },
  }), { below, height: 300 }).made;
}

// A histogram of lengths: the last bin holds all from there on, longer tails are cut where little is left.
function lengths(caption, counts, unit, what) {
  const total = sum(counts);
  let end = counts.length - 1, tail = 0;
  while (end > 1 && tail + counts[end] <= total * 0.002) tail += counts[end--];
  const cut = tail > 0 || end === counts.length - 1;
  const width = Math.max(1, Math.ceil((end + 1) / 60));
  const bins = [];
  for (let start = 0; start <= end; start += width) {
    const stop = Math.min(start + width - 1, end);
    bins.push([start === stop ? String(start) : `${start}–${stop}`, sum(counts.slice(start, stop + 1))]);
  }
  if (tail > 0) bins.push([`${end + 1}+`, tail]);
  else if (cut) bins[bins.length - 1][0] = `${end}+`;
  if (bins[0][1] === 0) bins.shift();
  let seen = 0, median = 0;
  while (median < counts.length - 1 && (seen += counts[median]) * 2 < total) median += 1;
  const text = `${caption}. Half of the ${what} have ${median} ${unit} or fewer.`;
  return bars(caption, text, bins.map(([name]) => name), bins.map(([, number]) => number), unit, what,
    folded("As a table", () => table(caption, [[unit], numbered(what), numbered("share")], bins.map(([name, number]) => [name, count(number), percent(number / total)]))));
}
