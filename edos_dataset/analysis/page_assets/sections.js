// The sections of the page, from top to bottom.
const comparisons = figures.comparisons.filter((one) => !one.why_not);

function sizesSection() {
  const columns = [["data set"], numbered("dialogues"), numbered("turns"), numbered("tokens"), numbered("turns a dialogue"), numbered("tokens a dialogue"), numbered("tokens a turn"), numbered("films")];
  const rows = figures.data.map(({ name, sizes }) => [name, count(sizes.dialogues), count(sizes.turns), count(sizes.tokens), fixed(sizes.turns_a_dialogue), fixed(sizes.tokens_a_dialogue), fixed(sizes.tokens_a_turn),
    sizes.films === null ? "–" : `${sizes.films_estimated ? "about " : ""}${count(sizes.films)}`]);
  const papers = figures.papers.sizes.map((one) => [one.source, count(one.dialogues), count(one.turns), count(one.tokens), fixed(one.turns_per_dialogue), fixed(one.tokens_per_dialogue), fixed(one.tokens_per_turn), "–"]);
  const splits = figures.data.flatMap(({ name, sizes }) => Object.entries(sizes.splits).map(([split, each]) => [name, split, count(each.dialogues), count(each.turns), count(each.tokens)]));
  const { counts } = figures.manifest ?? {};
  const agree = counts && counts.dialogues === first.sizes.dialogues && counts.turns === first.sizes.turns && counts.tokens === first.sizes.tokens;
  section("sizes", "Sizes", table("Data sets, and what the papers state", columns, [...rows, ...papers]),
    counts ? el("p", {}, agree ? "The run's own manifest counts as many dialogues, turns and tokens." : `The run's own manifest says otherwise: ${count(counts.dialogues)} dialogues, ${count(counts.turns)} turns, ${count(counts.tokens)} tokens. The files were changed since.`) : null,
    folded("By split", () => table("Splits", [["data set"], ["split"], numbered("dialogues"), numbered("turns"), numbered("tokens")], splits)),
    folded("Other data sets of dialogues with emotions, as the EDOS paper lists them (Table 2)", () => table("EDOS paper, Table 2", [["data set"], ["labels"], numbered("dialogues"), numbered("turns")],
      figures.papers.others.map((one) => [one.name, one.labels, count(one.dialogues), count(one.turns)]))),
    el("h3", {}, `Lengths in ${first.name}`), el("div", { class: "grid" },
      lengths("Turns of a dialogue", first.lengths.turns_of_dialogue, "turns", "dialogues"),
      lengths("Tokens of a turn", first.lengths.tokens_of_turn, "tokens", "turns"),
      lengths("Tokens of a dialogue", first.lengths.tokens_of_dialogue, "tokens", "dialogues")));
}

// The labels of a system, emotions first, then intents, then neutral, each by size.
function inOrder(kinds, shares) {
  const order = ["emotion", "response intent", "neutral"];
  return range(kinds.length).sort((one, other) => order.indexOf(kinds[one]) - order.indexOf(kinds[other]) || shares[other] - shares[one]);
}

function labelBars(names, kinds, series, text, below) {
  const order = inOrder(kinds, series[0].shares);
  const [mine, ...rest] = series;
  return picture(`Share of turns, %. Bars: the data set${mine.intervals ? ", lines at their ends: 95 % intervals" : ""}${rest.length ? "; signs: what it is compared with" : ""}.`, text, () => ({
    data: [
      ...["emotion", "response intent", "neutral"].map((kind) => {
        const here = order.filter((place) => kinds[place] === kind);
        const error = mine.intervals && { error_x: { type: "data", symmetric: false, color: colour("mark"), thickness: 1, width: 2,
          array: here.map((place) => 100 * Math.max(0, (mine.intervals[place][1] ?? mine.shares[place]) - mine.shares[place])),
          arrayminus: here.map((place) => 100 * Math.max(0, mine.shares[place] - (mine.intervals[place][0] ?? mine.shares[place]))) } };
        return { type: "bar", orientation: "h", name: kind, y: here.map((place) => names[place]), x: here.map((place) => 100 * mine.shares[place]),
          marker: { color: ofKind(kind) }, hovertemplate: "%{y}: %{x:.2f} %<extra></extra>", ...error };
      }).filter((one) => one.y.length),
      ...rest.map(({ name, shares }, place) => ({ type: "scatter", mode: "markers", name: plain(short(name, 40)), y: order.map((label) => names[label]), x: order.map((label) => 100 * shares[label]),
        cliponaxis: false, marker: { symbol: SYMBOLS[place % SYMBOLS.length], size: 8, color: colour("card"), opacity: 1, line: { color: colour("mark"), width: 1.5 } }, hovertemplate: `%{y}: %{x:.2f} %<extra></extra>` })),
    ],
    layout: { barmode: "overlay", bargap: 0.25, yaxis: { categoryorder: "array", categoryarray: order.map((place) => names[place]).reverse(), range: [-0.7, order.length - 0.3], gridcolor: "rgba(0,0,0,0)", ticks: "outside", ticklen: 6, tickcolor: "rgba(0,0,0,0)" },
      xaxis: { rangemode: "tozero", side: "top" }, margin: { l: 10, r: 10, t: 30, b: 30 }, legend: { orientation: "h", y: -0.02, yanchor: "top" } },
  }), { below, height: 120 + 19 * names.length }).made;
}

function labelsSection() {
  const { names, kinds } = first.labels, rows = first.label_turns;
  if (!sum(rows.map((one) => one.turns))) { section("labels", "Labels", el("p", {}, "No turn has a label.")); return; }
  const same = others.filter((one) => one.labels.of === first.labels.of && sum(one.label_turns.map((label) => label.turns)));
  const paper = figures.papers.by_label, papers = sum(paper.dialogues_turns.map(([, turns]) => turns));
  const series = [{ name: first.name, shares: rows.map((one) => one.share), intervals: rows.map((one) => one.interval) },
    ...same.map((one) => ({ name: one.name, shares: one.label_turns.map((label) => label.share) })),
    ...(first.labels.of === "edos" ? [{ name: paper.source, shares: paper.dialogues_turns.map(([, turns]) => turns / papers) }] : [])];
  const order = inOrder(kinds, series[0].shares);
  const most = order.slice().sort((one, other) => rows[other].turns - rows[one].turns).slice(0, 3);
  const text = `Labels of the turns. Most frequent in ${first.name}: ${most.map((place) => `${names[place]} (${percent(rows[place].share)})`).join(", ")}.`;
  const whole = folded("As a table, with the dialogues that begin with each label (EDOS paper, Table 9)", () => table("Turns and dialogues by label; a dialogue counts under the label of its first turn",
    [["label", "label"], ["kind"], numbered("turns"), numbered("share"), numbered("95 % interval"), numbered("dialogues"), numbered("mean confidence"), ...series.slice(1).map((one) => numbered(one.name))],
    order.map((place) => [names[place], kinds[place], count(rows[place].turns), percent(rows[place].share, 2), between(rows[place].interval, (end) => percent(end, 2)), count(rows[place].dialogues), fixed(rows[place].confidence), ...series.slice(1).map((one) => percent(one.shares[place], 2))])));
  const of = (one) => ["emotion", "response intent", "neutral", NONE].map((kind) => percent(one.kinds[kind] / one.sizes.turns));
  section("labels", "Labels", el("p", {}, text), table("Emotions, intents and neutral apart: share of turns", [["data set"], numbered("emotions"), numbered("intents"), numbered("neutral"), numbered(NONE)], figures.data.map((one) => [one.name, ...of(one)])),
    labelBars(names, kinds, series, text, whole),
    ...comparisons.filter((one) => one.labels_of !== first.labels.of).map((one) => el("div", {}, el("h3", {}, `In the labels of ${one.labels_of}`),
      el("p", { class: "soft" }, `A label of ours that two of theirs stand for counts half for each; of ${first.name} ${percent(one.left_out[0])} of the turns have a label that none of theirs stands for, and are left out.`),
      labelBars(one.names, one.kinds, [{ name: one.of, shares: one.shares[0] }, { name: one.with, shares: one.shares[1] }], `Labels of ${one.of} beside those of ${one.with}.`,
        folded("As a table", () => table(`Share of turns`, [["label", "label"], numbered(one.of), numbered(one.with)], one.names.map((name, place) => [name, percent(one.shares[0][place], 2), percent(one.shares[1][place], 2)]))))),
    ),
    el("h3", {}, "By the place of the turn"), el("div", { class: "grid" }, figures.data.filter((one) => sum(one.label_turns.map((label) => label.turns))).map(placesPicture)));
}

function placesPicture({ name, labels: { names, kinds }, places: { turns } }) {
  const used = turns.filter((row) => sum(row.slice(0, -1)));
  const titles = used.map((_, place) => (place === turns.length - 1 ? `${place + 1}+` : String(place + 1)));
  const share = (row, kind) => sum(row.slice(0, -1).filter((_, label) => kinds[label] === kind)) / sum(row.slice(0, -1));
  const text = `${name}: of the first turns ${percent(share(used[0], "emotion"))} show an emotion` + (used[1] ? `, of the second ${percent(share(used[1], "emotion"))}.` : ".");
  const top = (row) => range(names.length).sort((one, other) => row[other] - row[one]).slice(0, 4).map((label) => `${names[label]} ${percent(row[label] / sum(row.slice(0, -1)))}`).join(", ");
  return picture(`${name}: share of turns by their place in the dialogue`, text, () => ({
    data: ["emotion", "response intent", "neutral"].map((kind, at) => ({ type: "bar", name: kind, x: titles, y: used.map((row) => 100 * share(row, kind)),
      marker: { color: ofKind(kind), pattern: { shape: ["", "/", "."][at], solidity: 0.12, fillmode: "overlay", fgcolor: colour("card") } }, hovertemplate: "turn %{x}: %{y:.1f} %<extra></extra>" })),
    layout: { barmode: "stack", xaxis: { type: "category", title: { text: "turn" } }, yaxis: { range: [0, 100], ticksuffix: " %" }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, margin: { l: 10, r: 10, t: 50, b: 40 } },
  }), { height: 320, below: folded("As a table", () => table("The most frequent labels of each place", [["turn"], numbered("labelled turns"), ["labels"]], used.map((row, place) => [titles[place], count(sum(row.slice(0, -1))), top(row)]))) }).made;
}

function divergenceSection() {
  if (!figures.comparisons.length) return;
  const rows = comparisons.flatMap((one) => [["all labels", one.all], ["without neutral", one.without_neutral], ["first turns", one.first_turn]].filter(([, each]) => each).map(([what, each]) =>
    [`${one.with}, ${what}`, one.labels_of, fixed(each.kl, 4), between(each.intervals.kl), fixed(each.kl_unsmoothed, 4), fixed(each.kl_of_reference, 4), fixed(each.js, 4), between(each.intervals.js), `${count(each.chi_squared.statistic)} (${each.chi_squared.freedom})`, each.chi_squared.p < 1e-4 ? "< 0.0001" : fixed(each.chi_squared.p, 4), fixed(each.chi_squared.v, 3), between(each.intervals.v)]));
  section("divergence", "Divergence", rows.length ? el("p", {}, `How far the labels of ${first.name} are from those of others. KL is Σ p ln(p/q) in nats, p of ${first.name}, q of the other (the EDOS paper states ${figures.papers.kl_of_labels} for EDOS and EmpatheticDialogues), with ${comparisons[0]?.smoothing ?? 0.5} added to every count; “unsmoothed” without; “back” with p and q changed over. Jensen-Shannon is the same both ways, 0 to 0.693. Intervals: 95 %, by drawing films, or dialogues where no film is known, anew. Of many turns χ² is always large: Cramér's V, 0 to 1, tells how large the difference is.`) : null,
    rows.length ? table("Divergences", [["with"], ["in labels of", "label"], numbered("KL"), numbered("95 % interval"), numbered("unsmoothed"), numbered("back"), numbered("Jensen-Shannon"), numbered("95 % interval"), numbered("χ² (freedom)"), numbered("p"), numbered("V"), numbered("95 % interval")], rows) : null,
    figures.comparisons.filter((one) => one.why_not).map((one) => el("p", {}, `${one.with}: not compared, ${one.why_not}.`)));
}

function transitionsSection() {
  const { names, kinds } = first.labels, cells = first.transitions, total = sum(cells.map(sum));
  if (!total) return;
  const order = inOrder(kinds, first.label_turns.map((one) => one.share));
  const out = cells.map(sum), into = names.map((_, label) => sum(cells.map((row) => row[label])));
  const expected = (from, to) => (out[from] * into[to]) / total;
  const strength = (from, to) => (expected(from, to) < 2 && cells[from][to] < 5 ? null : Math.max(-3, Math.min(3, Math.log2((cells[from][to] + 0.5) / (expected(from, to) + 0.5)))));
  const pairs = first.surprising, [pair] = pairs;
  const text = `Which label follows which, against chance.` + (pair ? ` Most surprising: ${pair.after} after ${pair.before}, ${fixed(pair.lift, 1)} times as often as by chance.` : "");
  const map = picture("Next label (across) after a label (down): orange or brown less, violet more often than chance, on a scale of doublings; empty where too little is to be expected.", text, () => ({
    data: [{ type: "heatmap", x: order.map((to) => names[to]), y: order.map((from) => names[from]), z: order.map((from) => order.map((to) => strength(from, to))), zmin: -3, zmax: 3, xgap: 1, ygap: 1, hoverongaps: false,
      colorscale: [[0, colour("low")], [0.5, colour("ground")], [1, colour("high")]], colorbar: { title: { text: "lift" }, tickvals: [-3, -2, -1, 0, 1, 2, 3], ticktext: ["⅛", "¼", "½", "1", "2", "4", "8"], thickness: 12 },
      customdata: order.map((from) => order.map((to) => [cells[from][to], expected(from, to)])), hovertemplate: "%{x} after %{y}: %{customdata[0]:,} times, %{customdata[1]:,.1f} by chance<extra></extra>" }],
    layout: { yaxis: { autorange: "reversed", showgrid: false, tickfont: { size: 10 } }, xaxis: { side: "top", tickangle: -60, showgrid: false, tickfont: { size: 10 } }, margin: { l: 10, r: 10, t: 10, b: 10 } },
  }), { least: 760, height: 860, below: folded("As a table", () => table("Times that a label (across) follows another (down)", [["", "label"], ...order.map((to) => numbered(names[to]))], order.map((from) => [names[from], ...order.map((to) => count(cells[from][to]))]))) });
  const examples = pairs.map((one) => {
    const ids = shown.examples[`${one.before} ${one.after}`] ?? [];
    return el("details", {}, el("summary", {}, `${one.after} after ${one.before}: ${count(one.count)} times, ${fixed(one.expected, 1)} by chance, lift ${fixed(one.lift)}`),
      ids.map((id) => dialogueArticle(byId.get(id), (turn, before) => before && names[before[1]] === one.before && names[turn[1]] === one.after)));
  });
  section("transitions", "Transitions", el("p", {}, text), map.made, el("h3", {}, "The most surprising pairs, with examples"),
    pairs.length ? null : el("p", {}, "No pair comes often enough beyond chance."), el("p", { class: "soft" }, "At least ten times, and three standard deviations above chance; the greatest lift first."), el("div", { class: "folds wide" }, examples));
}

function surenessSection() {
  const { confidence, certainty, boundaries, reliability } = first, content = [];
  const bins = (size) => range(size).map((bin) => `${fixed(bin / size)}–${fixed((bin + 1) / size)}`);
  if (confidence) content.push(bars("Confidence of the labels", `Confidence of the labels; the mean is ${fixed(confidence.mean)}.`, bins(confidence.bins), confidence.turns, "confidence", "turns",
    folded("As a table", () => table("Turns by confidence", [["confidence"], numbered("turns")], bins(confidence.bins).map((name, bin) => [name, count(confidence.turns[bin])])))));
  if (certainty) content.push(bars("Certainty that nothing is wrong with the dialogue", `Certainty of the dialogues, by bins of ${fixed(1 / certainty.length)}.`, bins(certainty.length), certainty, "certainty", "dialogues",
    folded("As a table", () => table("Dialogues by certainty", [["certainty"], numbered("dialogues")], bins(certainty.length).map((name, bin) => [name, count(certainty[bin])])))));
  if (boundaries) content.push(bars("Certainty that the boundary before a turn is right", `Certainty of the boundaries between turns, by bins of ${fixed(1 / boundaries.length)}.`, bins(boundaries.length), boundaries, "certainty", "turns",
    folded("As a table", () => table("Turns by the certainty of the boundary before them", [["certainty"], numbered("turns")], bins(boundaries.length).map((name, bin) => [name, count(boundaries[bin])])))));
  if (reliability) {
    const used = reliability.bins.filter((bin) => bin.turns);
    content.push(picture("Reliability: how many labels are right, by their confidence", `Of ${count(reliability.turns)} turns whose right label is known ${percent(reliability.accuracy)} are labelled right; expected calibration error ${fixed(reliability.expected_calibration_error, 3)}.`, () => ({
      data: [{ type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], name: "as sure as right", line: { color: colour("soft"), dash: "dot" }, hoverinfo: "skip" },
        { type: "scatter", mode: "lines+markers", name: "labels", x: used.map((bin) => bin.confidence), y: used.map((bin) => bin.accuracy), line: { color: colour("emotion") } }],
      layout: { xaxis: { range: [0, 1], title: { text: "confidence" } }, yaxis: { range: [0, 1], title: { text: "share that is right" } }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, margin: { l: 10, r: 10, t: 40, b: 40 } },
    }), { below: folded("As a table", () => table("Reliability", [["turns"], numbered("confidence"), numbered("right")], used.map((bin) => [count(bin.turns), fixed(bin.confidence), percent(bin.accuracy)]))) }).made);
  }
  if (content.length) section("sureness", "Confidence and certainty", reliability ? null : el("p", {}, "No turn has a right label beside its own (“truth”), so how many labels are right is not known here."), el("div", { class: "grid" }, content));
}
