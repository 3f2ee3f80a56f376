// What a reader must know before anything else: leaks, copies of known sets, labels that are missing or doubtful, splits.
function mattersSection() {
  const told = [], warn = (place, ...text) => told.push([true, place, text.join("")]), say = (place, ...text) => told.push([false, place, text.join("")]);
  const { between: pairs, against } = figures.copies, { sizes, kinds } = first, turns = sizes.turns;
  for (const one of pairs.filter(({ of, in: where, alike }) => alike && of !== where && where === "train"))
    warn("copies", `${count(one.alike)} of ${plural(one.dialogues, "dialogue")} in ${one.of} (${percent(one.alike / one.dialogues)}) are copies or near-copies of dialogues in train.`);
  for (const [name, one] of Object.entries(against))
    (one.alike ? warn : say)("copies", one.alike ? `${count(one.alike)} of ${plural(one.dialogues, "dialogue")} (${percent(one.alike / one.dialogues)}) are copies or near-copies of dialogues in ${name}.` : `No dialogue is a copy or near-copy of one in ${name}.`);
  const labelled = turns - kinds[NONE];
  if (labelled) say("labels", `${percent(kinds.neutral / turns)} of the turns are neutral`, ...others.filter((one) => one.sizes.turns > one.kinds[NONE]).map((one) => `; in ${one.name} ${percent(one.kinds.neutral / one.sizes.turns)}`), ".");
  if (kinds[NONE]) warn("labels", `${count(kinds[NONE])} of ${plural(turns, "turn")} (${percent(kinds[NONE] / turns)}) have no label.`);
  if (figures.doubts?.doubted) warn("doubtful", `${count(figures.doubts.doubted)} of ${plural(figures.doubts.turns, "label")} (${percent(figures.doubts.doubted / figures.doubts.turns)}) are doubtful.`);
  const empty = Object.entries(sizes.splits).filter(([, one]) => !one.dialogues).map(([split]) => split);
  if (empty.length) warn("sizes", `No dialogues in the split ${empty.join(", ")}.`);
  if (sizes.films === null && Object.keys(sizes.splits).length > 1) warn("sizes", "The films of the dialogues are not known: the same film may be in several splits.");
  const lines = told.sort(([one], [other]) => other - one).map(([bad, place, text]) =>
    el("li", { class: bad ? "bad" : null }, bad ? el("b", {}, "Check: ") : null, text, " ", document.getElementById(place) ? el("a", { href: `#${place}`, "aria-label": `More: ${text}` }, "More") : null));
  document.getElementById("main").prepend(el("section", { id: "matters", "aria-label": "What matters" }, el("ul", { class: "matters" }, lines)));
}
