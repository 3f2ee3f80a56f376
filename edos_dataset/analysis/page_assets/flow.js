// The flow of labels over the first turns (EDOS paper, Figures 3, 10 and 11), of all dialogues or of those that begin with a label.
const MOST_NODES = 13, HEIGHT = 640, MARGIN = 10, PAD = 13;

// Links of a flow with what is rare put together, by kind: { nodes: [{ step, name, kind, label }], links: [[from, to, number]] }.
function gathered(links, names, kinds) {
  const sizes = new Map();
  const add = (step, label, number) => sizes.set(`${step} ${label}`, (sizes.get(`${step} ${label}`) ?? 0) + number);
  for (const [step, before, after, number] of links) {
    if (step === 0) add(0, before, number);
    add(step + 1, after, number);
  }
  const kept = new Set();
  for (const step of range(4)) {
    const here = [...sizes].filter(([key]) => key.startsWith(`${step} `)).sort((one, other) => other[1] - one[1]);
    here.slice(0, MOST_NODES).forEach(([key]) => kept.add(key));
  }
  const nodes = [], places = new Map();
  const node = (step, label) => {
    const alone = kept.has(`${step} ${label}`);
    const key = alone ? `${step} ${label}` : `${step} other ${kinds[label]}`;
    if (!places.has(key)) {
      places.set(key, nodes.length);
      nodes.push({ step, kind: kinds[label], label: alone ? label : null, name: alone ? names[label] : kinds[label] === "neutral" ? "neutral" : `other ${kinds[label]}s` });
    }
    return places.get(key);
  };
  const flows = new Map();
  for (const [step, before, after, number] of links) {
    const key = `${node(step, before)} ${node(step + 1, after)}`;
    flows.set(key, (flows.get(key) ?? 0) + number);
  }
  return { nodes, links: [...flows].map(([key, number]) => [...key.split(" ").map(Number), number]) };
}

function flowSection() {
  const able = figures.data.filter((one) => one.flow.all.length);
  if (!able.length) return;
  let data = able[0], label = "";
  const whose = el("select", { id: "flow-data" }, able.map((one, place) => el("option", { value: place }, one.name)));
  const which = el("select", { id: "flow-label" });
  const note = el("p", { class: "status", role: "status" });
  const below = el("details", {}, el("summary", {}, "As a table"));
  const links = () => (label === "" ? data.flow.all : data.flow.by_first[Number(label)]);
  const shown_ = picture("Labels of the first four turns, the first on the left. The width is the number of dialogues; one that ends flows no further.", "", () => {
    const { nodes, links: flows } = gathered(links(), data.labels.names, data.labels.kinds);
    const through = (place, end) => sum(flows.filter((link) => link[end] === place).map((link) => link[2]));
    const inside = range(nodes.length).map((place) => Math.max(through(place, 0), through(place, 1)));
    return {
      data: [{
        type: "sankey", arrangement: "fixed", textfont: { color: colour("ink"), size: 12, shadow: "none" },
        node: { label: nodes.map((one) => one.name), color: nodes.map((one) => ofKind(one.kind)), x: nodes.map((one) => [0.001, 0.333, 0.667, 0.999][one.step]),
          y: heights(nodes, inside), pad: PAD, thickness: 14, line: { width: 0 }, customdata: nodes.map((one) => one.label ?? -1),
          hovertemplate: "%{label}: %{value:,} dialogues<extra></extra>" },
        link: { source: flows.map((link) => link[0]), target: flows.map((link) => link[1]), value: flows.map((link) => link[2]),
          color: flows.map((link) => see(kindClass(nodes[link[0]].kind), 0.28)),
          hovertemplate: "%{source.label} → %{target.label}: %{value:,}<extra></extra>" },
      }],
      layout: { margin: { l: 5, r: 5, t: MARGIN, b: MARGIN } },
    };
  }, { below, least: 720, height: HEIGHT });
  const show = () => {
    const flow = links(), names = data.labels.names;
    const dialogues = sum(flow.filter(([step]) => step === 0).map((link) => link[3]));
    const next = flow.filter(([step]) => step === 0).reduce((all, [, , after, number]) => all.set(after, (all.get(after) ?? 0) + number), new Map());
    const most = [...next].sort((one, other) => other[1] - one[1]).slice(0, 3);
    const begin = label === "" ? "all dialogues" : `dialogues that begin with ${names[Number(label)]}`;
    const text = dialogues ? `${data.name}, ${begin} of two labelled turns or more: ${count(dialogues)}. The second turn is most often ` +
      `${most.map(([one, number]) => `${names[one]} (${percent(number / dialogues)})`).join(", ")}.` : `${data.name}: there are no ${begin}.`;
    note.textContent = text;
    shown_.place.setAttribute("aria-label", `Flow of labels. ${text}`);
    const rows = [...flow].sort((one, other) => other[3] - one[3]).slice(0, 200);
    below.replaceChildren(below.firstChild, table("The most frequent links", [["turns"], ["label", "label"], ["next label", "label"], numbered("dialogues")],
      rows.map(([step, before, after, number]) => [`${step + 1} → ${step + 2}`, names[before], names[after], count(number)])));
    return shown_.shape.draw();
  };
  const choices = () => {
    const sizes = data.flow.by_first.map((flow) => sum(flow.filter(([step]) => step === 0).map((link) => link[3])));
    which.replaceChildren(el("option", { value: "" }, "all dialogues"), ...data.labels.names.map((name, place) =>
      el("option", { value: place, disabled: sizes[place] === 0 }, `${name} (${count(sizes[place])})`)));
    which.value = label = data.labels.names[Number(label)] && label !== "" && sizes[Number(label)] ? label : "";
  };
  whose.addEventListener("change", () => { data = able[Number(whose.value)]; label = ""; choices(); show(); });
  which.addEventListener("change", () => { label = which.value; show(); });
  choices();
  section("flow", "Flow", el("p", {}, "What follows what over the first four turns. Choose a first label in the list, or by a click on a label in the picture."),
    el("form", { onsubmit: (event) => event.preventDefault() }, el("label", {}, "data set", whose), el("label", {}, "first label", which)), note, shown_.made);
  show().then(() => shown_.place.on("plotly_click", ({ points: [point] }) => {
    const chosen = point?.customdata;
    if (typeof chosen !== "number") return;
    label = chosen < 0 || String(chosen) === label ? "" : String(chosen);
    choices();
    show();
  }));
}

// Places of the nodes, their middles, from 0 (top) to 1: emotions, intents, then neutral, the large ones first, as
// far apart as plotly puts them.
function heights(nodes, sizes) {
  const order = ["emotion", "response intent", "neutral"];
  const columns = range(4).map((step) => range(nodes.length).filter((place) => nodes[place].step === step)
    .sort((one, other) => order.indexOf(nodes[one].kind) - order.indexOf(nodes[other].kind) || (nodes[one].label === null) - (nodes[other].label === null) || sizes[other] - sizes[one]));
  const whole = HEIGHT - 2 * MARGIN, found = Array(nodes.length).fill(0.5);
  const scale = Math.min(...columns.map((column) => (whole - (column.length - 1) * PAD) / (sum(column.map((place) => sizes[place])) || 1)));
  for (const column of columns) {
    let above = 0;
    for (const place of column) {
      found[place] = Math.min(0.999, Math.max(0.001, (above + (sizes[place] * scale) / 2) / whole));
      above += sizes[place] * scale + PAD;
    }
  }
  return found;
}
