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
  return range(kinds.length).sort((one, other) => KINDS.indexOf(kinds[one]) - KINDS.indexOf(kinds[other]) || shares[other] - shares[one]);
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
    order.map((place) => [bothNames(first.labels, place), kinds[place], count(rows[place].turns), percent(rows[place].share, 2), between(rows[place].interval, (end) => percent(end, 2)), count(rows[place].dialogues), fixed(rows[place].confidence), ...series.slice(1).map((one) => percent(one.shares[place], 2))])));
  const of = (one) => [...KINDS, NONE].map((kind) => percent(one.kinds[kind] / one.sizes.turns));
  section("labels", "Labels", el("p", {}, text), table("Emotions, intents and neutral apart: share of turns", [["data set"], numbered("emotions"), numbered("intents"), numbered("neutral"), numbered(NONE)], figures.data.map((one) => [one.name, ...of(one)])),
    labelRows(names, kinds, series, text, whole),
    ...comparisons.filter((one) => one.labels_of !== first.labels.of).map((one) => el("div", {}, el("h3", {}, `In the labels of ${one.labels_of}`),
      el("p", { class: "soft" }, `A label of ours that two of theirs stand for counts half for each; of ${first.name} ${percent(one.left_out[0])} of the turns have a label that none of theirs stands for, and are left out.`),
      labelRows(one.names, one.kinds, [{ name: one.of, shares: one.shares[0] }, { name: one.with, shares: one.shares[1] }], `Labels of ${one.of} beside those of ${one.with}.`,
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
  return stacked(`${name}: share of turns by their place in the dialogue`, text, titles, used.map((row) => KINDS.map((kind) => share(row, kind))), "turn", folded("As a table", () =>
    table("Groups and most frequent labels of each place", [["turn"], numbered("labelled turns"), ...KINDS.map(numbered), ["labels", "words"]], used.map((row, place) => [titles[place], count(sum(row.slice(0, -1))), ...KINDS.map((kind) => percent(share(row, kind))), top(row)]))));
}

function divergenceSection() {
  if (!figures.comparisons.length) return;
  const within = (value, ends, digits = 4) => [fixed(value, digits), ends && ends[0] !== null ? el("small", {}, between(ends)) : null];
  const measures = [
    ["KL", (one) => within(one.kl, one.intervals.kl)],
    ["KL without smoothing", (one) => fixed(one.kl_unsmoothed, 4)],
    ["KL back, p and q changed over", (one) => fixed(one.kl_of_reference, 4)],
    ["Jensen-Shannon", (one) => within(one.js, one.intervals.js)],
    ["Cramér's V", (one) => within(one.chi_squared.v, one.intervals.v, 3)],
    ["χ², with its degrees of freedom", ({ chi_squared: { statistic, freedom, p } }) => [`${count(statistic)} (${freedom})`, el("small", {}, `p ${p < 1e-4 ? "< 0.0001" : `= ${fixed(p, 4)}`}`)]],
  ];
  const tables = comparisons.map((one) => {
    const columns = [["all labels", one.all], ["without neutral", one.without_neutral], ["first turns", one.first_turn]].filter(([, each]) => each);
    return table(`${one.of} and ${one.with}, in the labels of ${one.labels_of}, with 95 % intervals`, [["measure"], ...columns.map(([name]) => numbered(name))], measures.map(([name, of]) => [name, ...columns.map(([, each]) => of(each))]));
  });
  section("divergence", "Divergence", tables.length ? el("p", {}, `How far the labels of ${first.name} are from those of others. KL is Σ p ln(p/q) in nats, p of ${first.name}, q of the other (the EDOS paper states ${figures.papers.kl_of_labels} for EDOS and EmpatheticDialogues), with ${comparisons[0].smoothing ?? 0.5} added to every count. Jensen-Shannon is the same both ways, 0 to 0.693. Intervals: by drawing films, or dialogues where no film is known, anew. Of many turns χ² is always large: Cramér's V, 0 to 1, tells how large the difference is.`) : null,
    tables, figures.comparisons.filter((one) => one.why_not).map((one) => el("p", {}, `${one.with}: not compared, ${one.why_not}.`)));
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
  const pair_ = (from, to) => new URLSearchParams({ after: names[from], label: names[to] });
  const map = matrix("Next label (across) after a label (down): orange or brown less, violet more often than chance; empty where too little is to be expected. A click shows dialogues with the pair.", text, order.map((label) => names[label]),
    (from, to) => strength(order[from], order[to]), (from, to) => `${names[order[to]]} after ${names[order[from]]}: ${count(cells[order[from]][order[to]])} times, ${fixed(expected(order[from], order[to]), 1)} by chance`,
    (from, to) => { location.hash = pair_(order[from], order[to]); },
    folded("As a table", () => table("Times that a label (across) follows another (down); each leads to dialogues", [["", "label"], ...order.map((to) => numbered(names[to]))], order.map((from) => [names[from], ...order.map((to) => (cells[from][to] ? el("a", { href: `#${pair_(from, to)}` }, count(cells[from][to])) : "0"))]))));
  const examples = pairs.map((one) => {
    const ids = shown.examples[`${one.before} ${one.after}`] ?? [];
    return el("details", {}, el("summary", {}, `${one.after} after ${one.before}: ${count(one.count)} times, ${fixed(one.expected, 1)} by chance, lift ${fixed(one.lift)}`),
      ids.map((id) => dialogueArticle(byId.get(id), (turn, before) => before && names[before[1]] === one.before && names[turn[1]] === one.after)));
  });
  section("transitions", "Transitions", el("p", {}, text), map, el("h3", {}, "The most surprising pairs, with examples"),
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
    content.push(reliabilityPicture("Reliability: how many labels are right, by their confidence", `Of ${count(reliability.turns)} turns whose right label is known ${percent(reliability.accuracy)} are labelled right; expected calibration error ${fixed(reliability.expected_calibration_error, 3)}.`, used.map((bin) => [bin.confidence, bin.accuracy]),
      folded("As a table", () => table("Reliability", [["turns"], numbered("confidence"), numbered("right")], used.map((bin) => [count(bin.turns), fixed(bin.confidence), percent(bin.accuracy)])))));
  }
  if (content.length) section("sureness", "Confidence and certainty", reliability ? null : el("p", {}, "No turn has a right label beside its own (“truth”), so how many labels are right is not known here."), el("div", { class: "grid" }, content));
}
