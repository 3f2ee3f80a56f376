// The flow of labels over the first turns (EDOS paper, Figures 3, 10 and 11), of all dialogues or of those that begin with a label.
const MOST_NODES = 13, THICK = 14, PAD = 13;

// Links of a flow by kind, or by label with what is rare put together: { nodes: [{ step, name, kind, label }], links: [[from, to, number]] }.
function gathered(links, names, kinds, grouped) {
  const sizes = new Map();
  const add = (step, label, number) => sizes.set(`${step} ${label}`, (sizes.get(`${step} ${label}`) ?? 0) + number);
  for (const [step, before, after, number] of links) {
    if (step === 0) add(0, before, number);
    add(step + 1, after, number);
  }
  const kept = new Set();
  for (const step of range(4)) {
    const here = [...sizes].filter(([key]) => key.startsWith(`${step} `)).sort((one, other) => other[1] - one[1]);
    here.slice(0, grouped ? 0 : MOST_NODES).forEach(([key]) => kept.add(key));
  }
  const nodes = [], places = new Map();
  const node = (step, label) => {
    const alone = kept.has(`${step} ${label}`);
    const key = alone ? `${step} ${label}` : `${step} other ${kinds[label]}`;
    if (!places.has(key)) {
      places.set(key, nodes.length);
      nodes.push({ step, kind: kinds[label], label: alone ? label : null, name: alone ? names[label] : kinds[label] === "neutral" ? "neutral" : grouped ? `${kindClass(kinds[label])}s` : `other ${kinds[label]}s` });
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

// The picture of a flow; a node is told to `chosen` when it is clicked.
function flowPicture({ nodes, links }, width, height, chosen) {
  const through = (place, end) => sum(links.filter((link) => link[end] === place).map((link) => link[2]));
  const sizes = range(nodes.length).map((place) => Math.max(through(place, 0), through(place, 1)));
  const { tops, scale } = heights(nodes, sizes, height - 20);
  const x = (place) => [0, 1, 2, 3].map((step) => 5 + (step * (width - 10 - THICK)) / 3)[nodes[place].step];
  const from = tops.map((top) => top + 10), to = [...from], middles = from.map((top, place) => top + (sizes[place] * scale) / 2);
  const ordered = [...links].sort((one, other) => tops[one[0]] - tops[other[0]] || tops[one[1]] - tops[other[1]]);
  const bands = ordered.map(([start, end, number]) => {
    const thick = number * scale, [x0, x1] = [x(start) + THICK, x(end)], half = (x0 + x1) / 2, [y0, y1] = [from[start], to[end]];
    from[start] += thick;
    to[end] += thick;
    return svg("path", { d: `M${x0} ${y0}C${half} ${y0} ${half} ${y1} ${x1} ${y1}V${y1 + thick}C${half} ${y1 + thick} ${half} ${y0 + thick} ${x0} ${y0 + thick}Z`,
      fill: ofKind(nodes[start].kind), "fill-opacity": 0.28, "data-say": `${nodes[start].name} → ${nodes[end].name}: ${plural(number, "dialogue")}` });
  });
  const marks = nodes.map((one, place) => box(x(place), middles[place] - (sizes[place] * scale) / 2, THICK, Math.max(1, sizes[place] * scale), ofKind(one.kind),
    { class: "node", "data-label": one.label ?? -1, "data-say": `${one.name}: ${plural(sizes[place], "dialogue")}`, onclick: () => chosen(one.label) }));
  const narrow = (width - 4 * THICK) / 3 < 2 * widest(nodes.map((one) => one.name)) + 20; // the names of the last two columns would meet
  const names = nodes.map((one, place) => narrow && one.step === 2 ? null : (one.step === 3 ? write(x(place) - 5, middles[place], one.name, { anchor: "end" }) : write(x(place) + THICK + 5, middles[place], one.name)));
  return [bands, marks, names];
}

// Tops of the nodes: emotions, intents, then neutral, the large ones first, PAD apart.
function heights(nodes, sizes, whole) {
  const columns = range(4).map((step) => range(nodes.length).filter((place) => nodes[place].step === step)
    .sort((one, other) => KINDS.indexOf(nodes[one].kind) - KINDS.indexOf(nodes[other].kind) || (nodes[one].label === null) - (nodes[other].label === null) || sizes[other] - sizes[one]));
  const scale = Math.min(...columns.map((column) => (whole - Math.max(0, column.length - 1) * PAD) / (sum(column.map((place) => sizes[place])) || 1)));
  const tops = Array(nodes.length).fill(0);
  for (const column of columns) {
    let above = 0;
    for (const place of column) {
      tops[place] = above;
      above += sizes[place] * scale + PAD;
    }
  }
  return { tops, scale };
}

function flowSection() {
  const able = figures.data.filter((one) => one.flow.all.length);
  if (!able.length) return;
  let data = able[0], label = "", grouped = true;
  const whose = el("select", { id: "flow-data" }, able.map((one, place) => el("option", { value: place }, one.name)));
  const which = el("select", { id: "flow-label" });
  const how = el("select", { id: "flow-nodes" }, el("option", { value: "groups" }, "three groups"), el("option", { value: "labels" }, "single labels"));
  const note = el("p", { class: "status", role: "status" });
  const links = () => (label === "" ? data.flow.all : data.flow.by_first[Number(label)]);
  const after = el("details", {}, el("summary", {}, "As a table"));
  const shown_ = picture("Labels of the first four turns, the first on the left. The width is the number of dialogues; one that ends flows no further.", "",
    (width, height) => flowPicture(gathered(links(), data.labels.names, data.labels.kinds, grouped), width, height, chosen), { below: after, least: 320, height: () => (grouped ? 320 : 640) });
  const show = () => {
    const flow = links(), { names, kinds } = data.labels;
    const start = flow.filter(([step]) => step === 0), dialogues = sum(start.map((link) => link[3]));
    const next = start.reduce((all, [, , to, number]) => all.set(to, (all.get(to) ?? 0) + number), new Map());
    const most = [...next].sort((one, other) => other[1] - one[1]).slice(0, 3);
    const begin = label === "" ? "all dialogues" : `dialogues that begin with ${names[Number(label)]}`;
    const text = dialogues ? `${data.name}, ${begin} of two labelled turns or more: ${count(dialogues)}. The second turn is most often ` +
      `${most.map(([one, number]) => `${names[one]} (${percent(number / dialogues)})`).join(", ")}.` : `${data.name}: there are no ${begin}.`;
    note.textContent = text;
    shown_.place.setAttribute("aria-label", `Flow of labels. ${text}`);
    shown_.place.parentElement.style.setProperty("--least", grouped ? "320px" : "720px");
    const { nodes, links: flows } = gathered(flow, names, kinds, true), [steps_, few] = [[["turns"], ["label", "label"], ["next label", "label"], numbered("dialogues")], [...flow].sort((one, other) => other[3] - one[3]).slice(0, 200)];
    after.replaceChildren(after.firstChild,
      table("The groups", steps_, flows.sort((one, other) => nodes[one[0]].step - nodes[other[0]].step || other[2] - one[2]).map(([from, to, number]) => [`${nodes[from].step + 1} → ${nodes[to].step + 1}`, nodes[from].name, nodes[to].name, count(number)])),
      table("The most frequent links", steps_, few.map(([step, from, to, number]) => [`${step + 1} → ${step + 2}`, names[from], names[to], count(number)])));
    shown_.again();
  };
  const choices = () => {
    const sizes = data.flow.by_first.map((flow) => sum(flow.filter(([step]) => step === 0).map((link) => link[3])));
    which.replaceChildren(el("option", { value: "" }, "all dialogues"), ...data.labels.names.map((name, place) =>
      el("option", { value: place, disabled: sizes[place] === 0 }, `${name} (${count(sizes[place])})`)));
    which.value = label = data.labels.names[Number(label)] && label !== "" && sizes[Number(label)] ? label : "";
    how.value = grouped ? "groups" : "labels";
  };
  // A click on a label follows it from the first turn on, one on a group shows the labels that it is made of.
  const chosen = (one) => {
    if (grouped) grouped = false;
    else label = one === null || String(one) === label ? "" : String(one);
    choices();
    show();
  };
  whose.addEventListener("change", () => { data = able[Number(whose.value)]; label = ""; choices(); show(); });
  which.addEventListener("change", () => { label = which.value; show(); });
  how.addEventListener("change", () => { grouped = how.value === "groups"; show(); });
  choices();
  section("flow", "Flow", el("p", {}, "What follows what over the first four turns. Choose single labels and a first label in the lists, or by a click in the picture."),
    el("form", { onsubmit: (event) => event.preventDefault() }, el("label", {}, "data set", whose), el("label", {}, "show", how), el("label", {}, "first label", which)), note, shown_.made);
  show();
}
